// Tensors as text, the way NumPy prints arrays.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>

#include "../core/tensor.hpp"
#include "../device/host/eigen.hpp"
#include "../device/sharding.hpp"

namespace spmd {
namespace detail {

/// A floating number: its value, and the shortest digits that name it among the numbers of its type, d.ddd times 10^exponent.
struct Decimal {
  double value = 0;
  std::string digits = {};
  int exponent = 0;
  bool finite() const { return std::isfinite(value); }
};
inline Decimal decimal_of(double value, const std::string& scientific) {
  Decimal out{value};
  std::size_t i = 0;
  for (; i < scientific.size() && scientific[i] != 'e'; ++i)
    if (scientific[i] >= '0' && scientific[i] <= '9') out.digits += scientific[i];
  if (i < scientific.size()) out.exponent = std::atoi(scientific.c_str() + i + 1);
  return out;
}
template <class T> std::string shortest_text(T x) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    return {text, std::to_chars(text, text + sizeof(text), x, std::chars_format::scientific).ptr};
  } else {  // a 16-bit float: as few digits as bring it back
    const auto wide = static_cast<float>(x);
    for (int precision = 0;; ++precision) {
      *std::to_chars(text, text + sizeof(text) - 1, wide, std::chars_format::scientific, precision).ptr = 0;
      if (precision == 8 || static_cast<float>(static_cast<T>(std::strtof(text, nullptr))) == wide) return text;
    }
  }
}
template <class T> Decimal decimal_of(T x) {
  const auto value = static_cast<double>(x);
  return std::isfinite(value) ? decimal_of(value, shortest_text(x)) : Decimal{value};
}

/// Text before and behind the point; `before` is all of it for nan and inf.
struct Written {
  std::string before, behind, exponent;
};
inline std::string sign_of(double x) { return std::signbit(x) ? "-" : ""; }
inline Written written_special(double x) { return {std::isnan(x) ? "nan" : sign_of(x) + "inf", "", ""}; }
/// The decimal text of |x| with so many digits behind the point, correctly rounded.
inline std::string rounded_text(double x, int digits, std::chars_format format) {
  char text[512];
  return {text, std::to_chars(text, text + sizeof(text), std::fabs(x), format, digits).ptr};
}
/// Without an exponent; at most `most` digits behind the point.
inline Written written_plain(const Decimal& x, int most) {
  if (!x.finite()) return written_special(x.value);
  Written out{sign_of(x.value), "", ""};
  const int behind = static_cast<int>(x.digits.size()) - 1 - x.exponent;
  if (behind > most) {
    const auto text = rounded_text(x.value, most, std::chars_format::fixed);
    const auto point = text.find('.');
    out.before += text.substr(0, point);
    if (point != std::string::npos) out.behind = text.substr(point + 1);
    out.behind.erase(out.behind.find_last_not_of('0') + 1);
  } else if (x.exponent < 0) {
    out.before += '0';
    if (x.value != 0) out.behind = std::string(static_cast<std::size_t>(-x.exponent - 1), '0') + x.digits;
  } else {
    const auto whole = static_cast<std::size_t>(x.exponent) + 1;
    out.before += x.digits.substr(0, whole) + std::string(whole > x.digits.size() ? whole - x.digits.size() : 0, '0');
    if (x.digits.size() > whole) out.behind = x.digits.substr(whole);
  }
  return out;
}
/// A sign and at least so many digits.
inline std::string exponent_text(int exponent, std::size_t digits) {
  auto text = std::to_string(std::abs(exponent));
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return (exponent < 0 ? "-" : "+") + text;
}
/// With an exponent of at least two digits; at most `most` digits behind the point.
inline Written written_scientific(const Decimal& x, int most) {
  if (!x.finite()) return written_special(x.value);
  const bool round = static_cast<int>(x.digits.size()) - 1 > most;
  const auto shown = round ? decimal_of(x.value, rounded_text(x.value, most, std::chars_format::scientific)) : x;
  Written out{sign_of(x.value) + shown.digits.substr(0, 1), shown.digits.substr(1), exponent_text(shown.exponent, 2)};
  out.behind.erase(out.behind.find_last_not_of('0') + 1);
  return out;
}

/// From here on numbers of a type print with an exponent: alone, and in an array.
template <class T> inline constexpr double large_alone = std::is_same_v<T, double> ? 1e16 : std::is_same_v<T, float> ? 1e6 : 1e3;
template <class T> inline constexpr double large_in_array = std::is_same_v<T, double> ? 1e8 : large_alone<T>;

/// A single number, with all the digits that name it.
inline std::string number_text(const Decimal& x, double large) {
  if (!x.finite()) return written_special(x.value).before;
  const double magnitude = std::fabs(x.value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < large);
  const auto w = plain ? written_plain(x, 400) : written_scientific(x, 400);
  if (plain) return w.before + "." + (w.behind.empty() ? "0" : w.behind);
  return w.before + (w.behind.empty() ? "" : "." + w.behind) + "e" + w.exponent;
}

/// Whether an array prints with exponents: when its largest number is large, its smallest small, or they are far apart. Decided in
/// the arithmetic of the type, as NumPy's FloatingFormat does.
template <class T> bool wants_exponent(const List<T>& numbers) {
  T largest = static_cast<T>(0), smallest = static_cast<T>(0);
  for (auto x : numbers) {
    const T magnitude = x < static_cast<T>(0) ? -x : x;
    if (!(static_cast<double>(magnitude) > 0) || std::isinf(static_cast<double>(magnitude))) continue;
    largest = magnitude > largest ? magnitude : largest;
    smallest = smallest == static_cast<T>(0) || magnitude < smallest ? magnitude : smallest;
  }
  if (largest == static_cast<T>(0)) return false;
  return static_cast<double>(largest) >= large_in_array<T> || smallest < static_cast<T>(1e-4) || largest / smallest > static_cast<T>(1000);
}
/// The elements of an array in one format, at most eight digits behind the point.
inline List<std::string> format_numbers(const List<Decimal>& numbers, bool scientific) {
  constexpr int precision = 8;
  List<Written> written;
  std::size_t before = 0, behind = 0, exponent = 0;
  for (auto& x : numbers) {
    written.push_back(scientific ? written_scientific(x, precision) : written_plain(x, precision));
    if (!x.finite()) continue;
    before = std::max(before, written.back().before.size());
    behind = std::max(behind, written.back().behind.size());
    exponent = std::max(exponent, written.back().exponent.size());
  }
  const auto right = 1 + behind + (scientific ? 1 + exponent : 0);  // the point and all that follows
  std::size_t width = before + right;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!numbers[i].finite()) width = std::max(width, written[i].before.size());
  List<std::string> out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto& w = written[i];
    auto text = w.before;
    if (numbers[i].finite() && scientific) {  // all with as many digits, the exact ones
      const auto all = decimal_of(numbers[i].value, rounded_text(numbers[i].value, static_cast<int>(behind), std::chars_format::scientific));
      text = sign_of(all.value) + all.digits.substr(0, 1) + "." + all.digits.substr(1) + "e" + exponent_text(all.exponent, exponent - 1);
    } else if (numbers[i].finite()) {
      text += "." + w.behind + std::string(behind - w.behind.size(), ' ');
    }
    out.push_back(std::string(width - text.size(), ' ') + text);
  }
  return out;
}
inline List<std::string> align_right(List<std::string> texts) {
  std::size_t width = 0;
  for (auto& t : texts) width = std::max(width, t.size());
  for (auto& t : texts) t.insert(0, width - t.size(), ' ');
  return texts;
}

/// Which elements are shown: all of a short array, the ends of each axis of a long one. Writes nested brackets around them.
class ArrayText {
 public:
  static constexpr Index threshold = 1000, edge = 3, line_width = 75;

  explicit ArrayText(const Shape& shape) : shape_(shape), summary_(shape.size() > threshold) {
    if (shape.size() > 0) find(0, 0);
  }
  /// Their places in row-major order.
  const List<Index>& shown() const { return shown_; }
  /// The whole text; one cell per shown element, all of one width.
  std::string write(const List<std::string>& cells) const {
    if (shape_.size() == 0) return "[]";
    std::size_t next = 0;
    return shape_.rank() == 0 ? cells[0] : nested(cells, next, 0, 1);
  }

 private:
  bool cut(Index axis) const { return summary_ && shape_[axis] > 2 * edge; }
  template <class F> void each(Index axis, F f) const {
    const Index n = shape_[axis];
    for (Index i = 0; i < n; ++i) {
      if (cut(axis) && i == edge) i = n - edge;
      f(i);
    }
  }
  void find(Index axis, Index offset) {
    if (axis == shape_.rank()) return shown_.push_back(offset);
    each(axis, [&](Index i) { find(axis + 1, offset * shape_[axis] + i); });
  }
  /// The part below one index of the axes before; its first line stands `indent` places in.
  std::string nested(const List<std::string>& cells, std::size_t& next, Index axis, std::size_t indent) const {
    const std::string margin(indent, ' ');
    const Index left = shape_.rank() - axis, n = shape_[axis];
    std::string out, line = margin;
    if (left == 1) {
      const auto room = static_cast<std::size_t>(line_width - axis) - 1;  // for the brackets that close
      auto add = [&](const std::string& word) {
        if (line.size() + word.size() > room) {
          out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
          line = margin;
        }
        line += word;
      };
      each(axis, [&](Index i) {
        if (i > 0) line += ' ';
        if (cut(axis) && i == n - edge) {
          add("...");
          line += ' ';
        }
        add(cells[next++]);
      });
      out += line;
    } else {
      const std::string between(static_cast<std::size_t>(left - 1), '\n');
      each(axis, [&](Index i) {
        if (i > 0) out += between;
        if (cut(axis) && i == n - edge) out += margin + "..." + between;
        out += margin + nested(cells, next, axis + 1, indent + 1);
      });
    }
    return concat({"[", out.substr(indent), "]"});
  }
  const Shape shape_;
  const bool summary_;
  List<Index> shown_;
};

}  // namespace detail

/// Prints the elements in NumPy's style: nested brackets, aligned columns, eight digits, the ends of more than 1000 elements. A
/// value that vmap maps prints as its type and shape.
template <class T> std::ostream& operator<<(std::ostream& out, const Tensor<T>& x) {
  const auto& value = *x.any();
  if (!value.readable()) return out << "<" << value.dtype->name << value.shape << " mapped by vmap>";
  const T* p = value.dense("operator<<").template as<T>();
  const detail::ArrayText text(x.shape());
  detail::List<std::string> cells;
  if constexpr (Floating<T>) {
    detail::List<T> shown;
    detail::List<detail::Decimal> numbers;
    for (auto i : text.shown()) {
      shown.push_back(p[i]);
      numbers.push_back(detail::decimal_of(p[i]));
    }
    if (x.rank() == 0) cells.push_back(detail::number_text(numbers[0], detail::large_alone<T>));
    else cells = detail::format_numbers(numbers, detail::wants_exponent(shown));
  } else {
    for (auto i : text.shown()) {
      if constexpr (std::same_as<T, bool>) cells.push_back(!p[i] ? "false" : x.rank() == 0 ? "true" : " true");
      else cells.push_back(std::to_string(p[i]));
    }
    cells = detail::align_right(std::move(cells));
  }
  return out << text.write(cells);
}

}  // namespace spmd
