// The pages on their own: links lead somewhere, lines are wrapped, nothing outside is cited.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "docs/pages.h"

namespace lockkeeper::docs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kColumns = 100;

// Characters, not bytes.
std::size_t width(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
  return count;
}

// Every target of a Markdown link of the page, with its line; code is not read.
std::vector<std::pair<int, std::string>> links(const Page& page) {
  static const std::regex kCode("`[^`]*`");
  static const std::regex kLink(R"(\]\(([^)\s]+)\)|src(?:set)?="([^"]+)\")");
  std::vector<std::pair<int, std::string>> found;
  for (const Line& line : page.lines) {
    if (line.code) continue;
    const std::string text = std::regex_replace(line.text, kCode, "");
    for (std::sregex_iterator at(text.begin(), text.end(), kLink), end; at != end; ++at) {
      found.emplace_back(line.number, (*at)[1].matched ? (*at)[1].str() : (*at)[2].str());
    }
  }
  return found;
}

TEST(Pages, AreFound) {
  const std::vector<Page> pages = all_pages();
  EXPECT_GT(pages.size(), 30U);
  EXPECT_FALSE(read_page("README.md").lines.empty());
}

TEST(Pages, EveryLinkLeadsToAFileAndItsHeading) {
  const fs::path root = LOCKKEEPER_SOURCE_DIR;
  int count = 0;
  for (const Page& page : all_pages()) {
    for (const auto& [number, link] : links(page)) {
      if (link.starts_with("http://") || link.starts_with("https://")) continue;
      ++count;
      const std::size_t hash = link.find('#');
      const std::string file = link.substr(0, hash);
      const fs::path target = file.empty()
                                  ? fs::path(page.path)
                                  : (fs::path(page.path).parent_path() / file).lexically_normal();
      EXPECT_TRUE(fs::exists(root / target)) << page.path << ":" << number << ": " << link;
      if (hash == std::string::npos || !fs::exists(root / target)) continue;
      const std::set<std::string> known = anchors(read_page(target.string()));
      EXPECT_TRUE(known.contains(link.substr(hash + 1)))
          << page.path << ":" << number << ": " << link;
    }
  }
  EXPECT_GT(count, 100);
}

// "src/a.py" is an example; what ends like a source of ours must be there.
TEST(Pages, EverySourceFileThatIsNamedExists) {
  static const std::regex kSource(
      R"(`((?:src|tests|include|bench|cmake)/[a-z0-9_/.-]+\.(?:h|cc|cmake|mjs|md|json|spec)))");
  int count = 0;
  for (const Page& page : all_pages()) {
    for (const Line& line : page.lines) {
      for (std::sregex_iterator at(line.text.begin(), line.text.end(), kSource), end; at != end;
           ++at) {
        ++count;
        EXPECT_TRUE(fs::exists(fs::path(LOCKKEEPER_SOURCE_DIR) / (*at)[1].str()))
            << page.path << ":" << line.number << ": " << (*at)[1];
      }
    }
  }
  EXPECT_GT(count, 20);
}

TEST(Pages, ProseIsWrapped) {
  for (const Page& page : all_pages()) {
    for (const Line& line : page.lines) {
      if (line.code || line.text.starts_with("|")) continue;
      EXPECT_LE(width(line.text), kColumns) << page.path << ":" << line.number;
    }
  }
}

// A number says nothing without its durability: the two differ by more than ten times.
TEST(Pages, B20_TheReadmesSpeedNamesBothDurabilities) {
  std::string speed;
  for (const Line& line : read_page("README.md").lines) speed += line.text + " ";
  const std::size_t at = speed.find("It is fast: ");
  ASSERT_NE(at, std::string::npos);
  speed = speed.substr(at, speed.find("](docs/benchmarks.md)", at) - at);
  static const std::regex kFull("[0-9]+ µs with durability `full` \\(the default");
  static const std::regex kProcess("[0-9]+ µs with `process`");
  EXPECT_TRUE(std::regex_search(speed, kFull)) << speed;
  EXPECT_TRUE(std::regex_search(speed, kProcess)) << speed;
}

TEST(Pages, NothingOutsideThisRepositoryIsCited) {
  static const std::regex kOutside(
      R"([Ss]eeds? 00\d|[Dd]esign section|\bDESIGN\b|\bCONTRACT\b|\bADR-\d|/work/)");
  for (const Page& page : all_pages()) {
    for (const Line& line : page.lines) {
      EXPECT_FALSE(std::regex_search(line.text, kOutside)) << page.path << ":" << line.number;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::docs
