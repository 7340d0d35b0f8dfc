// A corpus in one file of text, and as the folder of files that libFuzzer wants.
//
//   corpus_tool unpack FILE… FOLDER    one file for each line; FOLDER is made anew
//   corpus_tool pack FOLDER            the lines, sorted, to stdout
//   corpus_tool pack FILE              the line of this one input
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "corpus.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int pack(const fs::path& path) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file) {
    const std::string line = lockkeeper::fuzz::to_line(read(file));
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
    const auto inputs = lockkeeper::fuzz::read_corpus(file);
    if (!inputs) return 1;
    const std::string name = fs::path(file).parent_path().filename().string();
    for (const auto& [line, bytes] : *inputs) {
      std::ofstream(folder / (name + "-" + std::to_string(line)), std::ios::binary) << bytes;
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
