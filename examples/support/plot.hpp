/// Line charts as an SVG file, one panel beside the other.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Curve {
  std::string name, colour;
  std::vector<double> y;  // at x = 1, 2, 3, ...
};

struct Panel {
  std::string title, x_label;
  std::vector<Curve> curves;
};

namespace plot {

constexpr double width = 460, height = 300, left = 60, right = 20, top = 40, bottom = 50;

/// About `wanted` round numbers within [low, high]: 1, 2 or 5 times a power of ten apart, and at least `closest`.
inline std::vector<double> ticks(double low, double high, int wanted, double closest = 0) {
  const double rough = (high - low) / wanted, power = std::pow(10.0, std::floor(std::log10(rough)));
  const double unit = rough / power;
  const double step = std::max(closest, power * (unit < 1.5 ? 1 : unit < 3.5 ? 2 : unit < 7.5 ? 5 : 10));
  std::vector<double> at;
  for (double i = std::ceil(low / step); i * step <= high + 1e-9 * step; ++i) at.push_back(i * step);
  return at;
}

inline std::string number(double x) {
  std::ostringstream text;
  text << (std::abs(x) < 1e-12 ? 0.0 : x);
  return text.str();
}

inline void text(std::ostream& out, double x, double y, const std::string& anchor, const std::string& words,
                 const std::string& colour = "#333") {
  out << "<text x='" << x << "' y='" << y << "' text-anchor='" << anchor << "' fill='" << colour << "'>" << words << "</text>\n";
}

inline void draw(std::ostream& out, const Panel& panel) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t points = 1;
  for (const Curve& curve : panel.curves) {
    points = std::max(points, curve.y.size());
    for (double y : curve.y) low = std::min(low, y), high = std::max(high, y);
  }
  if (!(low < high)) low -= 0.5, high += 0.5;
  const double last = std::max<double>(2, static_cast<double>(points));
  const auto x_at = [&](double x) { return left + (x - 1) / (last - 1) * (width - left - right); };
  const auto y_at = [&](double y) { return height - bottom - (y - low) / (high - low) * (height - top - bottom); };

  text(out, width / 2, top - 18, "middle", panel.title);
  text(out, width / 2, height - 12, "middle", panel.x_label);
  for (double y : ticks(low, high, 5)) {
    out << "<path d='M" << left << "," << y_at(y) << " H" << width - right << "' stroke='#ddd'/>\n";
    text(out, left - 8, y_at(y) + 4, "end", number(y));
  }
  for (double x : ticks(1, last, 6, 1)) text(out, x_at(x), height - bottom + 18, "middle", number(x));
  double legend = top + 14;
  for (const Curve& curve : panel.curves) {
    out << "<polyline fill='none' stroke='" << curve.colour << "' stroke-width='2' points='";
    for (std::size_t i = 0; i < curve.y.size(); ++i) out << x_at(static_cast<double>(i + 1)) << "," << y_at(curve.y[i]) << " ";
    out << "'/>\n";
    if (curve.y.size() == 1)
      out << "<circle r='3' fill='" << curve.colour << "' cx='" << x_at(1) << "' cy='" << y_at(curve.y[0]) << "'/>\n";
    text(out, width - right - 4, legend, "end", curve.name, curve.colour);
    legend += 16;
  }
}

}  // namespace plot

/// Throws std::runtime_error where the file cannot be written.
inline void write_svg(const std::string& path, const std::vector<Panel>& panels) {
  std::ofstream out(path);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << plot::width * static_cast<double>(panels.size()) << "' height='"
      << plot::height << "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    out << "<g transform='translate(" << plot::width * static_cast<double>(i) << ",0)'>\n";
    plot::draw(out, panels[i]);
    out << "</g>\n";
  }
  out << "</svg>\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}
