// Reads one word: quotes, expansions, wildcards.
#include <algorithm>
#include <utility>

#include "enforce/shell/reader.h"

namespace lockkeeper::enforce::shell {
namespace {

constexpr std::size_t kValueBytesMax = 16384;  // of a variable: a path, or a small script
constexpr std::size_t kBracesBytesMax = 1024;  // of {a,b}, looked at once for each brace

bool is_name_start(char c) {
  return is_ascii_letter(c) || c == '_';
}
bool is_in_name(char c) {
  return is_ascii_word(c) || c == '_';
}

}  // namespace

Word Reader::word() {
  const std::size_t begin = at_;
  Word word;
  while (more() && character(word)) {
  }
  word.typed = text_.substr(begin, at_ - begin);
  if (word.pattern) word.choices.clear();
  for (std::string& choice : word.choices) {
    choice.insert(0, word.text, 0, word.choice_at).append(word.text, word.choice_at + 1);
  }
  return word;
}

// Takes what is next of the word; false: it is over.
bool Reader::character(Word& word) {
  const char c = peek();
  if (ends_word(c)) {
    // `!(a|b)`, a pattern of bash.
    const bool group = c == '(' && !word.text.empty() && !word.quoted &&
                       std::string_view("?*+@!").find(word.text.back()) != std::string_view::npos;
    const std::size_t end =
        group ? text_.substr(0, at_ + kBracesBytesMax).find(')', at_) : std::string_view::npos;
    if (end == std::string_view::npos) return false;
    at_ = end + 1;
    word.text.back() = '*';
    word.pattern = true;
    return true;
  }
  switch (c) {
    case '\\':
      if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') word.text += text_[at_ + 1];
      word.quoted = true;
      at_ = std::min(at_ + 2, text_.size());
      return true;
    case '\'':
      single_quoted(word);
      return true;
    case '"':
      ++at_;
      double_quoted(word);
      return true;
    case '$':
      dollar(word, Quotes::kNone);
      return true;
    case '`':
      backticks(word);
      return true;
    case '{':
      if (braces(word)) return true;
      break;
    case '~':
      if (!word.text.empty() || word.quoted) break;
      ++at_;
      // `~other` is somebody else's.
      if (more() && peek() != '/' && !ends_word(peek())) {
        unknown(word);
      } else {
        variable(word, "HOME", Quotes::kDouble);
      }
      return true;
    case '*':
    case '?':
    case '[':
      word.pattern = true;
      break;
    case '=': {
      const bool name = !word.quoted && word.known && !word.pattern && word.name_size == 0 &&
                        !word.text.empty() && is_name_start(word.text.front());
      const std::string_view before =
          std::string_view(word.text).substr(0, word.text.size() - word.text.ends_with('+'));
      if (name && std::ranges::all_of(before, is_in_name)) word.name_size = before.size();
      break;
    }
    default:
      break;
  }
  word.text += c;
  ++at_;
  return true;
}

void Reader::single_quoted(Word& word) {
  const std::size_t end = text_.find('\'', at_ + 1);
  word.quoted = true;
  if (end == std::string::npos) reading_.unclear("a quote is not closed");
  word.text += text_.substr(at_ + 1, std::min(end, text_.size()) - at_ - 1);
  at_ = end == std::string::npos ? text_.size() : end + 1;
}

// $'…', after its quote.
void Reader::ansi_quoted(Word& word) {
  word.quoted = true;
  while (more() && peek() != '\'') {
    if (peek() == '\\') {
      ansi_escape(word);
    } else {
      word.text += peek();
      ++at_;
    }
  }
  if (!more()) return reading_.unclear("a quote is not closed");
  ++at_;
}

void Reader::ansi_escape(Word& word) {
  constexpr std::string_view kLetters = "abefnrtvE\\'\"?";
  constexpr std::string_view kMeanings = "\a\b\x1b\f\n\r\t\v\x1b\\'\"?";
  const char letter = peek(1);
  at_ = std::min(at_ + 2, text_.size());
  const std::size_t known = kLetters.find(letter);
  if (known != std::string_view::npos && letter != '\0') {
    word.text += kMeanings[known];
    return;
  }
  const bool hex = letter == 'x';
  const bool octal = letter >= '0' && letter <= '7';
  if (!hex && !octal) return unknown(word);
  if (octal) --at_;
  unsigned value = 0;
  const std::size_t most = hex ? 2 : 3;
  for (std::size_t n = 0; n < most && more(); ++n, ++at_) {
    const std::string_view digits = "0123456789abcdef";
    const std::size_t digit = digits.substr(0, hex ? 16 : 8).find(ascii_lower(peek()));
    if (digit == std::string_view::npos) break;
    value = value * (hex ? 16U : 8U) + static_cast<unsigned>(digit);
  }
  word.text += static_cast<char>(value & 0xffU);
}

// After its quote.
void Reader::double_quoted(Word& word) {
  word.quoted = true;
  while (more() && peek() != '"') in_double_quotes(word);
  if (!more()) return reading_.unclear("a quote is not closed");
  ++at_;
}

void Reader::in_double_quotes(Word& word) {
  const char c = peek();
  if (c == '$') return dollar(word, Quotes::kDouble);
  if (c == '`') return backticks(word);
  if (c != '\\' || at_ + 1 >= text_.size()) {
    word.text += c;
    ++at_;
    return;
  }
  const char escaped = text_[at_ + 1];
  if (std::string_view("$`\"\\\n").find(escaped) == std::string_view::npos) word.text += '\\';
  if (escaped != '\n') word.text += escaped;
  at_ += 2;
}

// Where the shell is.
void Reader::here(Word& word) {
  const Folder& folder = memory_.folder;
  const std::optional<std::string> begin = reading_.outer("PWD");
  if (!folder.known) return unknown(word);
  if (folder.path.starts_with('/')) {
    word.text += folder.path;
  } else if (begin && begin->starts_with('/')) {
    word.text += folder.path.empty() ? *begin : *begin + "/" + folder.path;
  } else {
    word.text += '.';
  }
}

// $(…), after its dollar.
void Reader::substitution(Word& word, Quotes quotes) {
  const std::size_t before = std::exchange(finished_, 0);
  subshell();
  const std::optional<std::string> text = output();
  finished_ += before;
  put_output(word, text, quotes);
}

void Reader::put_output(Word& word, const std::optional<std::string>& text, Quotes quotes) {
  if (!text) return unknown(word);
  Word value{.text = text->substr(0, text->find_last_not_of('\n') + 1)};
  append(word, value, quotes);
}

void Reader::dollar(Word& word, Quotes quotes) {
  const char next = peek(1);
  if (next == '(') {
    const std::size_t end = comes("$((") ? arithmetic_end(at_ + 3) : std::string::npos;
    at_ += end == std::string::npos ? 1U : 3U;
    if (end == std::string::npos) return substitution(word, quotes);
    arithmetic(end);
    return unknown(word);
  }
  if (next == '[') {  // arithmetic of old
    const std::size_t end = text_.find(']', at_);
    if (end != std::string::npos && end < at_ + kBracesBytesMax) {
      at_ = end + 1;
      return unknown(word);
    }
  }
  if (next == '{') return braced(word, quotes);
  if (quotes == Quotes::kNone && (next == '\'' || next == '"')) {
    at_ += 2;
    return next == '"' ? double_quoted(word) : ansi_quoted(word);
  }
  ++at_;
  if (is_name_start(next)) {
    const std::size_t begin = at_;
    while (more() && is_in_name(peek())) ++at_;
    return variable(word, std::string(text_.substr(begin, at_ - begin)), quotes);
  }
  if (next == '@' || next == '*') {
    ++at_;
    return variable(word, "@", next == '@' ? Quotes::kNone : quotes);
  }
  if (next != '\0' && std::string_view("0123456789#?$!-").find(next) != std::string_view::npos) {
    ++at_;
    return unknown(word);
  }
  word.text += '$';
}

void Reader::braced(Word& word, Quotes quotes) {
  at_ = std::min(at_ + 2, text_.size());
  const std::size_t begin = at_;
  while (more() && is_in_name(peek())) ++at_;
  std::string name(text_.substr(begin, at_ - begin));
  const bool list = comes("[@]") || comes("[*]");
  if (list) {
    name += "[@]";
    at_ += 3;
  }
  if (peek() == '}') {
    ++at_;
    return variable(word, name, list ? Quotes::kNone : quotes);
  }
  // ${NAME:-operand}
  if (peek() == ':' && std::string_view("-=?+").find(peek(1)) != std::string_view::npos) ++at_;
  const char how = peek();
  if (!enter()) return unknown(word);
  if (more() && std::string_view("-=?+").find(how) != std::string_view::npos) ++at_;
  Word operand;
  while (more() && peek() != '}') {
    if (peek() == '\'' && quotes == Quotes::kNone) {
      single_quoted(operand);
    } else if (peek() == '"') {
      ++at_;
      double_quoted(operand);
    } else {
      in_double_quotes(operand);
    }
    if (operand.text.size() > kValueBytesMax) operand = any_word();
  }
  if (more()) {
    ++at_;
  } else {
    reading_.unclear("a brace is not closed");
  }
  leave();
  expanded(word, name, quotes, operand, how);
}

bool Reader::is_set(const std::string& name) const {
  return name == "PWD" || memory_.spoiled.contains(name) || memory_.variables.contains(name) ||
         reading_.outer(name).has_value();
}

// A variable that nobody sets is taken for one that is not set.
void Reader::expanded(Word& word, const std::string& name, Quotes quotes, const Word& operand,
                      char how) {
  if (how == '?') return variable(word, name, quotes);
  if (how == '+') return append(word, operand, quotes);
  if (how != '-' && how != '=') return unknown(word);
  if (is_set(name)) return variable(word, name, quotes);
  append(word, operand, quotes);
}

void Reader::variable(Word& word, const std::string& name, Quotes quotes) {
  if (name == "PWD") return here(word);
  Word value = any_word();
  const bool spoiled = memory_.spoiled.contains(name);
  const auto set = memory_.variables.find(name);
  if (set != memory_.variables.end()) {
    value = set->second;
  } else if (const auto outer = spoiled ? std::nullopt : reading_.outer(name)) {
    value = {.text = *outer};
  }
  append(word, value, quotes);
}

// Without quotes the shell makes several words of what has blanks.
void Reader::append(Word& word, const Word& value, Quotes quotes) {
  if (value.text.size() > kValueBytesMax || value.text.size() > reading_.budget) {
    return unknown(word);
  }
  reading_.budget -= value.text.size();
  std::string text = value.text;
  const bool splits = quotes == Quotes::kNone && word.name_size == 0 &&
                      (value.fields || text.find_first_of(" \t\n") != std::string::npos);
  if (splits) {
    std::ranges::replace_if(text, [](char c) { return is_blank(c) || c == '\n'; }, kFieldEnd);
    word.fields = true;
  } else if (value.fields) {
    std::ranges::replace(text, kFieldEnd, ' ');
  }
  // A second part that is not known leaves nothing to choose from.
  if (!value.known) word.choices = word.known ? value.choices : std::vector<std::string>();
  if (!value.known) word.choice_at = word.text.size();
  word.text += text;
  word.known = word.known && value.known;
  word.pattern = word.pattern || value.pattern;
}

void Reader::backticks(Word& word) {
  std::string inner;
  ++at_;
  for (; more() && peek() != '`'; ++at_) {
    const char next = peek(1);
    if (peek() == '\\' && (next == '`' || next == '\\' || next == '$')) ++at_;
    inner += peek();
  }
  if (more()) {
    ++at_;
  } else {
    reading_.unclear("a backtick is not closed");
  }
  const Stay stay(memory_);
  put_output(word, read_script(inner, reading_, memory_, nesting_ + 1), Quotes::kDouble);
}

// {a,b} and {1..9}: anything may be there. False: it is only a brace.
bool Reader::braces(Word& word) {
  std::size_t open = 0;
  const std::size_t last = std::min(text_.size(), at_ + kBracesBytesMax);
  for (std::size_t i = at_; i < last && !ends_word(text_[i]); ++i) {
    if (text_[i] == '{') ++open;
    if (text_[i] != '}' || --open > 0) continue;
    const std::string_view inner = text_.substr(at_ + 1, i - at_ - 1);
    const bool list =
        inner.find(',') != std::string_view::npos || inner.find("..") != std::string_view::npos;
    const bool plain = inner.find_first_of("$`'\"\\") == std::string_view::npos;
    if (!list || !plain) return false;
    word.text += '*';
    word.pattern = true;
    at_ = i + 1;
    return true;
  }
  return false;
}

}  // namespace lockkeeper::enforce::shell
