// Transcripts: each file of transcripts/ is a session with the shipped program, as one would type
// it. Lines that begin with "$ " are run by a shell in a fresh repository; what follows is what was
// printed (stderr behind "! ", a last line "[N]" if the exit status was not 0), with times, ids and
// fences normalised. LOCKKEEPER_UPDATE_GOLDEN=1 rewrites the files: then read the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "golden/normaliser.h"
#include "golden/shell.h"
#include "support/process.h"

namespace lockkeeper::golden {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(LOCKKEEPER_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt") all.push_back(entry.path().stem());
  }
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The transcript again, with what is printed now. Lines before the first command are comments.
std::string play(const std::string& expected) {
  const Shell shell;
  Normaliser normalised(shell.files().path());
  std::string text;
  bool commands = false;
  for (const std::string& line : lines_of(expected)) {
    if (!line.starts_with("$ ")) {
      if (!commands || line.starts_with("#")) text += line + "\n";
      continue;
    }
    commands = true;
    const Ran ran = shell.run(line.substr(2));
    text += line + "\n" + normalised(ran.out);
    for (const std::string& message : lines_of(normalised(ran.err))) text += "! " + message + "\n";
    if (ran.status != 0) text += "[" + std::to_string(ran.status) + "]\n";
  }
  return text;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, transcript) {
  const fs::path path = fs::path(LOCKKEEPER_TRANSCRIPTS) / (GetParam() + ".txt");
  const std::string expected = stage::read_text(path);
  ASSERT_NE(expected.find("\n$ "), std::string::npos) << path << " runs nothing";
  const std::string actual = play(expected);
  if (std::getenv("LOCKKEEPER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(actual, expected) << path;
}

INSTANTIATE_TEST_SUITE_P(Transcripts, Golden, testing::ValuesIn(names()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace lockkeeper::golden
