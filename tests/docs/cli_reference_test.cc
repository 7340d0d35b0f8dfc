// docs/reference/cli.md and the program have the same verbs, sub-commands and flags.
//
// The page has a heading for each verb. The first block below it is the usage: lines that begin
// with "lockkeeper VERB", each with its continuation lines. Where the program explains a
// sub-command ("Usage: lockkeeper VERB WORD"), its flags are compared one sub-command at a time,
// else those of the verb as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "docs/pages.h"
#include "support/stage.h"

namespace lockkeeper::docs {
namespace {

using Flags = std::set<std::string>;

constexpr const char* kPage = "docs/reference/cli.md";

Flags flags_in(const std::string& text) {
  static const std::regex kFlag("--[a-z][a-z-]*");
  Flags found;
  for (std::sregex_iterator at(text.begin(), text.end(), kFlag), end; at != end; ++at) {
    found.insert(at->str());
  }
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What a verb's help declares: one flag at the beginning of a line, perhaps behind its short form.
Flags declared_in(const std::string& help) {
  static const std::regex kDeclared(R"(^ +(?:-[a-z], )?(--[a-z][a-z-]*)(?:[ =\[].*)?$)");
  Flags found;
  std::smatch match;
  for (const std::string& line : lines_of(help)) {
    if (std::regex_match(line, match, kDeclared)) found.insert(match[1]);
  }
  return found;
}

Flags without(const Flags& some, const Flags& others) {
  Flags left;
  std::ranges::set_difference(some, others, std::inserter(left, left.end()));
  return left;
}

class CliReference : public testing::Test {
 protected:
  CliReference() : stage_(stage::Stage::Git::kNo), page_(read_page(kPage)) {}

  // The help for these words; empty if the program does not explain exactly them.
  std::string help(std::vector<std::string> words) {
    std::string usage = "Usage: lockkeeper";
    for (const std::string& word : words) usage += " " + word;
    words.emplace_back("--help");
    const stage::Answer answer = stage_.as("", words);
    return answer.status == 0 && answer.out.find(usage) != std::string::npos ? answer.out : "";
  }

  // The words with which a help text begins its lines of a list, that it explains when asked.
  std::set<std::string> listed_in(const std::string& text, const std::vector<std::string>& above) {
    static const std::regex kListed("^  ([a-z][a-z_-]*)(?: .*)?  +[^ ].*$");
    std::set<std::string> found;
    std::smatch match;
    for (const std::string& line : lines_of(text)) {
      if (!std::regex_match(line, match, kListed)) continue;
      std::vector<std::string> words = above;
      words.push_back(match[1]);
      if (match[1] != "lockkeeper" && !help(words).empty()) found.insert(match[1]);
    }
    return found;
  }
  std::set<std::string> verbs() { return listed_in(stage_.as("", {"help"}).out, {}); }

  // The usage of one verb by sub-command; "" where a line names none.
  std::map<std::string, Flags> usage(const std::string& verb) const {
    static const std::regex kWord("^[a-z][a-z_-]*$");
    std::map<std::string, Flags> found;
    std::string word;
    int fences = 0;
    for (const Line& line : section(page_, "## " + verb)) {
      if (line.text.starts_with("```") && ++fences == 2) break;
      if (!line.code || line.text.starts_with("```")) continue;
      std::istringstream words(line.text);
      std::string program, named, next;
      words >> program >> named >> next;
      if (!line.text.starts_with(" ")) {
        EXPECT_EQ(program + " " + named, "lockkeeper " + verb) << kPage << ":" << line.number;
        word = std::regex_match(next, kWord) ? next : "";
      }
      found[word].merge(flags_in(line.text));
    }
    return found;
  }

  Flags common() const {
    Flags found;
    for (const Line& line : section(page_, "## Every command")) {
      if (!line.code && line.text.starts_with("| `-")) found.merge(flags_in(line.text));
    }
    return found;
  }

  void expect_same(const std::string& name, const Flags& page, const Flags& program) {
    EXPECT_THAT(without(without(program, common()), page), testing::IsEmpty())
        << name << ": the program has these, " << kPage << " does not";
    EXPECT_THAT(without(page, program), testing::IsEmpty())
        << name << ": " << kPage << " has these, the program does not";
  }

  stage::Stage stage_;
  Page page_;
};

TEST_F(CliReference, EveryVerbHasAHeadingAndEveryHeadingIsAVerb) {
  std::set<std::string> headings;
  for (const Line& line : page_.lines) {
    if (!line.code && line.text.starts_with("## ")) headings.insert(line.text.substr(3));
  }
  EXPECT_EQ(headings.erase("Every command"), 1U);
  EXPECT_EQ(headings, verbs());
  EXPECT_GT(headings.size(), 20U);
}

TEST_F(CliReference, TheFlagsOfEveryVerbAreThose) {
  const Flags page = common();
  EXPECT_FALSE(page.empty());
  Flags everywhere;
  for (const std::string& verb : verbs()) {
    const std::string text = help({verb});
    Flags declared = declared_in(text);
    for (const std::string& word : listed_in(text, {verb})) {
      declared.merge(declared_in(help({verb, word})));
    }
    EXPECT_THAT(without(page, declared), testing::IsEmpty()) << verb << " does not have these";
    Flags both;
    std::ranges::set_intersection(declared, everywhere, std::inserter(both, both.end()));
    everywhere = everywhere.empty() ? declared : both;
  }
  EXPECT_EQ(everywhere, page);
}

TEST_F(CliReference, EveryFlagIsOnThePageAndTheOtherWayRound) {
  for (const std::string& verb : verbs()) {
    const std::map<std::string, Flags> on_page = usage(verb);
    EXPECT_FALSE(on_page.empty()) << verb << " has no block of usage in " << kPage;
    const std::string text = help({verb});
    const std::set<std::string> words = listed_in(text, {verb});
    if (words.empty()) {
      Flags all;
      for (const auto& [word, flags] : on_page) all.insert(flags.begin(), flags.end());
      expect_same(verb, all, declared_in(text));
      continue;
    }
    for (const std::string& word : words) {
      const auto there = on_page.find(word);
      EXPECT_NE(there, on_page.end()) << kPage << " has no usage of " << verb << " " << word;
      if (there == on_page.end()) continue;
      expect_same(verb + " " + word, there->second, declared_in(help({verb, word})));
    }
    for (const auto& [word, flags] : on_page) {
      EXPECT_TRUE(words.contains(word)) << "there is no " << verb << " " << word;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::docs
