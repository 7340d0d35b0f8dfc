// Finds the commands in a text.
#include <algorithm>
#include <array>
#include <utility>

#include "enforce/shell/reader.h"

namespace lockkeeper::enforce::shell {
namespace {

constexpr std::size_t kOpenMax = 64;            // parentheses at once
constexpr std::size_t kExpandedMax = 64;        // words that braces stand for
constexpr std::size_t kExpandedBytesMax = 512;  // of a word with braces

constexpr auto kKeywordsBefore = std::to_array<std::string_view>(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "time"});
constexpr auto kKeywordsAtEnd = std::to_array<std::string_view>({"fi", "done", "esac", "}"});

bool is_keyword(const Word& word) {
  return std::ranges::find(kKeywordsBefore, word.typed) != kKeywordsBefore.end() ||
         std::ranges::find(kKeywordsAtEnd, word.typed) != kKeywordsAtEnd.end();
}

// `case WORD in`: what follows is a pattern, whose parenthesis closes nothing.
bool begins_case(const Words& words) {
  const std::size_t n = words.size();
  if (n < 3 || words[n - 3].typed != "case" || words[n - 1].typed != "in") return false;
  return n == 3 || is_keyword(words[n - 4]);
}

// Where the brace that opens at `open` is closed; npos: nowhere. `commas`: of its own list.
std::size_t closing_brace(std::string_view text, std::size_t open,
                          std::vector<std::size_t>& commas) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == ',' && depth == 1) commas.push_back(i);
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// a{b,c}d: abd and acd. False: too many.
bool expand_braces(const std::string& text, std::vector<std::string>& to) {
  for (std::size_t open = text.find('{'); open != std::string::npos;
       open = text.find('{', open + 1)) {
    std::vector<std::size_t> commas;
    const std::size_t close = closing_brace(text, open, commas);
    if (close == std::string::npos || commas.empty()) continue;
    commas.push_back(close);
    for (std::size_t from = open + 1; const std::size_t comma : commas) {
      const std::string one =
          text.substr(0, open) + text.substr(from, comma - from) + text.substr(close + 1);
      if (!expand_braces(one, to)) return false;
      from = comma + 1;
    }
    return true;
  }
  to.push_back(text);
  return to.size() <= kExpandedMax;
}

// With plain braces it is several words. Others remain a pattern.
void add_word(Words& words, Word word) {
  const std::string& typed = word.typed;
  const bool plain = typed.size() <= kExpandedBytesMax && word.pattern && word.known &&
                     typed.find('{') != std::string::npos &&
                     typed.find_first_of("$`'\"\\~") == std::string::npos &&
                     typed.find("..") == std::string::npos;
  std::vector<std::string> texts;
  if (!plain || !expand_braces(typed, texts)) {
    words.push_back(std::move(word));
    return;
  }
  for (std::string& text : texts) {
    const bool wild = text.find_first_of("*?[") != std::string::npos;
    words.push_back({.text = text, .typed = std::move(text), .pattern = wild});
  }
}

}  // namespace

bool Reader::enter() {
  if (open_ < kOpenMax) {
    ++open_;
    return true;
  }
  reading_.unclear("too many parentheses are open");
  at_ = text_.size();
  return false;
}

void Reader::list(bool until_parenthesis) {
  Pending now;
  std::size_t cases = 0;
  bool over = false;
  while (!over && more()) {
    const char c = peek();
    if (is_blank(c)) {
      ++at_;
    } else if (comes("\\\n") || (c == '\\' && at_ + 1 == text_.size())) {
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == '#') {
      line_comment();
    } else if (c == '(') {
      parenthesis(now);
    } else if (c == '<' || c == '>' || comes("&>")) {
      redirection(now);
    } else if (!separator(now, cases, until_parenthesis, over)) {
      Word next = word();
      const bool number = !next.quoted && !next.text.empty() && (peek() == '<' || peek() == '>') &&
                          std::ranges::all_of(next.text, is_ascii_digit);
      if (!number) add_word(now.words, std::move(next));
      if (begins_case(now.words)) {
        ++cases;
        now.words.clear();
      }
      const bool ends = now.words.size() == 1 && now.words[0].typed == "esac";
      if (ends && cases > 0) --cases;
    }
  }
  finish(now, After::kOther);
}

// Takes what ends a command. False: there is something else.
bool Reader::separator(Pending& now, std::size_t& cases, bool until_parenthesis, bool& over) {
  const char c = peek();
  if (c == '\n') {
    finish(now, After::kOther);
    ++at_;
    bodies();
  } else if (comes("||")) {
    finish(now, After::kOr);
    at_ += 2;
  } else if (c == '|') {
    finish(now, After::kPipe);
    at_ += comes("|&") ? 2U : 1U;
  } else if (comes("&&")) {
    finish(now, After::kOther);
    at_ += 2;
  } else if (c == '&' || c == ';') {
    finish(now, c == '&' ? After::kPipe : After::kOther);
    ++at_;
  } else if (c == ')') {
    finish(now, After::kOther);
    ++at_;
    over = until_parenthesis && cases == 0;
  } else {
    return false;
  }
  return true;
}

// A command is complete. `cd` in a pipe or in the background is one of another process.
void Reader::finish(Pending& now, After after) {
  strip_keywords(now.words);
  if (now.words.empty()) {
    now = {};
    return;
  }
  const Folder before = memory_.folder;
  const std::optional<Folder> elsewhere = std::exchange(or_folder_, std::nullopt);
  if (elsewhere) memory_.folder = *elsewhere;
  const bool script = judge_command(std::move(now.words), reading_, memory_, nesting_);
  const bool moved = memory_.folder.path != before.path;
  if (elsewhere || after == After::kPipe) memory_.folder = before;
  if (after == After::kOr && moved && !elsewhere) or_folder_ = before;
  for (const std::size_t index : now.heredocs) {
    if (index < heredocs_.size()) heredocs_[index].is_script = script;
  }
  for (const Word& text : now.strings) {
    if (script && !text.known) reading_.unclear("a script is known to the shell alone");
    if (script && text.known) read_script(text.text, reading_, memory_, nesting_ + 1);
  }
  now = {};
}

void Reader::strip_keywords(Words& words) {
  std::size_t skip = 0;
  while (skip < words.size()) {
    const std::string_view first = words[skip].typed;
    if (is_keyword(words[skip])) {
      ++skip;
      const bool timed = first == "time" && skip < words.size() && words[skip].typed == "-p";
      if (timed) ++skip;
    } else if (first == "function") {
      skip = std::min(skip + 2, words.size());
    } else if (first == "for" || first == "select") {
      if (skip + 1 < words.size()) memory_.spoil(words[skip + 1].text);
      skip = words.size();
    } else {
      break;
    }
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(skip));
}

void Reader::parenthesis(Pending& now) {
  const bool adjacent = at_ > 0 && !is_blank(text_[at_ - 1]);
  if (now.words.empty()) {
    const std::size_t end = comes("((") ? arithmetic_end(at_ + 2) : std::string::npos;
    if (end != std::string::npos) return arithmetic(end);
    return subshell();
  }
  const Word& last = now.words.back();
  if (adjacent && last.name_size > 0 && last.text.ends_with('=')) return array(last);
  // A function's name: what follows is its body, and counts as if it were run.
  std::size_t next = at_ + 1;
  while (next < text_.size() && is_blank(text_[next])) ++next;
  if (next < text_.size() && text_[next] == ')') {
    at_ = next + 1;
    now.words.clear();
    return;
  }
  subshell();
}

void Reader::subshell() {
  ++at_;
  if (!enter()) return;
  const Folder outside = memory_.folder;
  const std::optional<Folder> elsewhere = std::exchange(or_folder_, std::nullopt);
  if (elsewhere) memory_.folder = *elsewhere;
  list(true);
  or_folder_.reset();
  memory_.folder = outside;
  leave();
}

void Reader::array(const Word& name) {
  memory_.spoil(name.text.substr(0, name.name_size));
  ++at_;
  while (more() && peek() != ')') {
    if (ends_word(peek())) {
      ++at_;
    } else {
      word();
    }
  }
  if (more()) ++at_;
}

// Where its "))" begins. npos: it is not arithmetic.
std::size_t Reader::arithmetic_end(std::size_t from) const {
  std::size_t open = 0;
  for (std::size_t i = from; i < text_.size(); ++i) {
    if (text_[i] == '(') ++open;
    if (text_[i] != ')') continue;
    if (open == 0) {
      return i + 1 < text_.size() && text_[i + 1] == ')' ? i : std::string::npos;
    }
    --open;
  }
  return std::string::npos;
}

// Shifts are not heredocs there. Substitutions are what they are everywhere.
void Reader::arithmetic(std::size_t end) {
  if (!enter()) return;
  const std::string_view whole = std::exchange(text_, text_.substr(0, end));
  Word ignored;
  while (more()) in_double_quotes(ignored);
  text_ = whole;
  at_ = end + 2;
  leave();
}

void Reader::line_comment() {
  at_ = std::min(text_.find('\n', at_), text_.size());
}

void Reader::redirection(Pending& now) {
  if (comes("<(") || comes(">(")) {
    ++at_;
    subshell();
    now.words.push_back(any_word());
    return;
  }
  if (comes("<<") && !comes("<<<")) return heredoc(now);
  const bool string = comes("<<<");
  while (more() && std::string_view("<>&|").find(peek()) != std::string_view::npos) ++at_;
  while (more() && is_blank(peek())) ++at_;
  if (!more() || ends_word(peek())) return;
  Word target = word();
  if (string) now.strings.push_back(std::move(target));
}

void Reader::heredoc(Pending& now) {
  at_ += 2;
  Heredoc wanted;
  wanted.strips_tabs = peek() == '-';
  if (wanted.strips_tabs) ++at_;
  while (more() && is_blank(peek())) ++at_;
  // Its word is never expanded.
  for (char quote = '\0'; more() && (quote != '\0' || !ends_word(peek())); ++at_) {
    const char c = peek();
    if (c == '\\' && quote != '\'' && at_ + 1 < text_.size()) {
      wanted.end += text_[++at_];
    } else if (quote == c) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      wanted.end += c;
    }
  }
  now.heredocs.push_back(heredocs_.size());
  heredocs_.push_back(std::move(wanted));
}

void Reader::bodies() {
  for (const Heredoc& wanted : std::exchange(heredocs_, {})) body(wanted);
}

void Reader::body(const Heredoc& wanted) {
  const std::size_t begin = at_;
  while (more()) {
    const std::size_t from = at_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    at_ = std::min(end + 1, text_.size());
    std::string_view line = text_.substr(from, end - from);
    while (wanted.strips_tabs && line.starts_with('\t')) line.remove_prefix(1);
    if (line != wanted.end) continue;
    if (wanted.is_script) {
      read_script(text_.substr(begin, from - begin), reading_, memory_, nesting_ + 1);
    }
    return;
  }
  reading_.unclear("a heredoc has no end");
}

void read_script(std::string_view text, Reading& reading, Memory& memory, std::size_t nesting) {
  if (nesting > kNestingMax) return reading.unclear("scripts are nested too deeply");
  if (text.size() > reading.budget) return reading.unclear("the command is too long");
  reading.budget -= text.size();
  Reader(text, reading, memory, nesting).read();
}

}  // namespace lockkeeper::enforce::shell
