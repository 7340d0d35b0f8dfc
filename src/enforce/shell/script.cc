// Finds the commands in a text.
#include <algorithm>
#include <array>
#include <utility>

#include "base/parse.h"
#include "enforce/shell/reader.h"

namespace lockkeeper::enforce::shell {
namespace {

constexpr std::size_t kOpenMax = 64;            // parentheses at once
constexpr std::size_t kExpandedMax = 64;        // words that braces stand for
constexpr std::size_t kExpandedBytesMax = 512;  // of a word with braces

constexpr auto kKeywordsBefore = std::to_array<std::string_view>(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "time"});
constexpr auto kKeywordsAtEnd = std::to_array<std::string_view>({"fi", "done", "esac", "}"});
// Commands that end the script, and those that do not fail.
constexpr auto kEnds =
    std::to_array<std::string_view>({"exit", "return", "break", "continue", "die"});
constexpr auto kSucceed = std::to_array<std::string_view>(
    {":", "cd", "echo", "export", "mkdir", "mktemp", "printf", "pushd", "pwd", "set", "true"});

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
  if (word.fields) {
    for (std::string& text : words_in(word.text, std::string(1, kFieldEnd))) {
      const bool wild = text.find_first_of("*?[") != std::string::npos;
      std::string typed = text;
      words.push_back({std::move(text), std::move(typed), word.known, wild});
    }
    return;
  }
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
      const bool redirects = !next.quoted && !next.text.empty() && (peek() == '<' || peek() == '>');
      const bool number = redirects && (std::ranges::all_of(next.text, is_ascii_digit) ||
                                        (next.text.starts_with('{') && next.text.ends_with('}')));
      if (!number) add_word(now.words, std::move(next));
      if (begins_case(now.words)) {
        ++cases;
        open_compound(true);
        now.words.clear();
      }
      const bool ends = now.words.size() == 1 && now.words[0].typed == "esac";
      if (ends && cases > 0) --cases;
    }
  }
  finish(now, After::kEnd);
}

// Takes what ends a command. False: there is something else.
bool Reader::separator(Pending& now, std::size_t& cases, bool until_parenthesis, bool& over) {
  const char c = peek();
  if (c == '\n') {
    finish(now, After::kEnd);
    ++at_;
    bodies();
  } else if (comes("||")) {
    finish(now, After::kOr);
    at_ += 2;
  } else if (c == '|') {
    finish(now, After::kPipe);
    at_ += comes("|&") ? 2U : 1U;
  } else if (comes("&&")) {
    finish(now, After::kAnd);
    at_ += 2;
  } else if (c == '&' || c == ';') {
    finish(now, c == '&' ? After::kBackground : After::kEnd);
    ++at_;
  } else if (c == ')') {
    finish(now, After::kEnd);
    ++at_;
    over = until_parenthesis && cases == 0;
  } else {
    return false;
  }
  return true;
}

// A command is complete. `cd` in a pipe or in the background is one of another process.
void Reader::finish(Pending& now, After after) {
  const bool nothing = now.words.empty() && now.heredocs.empty() && now.strings.empty();
  strip_keywords(now.words);
  const Output piped = std::exchange(piped_, {});
  if (now.words.empty()) {
    if (script_read_) give_input(now, {});  // { bash; } <<EOF
    if (after == After::kAnd) sure_ = false;
    if (!nothing) end_list(after);
    now = {};
    return;
  }
  ++finished_;
  last_ = output_of(now.words, now, piped);
  const std::string program = now.words.front().text;
  if (program == "mktemp" && last_.text) memory_.made.insert(*last_.text);
  const Folder before = memory_.folder;
  const std::vector<Folder> elsewhere = memory_.elsewhere;
  const std::optional<Folder> instead = std::exchange(or_folder_, std::nullopt);
  if (instead) memory_.folder = *instead;
  const bool script = run(std::move(now.words));
  const bool moved = !instead && memory_.folder.path != before.path;
  if (instead || after == After::kPipe || after == After::kBackground) {
    memory_.folder = before;
    memory_.elsewhere = elsewhere;
  } else if (moved) {
    moved_from(before);
  }
  if (after == After::kOr && moved) or_folder_ = before;
  if (script) give_input(now, piped);
  if (after == After::kPipe) piped_ = last_;
  const bool ends = std::ranges::find(kEnds, program) != kEnds.end();
  if (ends && instead) given_up_ = true;
  if (ends && !compounds_.empty()) compounds_.back().gave_up = true;
  const bool succeeds = std::ranges::find(kSucceed, program) != kSucceed.end() && pending_.empty();
  if (after == After::kOr || !succeeds) sure_ = false;
  end_list(after);
  now = {};
}

// Where the shell may be, it runs the command there.
bool Reader::run(Words words) {
  const auto count = [&] {
    return reading_.found.dangers.size() + reading_.found.aliases.size() + reading_.fresh;
  };
  const std::size_t before = count();
  const std::vector<Folder> elsewhere = memory_.elsewhere;
  if (elsewhere.empty()) return judge_command(std::move(words), reading_, memory_, nesting_);
  const bool script = judge_command(words, reading_, memory_, nesting_);
  for (const Folder& folder : elsewhere) {
    if (count() == before) break;
    Memory aside = memory_;
    aside.folder = folder;
    aside.elsewhere.clear();
    judge_command(words, reading_, aside, nesting_);
  }
  return script;
}

// The `cd` may have failed, or may not have been run at all.
void Reader::moved_from(const Folder& before) {
  const Folder& now = memory_.folder;
  const bool fails = now.known && !memory_.is_made(now.path) && reading_.is_missing(now.path) &&
                     !memory_.ends_at_failure;
  if (fails || !sure_) pending_.push_back(before);
}

void Reader::end_list(After after) {
  if (after != After::kEnd && after != After::kBackground) return;
  for (const Folder& folder : std::exchange(pending_, {})) {
    if (!given_up_) memory_.add_elsewhere(folder);
  }
  sure_ = true;
  given_up_ = false;
}

// To a command that reads a script.
void Reader::give_input(const Pending& now, const Output& piped) {
  const bool own = !now.heredocs.empty() || !now.strings.empty();
  script_read_ = script_read_ || !own;
  for (const std::size_t index : own ? now.heredocs : piped.heredocs) {
    if (index < heredocs_.size()) heredocs_[index].is_script = true;
  }
  const Stay stay(memory_);
  if (!own && piped.text) read_script(*piped.text, reading_, memory_, nesting_ + 1);
  for (const Word& text : now.strings) {
    if (!text.known) reading_.unclear("a script is known to the shell alone");
    if (text.known) read_script(text.text, reading_, memory_, nesting_ + 1);
  }
}

Output Reader::output_of(const Words& words, const Pending& now, const Output& piped) {
  const std::string& program = words.front().text;
  if (!words.front().known) return {};
  if (program == "cat" || program == "tee") {
    if (words.size() > 1 && program == "cat") return {};
    if (now.strings.size() == 1 && now.strings[0].known) return {now.strings[0].text};
    return now.heredocs.empty() ? piped : Output{.heredocs = now.heredocs};
  }
  if (program == "mktemp") return {temporary_path(words, reading_)};
  if (program == "pwd") {
    Word text;
    here(text);
    return text.known ? Output{text.text} : Output{};
  }
  const bool asks_top = words.size() == 3 && program == "git" && words[1].text == "rev-parse" &&
                        words[2].text == "--show-toplevel";
  if (asks_top && reading_.around != nullptr && reading_.around->top && memory_.folder.known &&
      memory_.elsewhere.empty() && !memory_.folder.fresh) {
    return {reading_.around->top(memory_.folder.path)};
  }
  if (program != "echo" && program != "printf") return {};
  std::string text;
  for (const Word& word : std::span(words).subspan(1)) {
    if (!word.known || text.size() > kTextBytesMax) return {};
    const bool option = text.empty() && (word.text == "-e" || word.text == "-n");
    if (!option) text += (text.empty() ? "" : " ") + word.text;
  }
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) {
    text.replace(at, 2, "\n");
  }
  return {text};
}

std::optional<std::string> Reader::output() const {
  if (finished_ != 1) return std::nullopt;
  if (last_.heredocs.size() != 1) return last_.text;
  return body_known_ ? std::optional(body_) : std::nullopt;
}

void Reader::open_compound(bool may_not_run, bool repeats) {
  Compound one{memory_.folder, memory_.elsewhere, std::exchange(pending_, {})};
  one.repeats = repeats;
  if (repeats) ++reading_.loops;
  one.sure = std::exchange(sure_, true);
  one.may_not_run = may_not_run;
  one.after_or = or_folder_.has_value();
  if (or_folder_) memory_.folder = *std::exchange(or_folder_, std::nullopt);
  compounds_.push_back(std::move(one));
}

void Reader::other_branch() {
  if (compounds_.empty()) return;
  Compound& one = compounds_.back();
  if (one.ends.size() < kElsewhereMax) one.ends.push_back(memory_.folder);
  memory_.folder = one.folder;
  memory_.elsewhere = one.elsewhere;
}

void Reader::close_compound() {
  if (compounds_.empty()) return;
  Compound one = std::move(compounds_.back());
  compounds_.pop_back();
  if (one.repeats) --reading_.loops;
  if (one.after_or) {
    memory_.folder = one.folder;
    memory_.elsewhere = one.elsewhere;
    given_up_ = one.gave_up;
  } else if (one.may_not_run) {
    memory_.add_elsewhere(one.folder);
    for (const Folder& each : one.elsewhere) memory_.add_elsewhere(each);
    for (const Folder& each : one.ends) memory_.add_elsewhere(each);
  }
  pending_ = std::move(one.pending);
  sure_ = one.sure && !one.may_not_run;
}

// `for NAME in WORD…`: nobody knows which of them it is.
void Reader::loop(std::span<const Word> words) {
  if (words.empty()) return;
  Word value = any_word();
  const bool listed = words.size() > 2 && words[1].typed == "in";
  for (const Word& word : words.subspan(listed ? 2U : words.size())) {
    if (!word.known || word.pattern || value.choices.size() >= kExpandedMax) {
      return memory_.spoil(words[0].text);
    }
    value.choices.push_back(word.text);
  }
  memory_.set(words[0].text, std::move(value));
}

void Reader::strip_keywords(Words& words) {
  std::size_t skip = 0;
  while (skip < words.size()) {
    const std::string_view first = words[skip].typed;
    if (is_keyword(words[skip])) {
      ++skip;
      const bool timed = first == "time" && skip < words.size() && words[skip].typed == "-p";
      if (timed) ++skip;
      if (first == "if" || first == "while" || first == "until") open_compound(true, first != "if");
      if (first == "{") open_compound(std::exchange(function_, false));
      if (first == "else" || first == "elif") other_branch();
      if (std::ranges::find(kKeywordsAtEnd, first) != kKeywordsAtEnd.end()) close_compound();
    } else if (first == "function") {
      skip = std::min(skip + 2, words.size());
      function_ = true;
    } else if (first == "for" || first == "select") {
      loop(std::span(words).subspan(skip + 1));
      skip = words.size();
      open_compound(true, true);
    } else {
      break;
    }
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(skip));
}

void Reader::parenthesis(Pending& now) {
  const bool adjacent = at_ > 0 && !is_blank(text_[at_ - 1]);
  const bool first = std::ranges::all_of(
      now.words, [](const Word& word) { return is_keyword(word) || word.typed == "for"; });
  if (first) {
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
    function_ = true;
    return;
  }
  subshell();
}

void Reader::subshell() {
  ++at_;
  if (!enter()) return;
  const Stay stay(memory_);
  const std::optional<Folder> instead = std::exchange(or_folder_, std::nullopt);
  if (instead) memory_.folder = *instead;
  std::vector<Folder> pending = std::exchange(pending_, {});
  std::vector<Compound> compounds = std::exchange(compounds_, {});
  const bool sure = std::exchange(sure_, true);
  Output piped = std::exchange(piped_, {});
  function_ = false;
  list(true);
  or_folder_.reset();
  pending_ = std::move(pending);
  compounds_ = std::move(compounds);
  sure_ = sure;
  piped_ = std::move(piped);
  leave();
}

void Reader::array(const Word& name) {
  const std::string variable = name.text.substr(0, name.name_size);
  const bool appends = name.text[name.name_size] == '+';
  memory_.spoil(variable);
  Words words;
  ++at_;
  while (more() && peek() != ')') {
    if (ends_word(peek())) {
      ++at_;
    } else {
      add_word(words, word());
    }
  }
  if (more()) ++at_;
  memory_.set_words(variable + "[@]", words, appends);
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
    const std::size_t before = std::exchange(finished_, 0);
    ++at_;
    subshell();
    const std::optional<std::string> text = output();
    finished_ = before + 1;
    Word file = any_word();
    if (text) file = {.text = *text, .typed = "…", .quoted = true, .output = true};
    now.words.push_back(std::move(file));
    return;
  }
  if (comes("<<") && !comes("<<<")) return heredoc(now);
  const bool string = comes("<<<");
  while (more() && std::string_view("<>&|").find(peek()) != std::string_view::npos) ++at_;
  while (more() && is_blank(peek())) ++at_;
  if (!more() || ends_word(peek())) return;
  Word target = word();
  std::ranges::replace(target.text, kFieldEnd, ' ');
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
      wanted.expands = false;
    } else if (quote == c) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      wanted.expands = false;
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
    body_ = text_.substr(begin, from - begin);
    body_known_ = !wanted.expands || body_.find_first_of("$`") == std::string::npos;
    if (wanted.is_script) {
      const Stay stay(memory_);
      read_script(body_, reading_, memory_, nesting_ + 1);
    }
    return;
  }
  reading_.unclear("a heredoc has no end");
}

std::optional<std::string> read_script(std::string_view text, Reading& reading, Memory& memory,
                                       std::size_t nesting) {
  const bool deep = nesting > kNestingMax;
  if (deep || text.size() > reading.budget) {
    reading.unclear(deep ? "scripts are nested too deeply" : "the command is too long");
    return std::nullopt;
  }
  reading.budget -= text.size();
  Reader reader(text, reading, memory, nesting);
  reader.read();
  return reader.output();
}

}  // namespace lockkeeper::enforce::shell
