// A corpus as text. One input a line: printable ASCII as it is, else \\ \n \t \xNN. Lines that
// begin with '#' are for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockkeeper::fuzz {

std::string to_line(const std::string& bytes);

struct CorpusInput {
  int line;
  std::string bytes;
};
// nullopt: the file cannot be read or has a bad escape; stderr says so.
std::optional<std::vector<CorpusInput>> read_corpus(const std::string& file);

}  // namespace lockkeeper::fuzz
