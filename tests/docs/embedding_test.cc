// The code of docs/embedding.md and docs/c-api.md is that of the examples, which package_test and
// language_test build and run.
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

// The blocks of one language, each line without its indentation.
std::vector<std::pair<int, std::string>> code_of(const Page& page, const std::string& language) {
  std::vector<std::pair<int, std::string>> blocks;
  bool inside = false;
  for (const Line& line : page.lines) {
    if (line.text.starts_with("```")) {
      inside = line.text == "```" + language;
      if (inside) blocks.emplace_back(line.number, "");
    } else if (inside) {
      blocks.back().second += trimmed(line.text) + "\n";
    }
  }
  return blocks;
}

// `least`: how many blocks there are.
void expect_from_examples(const std::string& page, const std::string& language,
                          const std::string& folder, std::size_t least) {
  std::string examples;
  for (const auto& file : fs::directory_iterator(LOCKKEEPER_SOURCE_DIR + ("/examples/" + folder))) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) examples += trimmed(line) + "\n";
  }
  const auto blocks = code_of(read_page(page), language);
  EXPECT_GE(blocks.size(), least) << language;
  for (const auto& [line, code] : blocks) {
    EXPECT_NE(examples.find(code), std::string::npos)
        << page << ":" << line << ": not in examples/" << folder << "/:\n"
        << code;
  }
}

TEST(EmbeddingPage, ShowsCodeOfTheExamples) {
  expect_from_examples("docs/embedding.md", "cpp", "embed", 4);
}

TEST(CApiPage, ShowsCodeOfTheExamples) {
  expect_from_examples("docs/c-api.md", "c", "c", 2);
  expect_from_examples("docs/c-api.md", "python", "python", 1);
  expect_from_examples("docs/c-api.md", "js", "node", 1);
}

}  // namespace
}  // namespace lockkeeper::docs
