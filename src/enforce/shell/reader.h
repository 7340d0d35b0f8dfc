// Reads the text of a shell call: the commands in it (script.cc), and their words (words.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "enforce/shell/word.h"

namespace lockkeeper::enforce::shell {

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
inline bool ends_word(char c) {
  return is_blank(c) || std::string_view("\n;&|()<>").find(c) != std::string_view::npos;
}

// A command that is being read.
struct Pending {
  Words words;
  std::vector<std::size_t> heredocs;  // of Reader::heredocs_
  std::vector<Word> strings;          // <<<
};

struct Heredoc {
  std::string end;
  bool strips_tabs = false;
  bool is_script = false;
};

class Reader {
 public:
  Reader(std::string_view text, Reading& reading, Memory& memory, std::size_t nesting)
      : text_(text), reading_(reading), memory_(memory), nesting_(nesting) {}

  void read() { list(false); }

 private:
  enum class Quotes { kNone, kDouble };
  enum class After { kOther, kPipe, kOr };

  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool comes(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void list(bool until_parenthesis);
  bool separator(Pending& now, std::size_t& cases, bool until_parenthesis, bool& over);
  void finish(Pending& now, After after);
  void strip_keywords(Words& words);
  void parenthesis(Pending& now);
  void subshell();
  void array(const Word& name);
  std::size_t arithmetic_end(std::size_t from) const;
  void arithmetic(std::size_t end);
  void redirection(Pending& now);
  void heredoc(Pending& now);
  void bodies();
  void body(const Heredoc& wanted);
  void line_comment();

  Word word();
  bool character(Word& word);
  void single_quoted(Word& word);
  void ansi_quoted(Word& word);
  void ansi_escape(Word& word);
  void double_quoted(Word& word);
  void in_double_quotes(Word& word);
  void dollar(Word& word, Quotes quotes);
  bool well_known(Word& word);
  void braced(Word& word, Quotes quotes);
  void variable(Word& word, const std::string& name, Quotes quotes);
  void backticks(Word& word);
  bool braces(Word& word);
  static void unknown(Word& word) {
    word.text += '*';
    word.known = false;
  }

  // One more is open: parentheses, braces, arithmetic. False: too many are, nothing more is read.
  bool enter();
  void leave() { --open_; }

  std::string_view text_;
  Reading& reading_;
  Memory& memory_;
  std::size_t nesting_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;
  std::vector<Heredoc> heredocs_;    // whose bodies begin at the next line
  std::optional<Folder> or_folder_;  // `cd X || this`: where it was before
};

}  // namespace lockkeeper::enforce::shell
