/// Options of the form --name number (or --name=number), and --help.
#pragma once
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

/// Ask for each option with `integer`, then call `done`.
class Options {
 public:
  Options(int argc, char** argv) : program_(argv[0]) {
    for (std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
      const auto equals = argument.find('=');
      words_.emplace_back(argument.substr(0, equals));
      if (equals != argument.npos) words_.emplace_back(argument.substr(equals + 1));
    }
  }

  /// The number after --name, at least `least`; `otherwise` where the option is not given.
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::string_view meaning) {
    const std::string option = "--" + std::string(name);
    help_ += "  " + option + std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') + std::string(meaning) + " (default " +
             std::to_string(otherwise) + ")\n";
    std::int64_t value = otherwise;
    for (auto word = words_.begin(); word != words_.end();) {
      if (*word != option) {
        ++word;
        continue;
      }
      const auto number = std::next(word);
      if (number == words_.end() || !parse(*number, value) || value < least)
        complain(option + " takes a whole number of at least " + std::to_string(least));
      word = words_.erase(word, number + 1);
    }
    return value;
  }

  /// Answers --help, and refuses what nobody asked for.
  void done() const {
    if (words_.empty()) return;
    if (words_.front() != "--help" && words_.front() != "-h") complain("unknown option " + words_.front());
    std::cout << "usage: " << program_ << " [options]\n" << help_;
    std::exit(0);
  }

 private:
  static bool parse(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  [[noreturn]] void complain(const std::string& what) const {
    std::cerr << program_ << ": " << what << "; --help lists the options\n";
    std::exit(2);
  }

  std::string program_, help_;
  std::vector<std::string> words_;
};
