/// Reads a file of numbers separated by commas.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Csv {
  std::vector<float> values;  // row by row
  std::size_t rows = 0, columns = 0;

  float operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

/// Throws std::runtime_error where the file is missing, a cell is no number or a row has another length than the first.
inline Csv read_csv(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  Csv csv;
  for (std::string line; std::getline(file, line); ++csv.rows) {
    const std::size_t before = csv.values.size();
    for (const char* cell = line.c_str(); *cell != '\0' && *cell != '\r';) {
      char* end = nullptr;
      csv.values.push_back(std::strtof(cell, &end));
      if (end == cell) throw std::runtime_error(path + ", line " + std::to_string(csv.rows + 1) + ": not a number: " + cell);
      cell = *end == ',' ? end + 1 : end;
    }
    const std::size_t cells = csv.values.size() - before;
    if (csv.rows == 0) csv.columns = cells;
    if (cells != csv.columns)
      throw std::runtime_error(path + ", line " + std::to_string(csv.rows + 1) + " has " + std::to_string(cells) +
                               " cells, the first line " + std::to_string(csv.columns));
  }
  return csv;
}
