#include "enforce/shell/git_words.h"

#include <utility>

#include "base/parse.h"

namespace lockkeeper::enforce::shell {
namespace {

using Scope = Danger::Scope;

// The words that a loop goes through.
Words chosen(const Word& word) {
  Words words;
  for (const std::string& text : word.choices) words.push_back({.text = text, .typed = text});
  return words;
}

// What a pathspec has in front: ":/x", ":!x", ":(top,exclude)x".
struct Magic {
  bool top = false;
  bool excludes = false;
  bool literal = false;
  bool other = false;  // what is not understood here
  std::string rest = {};
};

Magic magic_of(std::string_view text) {
  Magic magic;
  text.remove_prefix(1);
  if (text.starts_with('(') && text.contains(')')) {
    for (const std::string& word : words_in(text.substr(1, text.find(')') - 1), ",")) {
      magic.top = magic.top || word == "top";
      magic.excludes = magic.excludes || word == "exclude";
      magic.literal = magic.literal || word == "literal";
      magic.other = magic.other || (word != "top" && word != "exclude" && word != "literal");
    }
    text.remove_prefix(text.find(')') + 1);
  } else {
    for (; !text.empty() && std::string_view("/!^").contains(text.front()); text.remove_prefix(1)) {
      (text.front() == '/' ? magic.top : magic.excludes) = true;
    }
    if (text.starts_with(':')) text.remove_prefix(1);
  }
  magic.rest = text;
  return magic;
}

// "./x/" is x. Git takes ".." as it is.
std::string plain_path(std::string text) {
  while (text.starts_with("./")) text.erase(0, 2);
  while (text.ends_with('/')) text.pop_back();
  return text;
}

// Makes a path of a pathspec with magic. False: it may be anything in the worktree.
bool add_magic(Danger& danger, const Word& word) {
  const Magic magic = magic_of(word.text);
  const bool wild = !magic.literal && magic.rest.find_first_of("*?[\\") != std::string::npos;
  Path path{.text = plain_path(magic.rest), .pattern = wild, .from_top = magic.top};
  const bool understood = !magic.other && word.known && !path.text.empty() && path.text != ".";
  if (!magic.excludes) {
    if (understood) danger.paths.push_back(std::move(path));
    return understood;
  }
  // What is not sure to be left alone is not left alone.
  const bool sure = path.text.find_first_of(wild ? "?[\\" : "") == std::string::npos;
  if (understood && sure) danger.excluded.push_back(std::move(path));
  return true;
}

}  // namespace

GitWords::GitWords(std::span<const Word> words, std::string_view valued,
                   std::initializer_list<std::string_view> longs) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (has_dashes() || text.size() < 2 || !text.starts_with('-')) {
      words_.push_back(words[at]);
    } else if (text == "--") {
      dashes_ = words_.size();
    } else if (text.starts_with("--")) {
      longs_.push_back(text.substr(0, text.find('=')));
      const std::size_t equals = text.find('=');
      const bool next = std::ranges::find(longs, std::string_view(text)) != longs.end();
      if (next) ++at;
      if (longs_.back() != "--force-create") continue;
      if (next && at < words.size()) values_['C'] = words[at];
      if (equals != std::string::npos) values_['C'] = {.text = text.substr(equals + 1)};
    } else {
      letters(words, at, valued);
    }
  }
}

void GitWords::letters(std::span<const Word> words, std::size_t& at, std::string_view valued) {
  const std::string text = words[at].text;
  for (std::size_t i = 1; i < text.size(); ++i) {
    letters_ += text[i];
    const std::size_t found = valued.find(text[i]);
    if (found == std::string_view::npos) continue;
    const bool next = i + 1 == text.size() && found < valued.find(' ');
    Word value = words[at];
    value.text.erase(0, i + 1);
    if (next && ++at < words.size()) value = words[at];
    values_[text[i]] = std::move(value);
    return;
  }
}

void add_paths(Danger& danger, std::span<const Word> words, bool literal) {
  const auto widen = [&](Scope scope) { danger.scope = std::max(danger.scope, scope); };
  for (const Word& word : words) {
    if (!word.choices.empty()) {
      add_paths(danger, chosen(word), literal);
    } else if (word.text.starts_with(':') && !literal) {
      if (!add_magic(danger, word)) widen(Scope::kWorktree);
    } else if (word.is_anything() || word.text.empty() || word.text == "." || word.text == "./" ||
               (word.text == "*" && !literal) || word.is_all()) {
      widen(Scope::kFolder);
    } else {
      // Git has wildcards of its own, also where the shell has none.
      const bool plain = literal && word.known && !word.pattern;
      const bool wild = !plain && word.text.find_first_of("*?[") != std::string::npos;
      danger.paths.push_back(path_of(word, wild));
    }
  }
}

std::vector<Path> left_by_clean(std::span<const Word> words) {
  std::vector<Path> left;
  for (std::size_t at = 0; at < words.size() && words[at].text != "--"; ++at) {
    const std::string& text = words[at].text;
    const bool is_long = text.starts_with("--exclude");
    const std::size_t letter =
        text.starts_with('-') && !text.starts_with("--") ? text.find('e') : std::string::npos;
    if (!is_long && letter == std::string::npos) continue;
    const std::size_t begin = is_long ? std::string_view("--exclude=").size() : letter + 1;
    const bool next = begin >= text.size();
    const Word& word = words[std::min(next ? at + 1 : at, words.size() - 1)];
    const std::string name = next ? word.text : word.text.substr(begin);
    at += next ? 1 : 0;
    if (!word.known || name.empty() || name.find_first_of("/![\\?") != std::string::npos) continue;
    left.push_back({.text = name, .pattern = true, .from_top = true});
    left.push_back({.text = "*/" + name, .pattern = true, .from_top = true});
  }
  return left;
}

}  // namespace lockkeeper::enforce::shell
