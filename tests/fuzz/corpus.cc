#include "corpus.h"

#include <cstdio>
#include <fstream>

#include "base/bytes.h"

namespace lockkeeper::fuzz {
namespace {

bool unescape(const std::string& line, std::string& bytes) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      bytes += line[i];
      continue;
    }
    const char kind = ++i < line.size() ? line[i] : '\0';
    if (kind == 'x') {
      const std::string byte = from_hex(line.substr(i + 1, 2));
      if (byte.size() != 1) return false;
      bytes += byte;
      i += 2;
    } else if (kind == '\\' || kind == 'n' || kind == 't') {
      bytes += kind == 'n' ? '\n' : kind == 't' ? '\t' : '\\';
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string to_line(const std::string& bytes) {
  std::string line;
  for (const char c : bytes) {
    const bool comment = c == '#' && line.empty();
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c >= 0x20 && c < 0x7f && !comment) {
      line += c;
    } else {
      line += "\\x" + to_hex({&c, 1});
    }
  }
  return line;
}

std::optional<std::vector<CorpusInput>> read_corpus(const std::string& file) {
  std::ifstream in(file);
  if (!in) {
    std::fprintf(stderr, "%s cannot be read\n", file.c_str());
    return std::nullopt;
  }
  std::vector<CorpusInput> inputs;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.empty() || text.starts_with('#')) continue;
    CorpusInput input{line, {}};
    if (!unescape(text, input.bytes)) {
      std::fprintf(stderr, "%s:%d: a bad escape\n", file.c_str(), line);
      return std::nullopt;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace lockkeeper::fuzz
