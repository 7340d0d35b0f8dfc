// Reads the text of a shell call: the commands in it (script.cc), and their words (words.cc).
#pragma once

#include <optional>
#include <span>
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
  bool expands = true;
};

// Of `mktemp`. Nullopt: it may be anywhere.
std::optional<std::string> temporary_path(const Words& words, const Reading& reading);

// What a command writes, if it is known: into a pipe, or into $(…).
struct Output {
  std::optional<std::string> text = {};
  std::vector<std::size_t> heredocs = {};  // that it only passes on
};

// if … fi, { … } and their like, while they are read.
struct Compound {
  Folder folder;  // where it began
  std::vector<Folder> elsewhere;
  std::vector<Folder> pending;  // of the list that it is in
  bool sure = true;
  bool may_not_run = false;       // all of it, or one of its branches
  bool after_or = false;          // `cd X || {`
  bool gave_up = false;           // it ends the script
  bool repeats = false;           // a loop
  std::vector<Folder> ends = {};  // of its earlier branches
};

class Reader {
 public:
  Reader(std::string_view text, Reading& reading, Memory& memory, std::size_t nesting)
      : text_(text), reading_(reading), memory_(memory), nesting_(nesting) {}

  void read() { list(false); }
  // What its only command writes. Nullopt: nobody knows.
  std::optional<std::string> output() const;

 private:
  enum class Quotes { kNone, kDouble };
  enum class After { kEnd, kAnd, kOr, kPipe, kBackground };

  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool comes(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void list(bool until_parenthesis);
  bool separator(Pending& now, std::size_t& cases, bool until_parenthesis, bool& over);
  void finish(Pending& now, After after);
  bool run(Words words);
  void moved_from(const Folder& before);
  void end_list(After after);
  void give_input(const Pending& now, const Output& piped);
  Output output_of(const Words& words, const Pending& now, const Output& piped);
  void strip_keywords(Words& words);
  void loop(std::span<const Word> words);
  void open_compound(bool may_not_run, bool repeats = false);
  void other_branch();
  void close_compound();
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
  void substitution(Word& word, Quotes quotes);
  void put_output(Word& word, const std::optional<std::string>& text, Quotes quotes);
  void braced(Word& word, Quotes quotes);
  void expanded(Word& word, const std::string& name, Quotes quotes, const Word& operand, char how);
  bool is_set(const std::string& name) const;
  void variable(Word& word, const std::string& name, Quotes quotes);
  void here(Word& word);
  void append(Word& word, const Word& value, Quotes quotes);
  void backticks(Word& word);
  bool braces(Word& word);
  static void unknown(Word& word) {
    word.text += '*';
    word.known = false;
    word.choices.clear();
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
  std::vector<Folder> pending_;      // where it may be, when this list of commands is over
  bool sure_ = true;                 // this command runs, whatever the ones before it do
  bool given_up_ = false;            // cd X || exit
  std::vector<Compound> compounds_;
  bool function_ = false;     // the next braces are a function's
  bool script_read_ = false;  // a command has read its script from standard input
  Output piped_;              // into the next command
  std::size_t finished_ = 0;  // commands
  Output last_;               // of the last one
  std::string body_;          // of the last heredoc
  bool body_known_ = false;
};

}  // namespace lockkeeper::enforce::shell
