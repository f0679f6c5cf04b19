/// Claims that a program makes about itself: each is printed with its values, and a wrong one makes the program fail.
#pragma once
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include <spmd/spmd.hpp>

inline int wrong_claims = 0;

/// Prints the claim and the value it is about.
template <class Value> void check(std::string_view claim, const Value& value, bool holds) {
  std::ostringstream text;
  text << value;
  const bool several_lines = text.str().find('\n') != std::string::npos;
  std::cout << (holds ? "  ok     " : "  WRONG  ") << claim << ":" << (several_lines ? "\n" : " ");
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) std::cout << (several_lines ? "           " : "") << line << "\n";
  wrong_claims += !holds;
}

/// Claims that two tensors have the same shape and, within a relative error of `rtol`, the same elements.
template <class T>
void check_close(std::string_view claim, const spmd::Tensor<T>& got, const spmd::Tensor<T>& expected, double rtol = 1e-6) {
  const bool holds = got.shape() == expected.shape() && spmd::allclose(got, expected, rtol);
  check(claim, got, holds);
  if (!holds) std::cout << "         expected: " << expected << "\n";
}
