// A corpus in one file of text, and as the folder of files that libFuzzer wants.
//
//   corpus_tool unpack FILE… FOLDER    one file for each line; FOLDER is made anew
//   corpus_tool pack FOLDER            the lines, sorted, to stdout
//   corpus_tool pack FILE              the line of this one input
//
// One input a line: printable ASCII as it is, else \\ \n \t \xNN. Lines that begin with '#' are
// for people.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string escape(const std::string& bytes) {
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
      line += "\\x" + lockkeeper::to_hex({&c, 1});
    }
  }
  return line;
}

bool unescape(const std::string& line, std::string& bytes) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      bytes += line[i];
      continue;
    }
    const char kind = ++i < line.size() ? line[i] : '\0';
    if (kind == 'x') {
      const std::string byte = lockkeeper::from_hex(line.substr(i + 1, 2));
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

int pack(const fs::path& path) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file) {
    const std::string line = escape(read(file));
    if (!line.empty()) lines.push_back(line);
  };
  if (!fs::is_directory(path)) {
    add(path);
  } else {
    for (const auto& entry : fs::directory_iterator(path)) add(entry.path());
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  return lines.empty() ? 1 : 0;
}

int unpack(const std::vector<std::string>& files, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) {
      std::fprintf(stderr, "corpus_tool: %s cannot be read\n", file.c_str());
      return 1;
    }
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.empty() || line.starts_with('#')) continue;
      std::string bytes;
      if (!unescape(line, bytes)) {
        std::fprintf(stderr, "corpus_tool: %s:%d: a bad escape\n", file.c_str(), number);
        return 1;
      }
      const std::string name = fs::path(file).parent_path().filename().string();
      std::ofstream(folder / (name + "-" + std::to_string(number)), std::ios::binary) << bytes;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "pack") return pack(words[1]);
  if (words.size() >= 3 && words[0] == "unpack") {
    return unpack({words.begin() + 1, words.end() - 1}, words.back());
  }
  std::fputs("usage: corpus_tool unpack FILE… FOLDER | corpus_tool pack FILE|FOLDER\n", stderr);
  return 64;
}
