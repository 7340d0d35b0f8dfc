// A word of a command, and what is known while a text is read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::shell {

struct Word {
  std::string text = {};   // without its quotes; '*' stands for what only the shell knows
  std::string typed = {};  // as it stands in the text
  bool known = true;       // false: an expansion is part of it
  bool pattern = false;    // has wildcards that are not quoted
  bool quoted = false;     // at least in part: not a keyword
  bool fields = false;     // several words, with kFieldEnd between them
  bool output = false;     // <(…): a file with this text
  std::vector<std::string> choices = {};  // all that it may be: by the words of a loop
  std::size_t choice_at = 0;              // while it is read: where these are in the text
  std::size_t name_size = 0;              // of NAME=VALUE: the name's. 0: it is not an assignment

  // Nothing at all is known of it.
  bool is_anything() const { return !known && text.starts_with('*'); }
  // Every name of the folder.
  bool is_all() const {
    return !text.empty() && text.find_first_not_of('*') == std::string::npos && pattern;
  }
};
using Words = std::vector<Word>;
inline constexpr std::size_t kElsewhereMax = 4;
inline constexpr char kFieldEnd = '\x1f';

inline Word any_word() {
  return {.text = "*", .typed = "…", .known = false};
}

// What a shell remembers from one command to the next.
struct Memory {
  Folder folder = {};
  std::vector<Folder> elsewhere = {};  // where it may be instead: a `cd` may fail, or never run
  std::vector<Folder> stack = {};      // of pushd
  Folder previous = {{}, false};       // of cd -
  bool ends_at_failure = false;        // set -e
  std::set<std::string, std::less<>> made = {};  // folders that the text makes
  // Repositories that it makes: paths, or words that only the shell knows, as they were typed.
  std::set<std::string, std::less<>> fresh = {};
  std::map<std::string, std::string, std::less<>> aliases = {};  // of git, set by the text
  std::map<std::string, Word, std::less<>> variables = {};
  // Set more than once, or by something that is not read here: nobody knows their values.
  std::set<std::string, std::less<>> spoiled = {};

  void set(const std::string& name, Word&& value);
  void spoil(const std::string& name);
  void set_words(const std::string& name, const Words& words, bool appends);
  void add_elsewhere(const Folder& one);
  // The text makes it, or one that it is in.
  bool is_made(const std::string& path) const;
};

// Puts the shell back where it was.
class Stay {
 public:
  explicit Stay(Memory& memory)
      : memory_(memory), folder_(memory.folder), elsewhere_(memory.elsewhere) {}
  ~Stay() {
    memory_.folder = std::move(folder_);
    memory_.elsewhere = std::move(elsewhere_);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  Memory& memory_;
  Folder folder_;
  std::vector<Folder> elsewhere_;
};

// What all texts within one text share.
struct Reading {
  Found found = {};
  std::vector<Danger> stashes = {};  // that the text has made, and not dropped
  std::size_t stashes_taken = 0;     // others that it has dropped
  std::size_t loops = 0;             // that it is in
  const Surroundings* around = nullptr;
  std::size_t fresh = 0;                    // commands in repositories that are new
  std::size_t budget = 16 * kTextBytesMax;  // bytes still to be read, in all texts together

  std::optional<std::string> outer(std::string_view name) const {
    if (around == nullptr || !around->variables) return std::nullopt;
    return around->variables(name);
  }
  // Nobody can tell: then it is.
  bool is_missing(const std::string& path) const {
    return around != nullptr && around->exists && !around->exists(path);
  }
  bool exists(const std::string& path) const {
    return around != nullptr && around->exists && around->exists(path);
  }
  void unclear(std::string_view why) {
    if (found.unclear.empty()) found.unclear = why;
  }
};

// Reads a text within another, and judges its commands. Gives what it writes, if that is known.
std::optional<std::string> read_script(std::string_view text, Reading& reading, Memory& memory,
                                       std::size_t nesting);

// One command, with its redirections gone. True: it reads a script from its standard input.
bool judge_command(Words words, Reading& reading, Memory& memory, std::size_t nesting);

// The words after "git". `typed`: of the whole command.
void judge_git(std::span<const Word> words, Reading& reading, Memory& memory,
               const std::string& typed, std::size_t nesting);

void add_danger(Reading& reading, Danger danger);
std::string typed_text(std::span<const Word> words);
// A word as a path. `wild`: it has wildcards.
Path path_of(const Word& word, bool wild);
// The folder after `git -C WORD`.
Folder folder_at(const Folder& from, const Word& word, const Memory& memory);
// Without x/.., as `cd` goes.
Folder logical(Folder folder);
// A folder that a command makes; `repository`: and a repository in it.
void remember_made(const Word& word, bool repository, const Folder& from, const Reading& reading,
                   Memory& memory);

}  // namespace lockkeeper::enforce::shell
