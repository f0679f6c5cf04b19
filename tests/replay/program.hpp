// Programs as text: what tests/replay/generate.py draws, JAX answers, and interpreter.hpp runs.
//
//   program 17
//   in f0 8x3 0.5 -1.25 ...              an input: register, shape ("-": rank 0), elements; f registers are float, i registers int32
//   f1 = sin f0                          results = operation operands attribute=value ...
//   f2 f3 = vmap f0 f1 name=i size=8 in=0,r out=0,r
//     do f4 f5                           an operation with blocks is followed by them: parameters, instructions, results
//       f6 = psum f4 axis=i
//     return f6 f5                       a block sees the registers around it, as a lambda does
//   out f2 f 8x3 0.25 ...                JAX's answer: register, kind, shape, elements
//   end
//
// Kinds: i int32 and x float, equal to the bit; f float within 1e-5, g (behind a gradient) within 1e-4, both of 1 + |expected|.
// Specs of vmap and pmap: a number k is each(k), sk is split(k), r is replicated. Lists are separated by commas, groups by slashes.
#pragma once
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace replay {

struct Instruction;
struct Block {
  std::vector<std::string> parameters;
  std::vector<Instruction> body;
  std::vector<std::string> results;
};
struct Instruction {
  std::vector<std::string> results;
  std::string op;
  std::vector<std::string> operands;
  std::map<std::string, std::string> attributes;
  std::vector<Block> blocks;

  bool has(const std::string& key) const { return attributes.contains(key); }
  const std::string& text(const std::string& key) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) throw std::runtime_error(op + " has no attribute " + key);
    return found->second;
  }
  std::int64_t number(const std::string& key) const { return std::stoll(text(key)); }
};
/// An input, or an answer.
struct Array {
  std::string name, kind;
  std::vector<std::int64_t> shape;
  std::vector<double> elements;
};
struct Program {
  std::string id, text;
  std::vector<Array> inputs, answers;
  Block main;
};

inline std::vector<std::string> split_text(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}
inline std::vector<std::int64_t> numbers(const std::string& text, char at = ',') {
  std::vector<std::int64_t> list;
  if (text == "-") return list;
  for (auto& part : split_text(text, at)) list.push_back(std::stoll(part));
  return list;
}
inline std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> list;
  std::istringstream in(line);
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

/// Reads a file of programs.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path) {
    if (!file_) throw std::runtime_error("cannot read " + path);
  }
  std::vector<Program> all() {
    std::vector<Program> programs;
    while (next())
      if (!line_.empty() && line_[0] == "program") programs.push_back(program());
    return programs;
  }

 private:
  bool next() {
    if (!std::getline(file_, raw_)) return false;
    line_ = words(raw_);
    return true;
  }
  Array array(bool answer) const {
    const std::size_t shape = answer ? 3 : 2;
    Array a{line_.at(1), answer ? line_.at(2) : std::string(1, line_[1][0]), numbers(line_.at(shape), 'x'), {}};
    for (std::size_t i = shape + 1; i < line_.size(); ++i) a.elements.push_back(std::stod(line_[i]));
    return a;
  }
  Program program() {
    Program p;
    p.id = line_.at(1);
    p.text = raw_ + "\n";
    auto advance = [&] {
      if (!next()) throw std::runtime_error("program " + p.id + " has no end");
      p.text += raw_ + "\n";
    };
    advance();
    for (; line_.at(0) == "in"; advance()) p.inputs.push_back(array(false));
    instructions(p.main, advance);
    for (; line_.at(0) == "out"; advance()) p.answers.push_back(array(true));
    return p;
  }
  /// Instructions up to a line that is none: it stays the current line.
  template <class Advance> void instructions(Block& block, const Advance& advance) {
    while (line_.at(0) != "return" && line_[0] != "out" && line_[0] != "end") {
      Instruction n;
      std::size_t i = 0;
      for (; line_.at(i) != "="; ++i) n.results.push_back(line_[i]);
      n.op = line_.at(++i);
      for (++i; i < line_.size(); ++i) {
        const auto equals = line_[i].find('=');
        if (equals == std::string::npos) n.operands.push_back(line_[i]);
        else n.attributes[line_[i].substr(0, equals)] = line_[i].substr(equals + 1);
      }
      advance();
      while (line_.at(0) == "do") {
        Block inner;
        inner.parameters.assign(line_.begin() + 1, line_.end());
        advance();
        instructions(inner, advance);
        inner.results.assign(line_.begin() + 1, line_.end());
        n.blocks.push_back(std::move(inner));
        advance();
      }
      block.body.push_back(std::move(n));
    }
  }
  std::ifstream file_;
  std::string raw_;
  std::vector<std::string> line_;
};

}  // namespace replay
