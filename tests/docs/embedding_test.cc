// The code of docs/embedding.md is that of the examples, which are built and run by package_test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "docs/pages.h"

namespace lockkeeper::docs {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& line) {
  const std::size_t from = line.find_first_not_of(' ');
  return from == std::string::npos ? "" : line.substr(from);
}

// The blocks of C++, each line without its indentation.
std::vector<std::pair<int, std::string>> code_of(const Page& page) {
  std::vector<std::pair<int, std::string>> blocks;
  bool inside = false;
  for (const Line& line : page.lines) {
    if (line.text.starts_with("```")) {
      inside = line.text == "```cpp";
      if (inside) blocks.emplace_back(line.number, "");
    } else if (inside) {
      blocks.back().second += trimmed(line.text) + "\n";
    }
  }
  return blocks;
}

TEST(EmbeddingPage, ShowsCodeOfTheExamples) {
  std::string examples;
  for (const auto& file : fs::directory_iterator(LOCKKEEPER_SOURCE_DIR "/examples/embed")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) examples += trimmed(line) + "\n";
  }
  const auto blocks = code_of(read_page("docs/embedding.md"));
  EXPECT_GE(blocks.size(), 4U);
  for (const auto& [line, code] : blocks) {
    EXPECT_NE(examples.find(code), std::string::npos)
        << "docs/embedding.md:" << line << ": not in examples/embed/:\n"
        << code;
  }
}

}  // namespace
}  // namespace lockkeeper::docs
