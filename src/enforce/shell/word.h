// A word of a command, and what is known while a text is read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::shell {

struct Word {
  std::string text = {};      // without its quotes; '*' stands for what only the shell knows
  std::string typed = {};     // as it stands in the text
  bool known = true;          // false: an expansion is part of it
  bool pattern = false;       // has wildcards that are not quoted
  bool quoted = false;        // at least in part: not a keyword
  std::size_t name_size = 0;  // of NAME=VALUE: the name's. 0: it is not an assignment

  // Nothing at all is known of it.
  bool is_anything() const { return !known && text.starts_with('*'); }
  // Every name of the folder.
  bool is_all() const {
    return !text.empty() && text.find_first_not_of('*') == std::string::npos && pattern;
  }
};
using Words = std::vector<Word>;

inline Word any_word() {
  return {.text = "*", .typed = "…", .known = false};
}

// What a shell remembers from one command to the next.
struct Memory {
  Folder folder = {};
  std::map<std::string, Word, std::less<>> variables = {};
  // Set more than once, or by something that is not read here: nobody knows their values.
  std::set<std::string, std::less<>> spoiled = {};

  void set(const std::string& name, Word value);
  void spoil(const std::string& name);
};

// What all texts within one text share.
struct Reading {
  Found found = {};
  const Variables* outer = nullptr;
  std::size_t budget = 16 * kTextBytesMax;  // bytes still to be read, in all texts together

  void unclear(std::string_view why) {
    if (found.unclear.empty()) found.unclear = why;
  }
};

// Reads a text within another, and judges its commands.
void read_script(std::string_view text, Reading& reading, Memory& memory, std::size_t nesting);

// One command, with its redirections gone. True: it reads a script from its standard input.
bool judge_command(Words words, Reading& reading, Memory& memory, std::size_t nesting);

// The words after "git". `typed`: of the whole command.
void judge_git(std::span<const Word> words, const Folder& folder, Reading& reading,
               const std::string& typed);

void add_danger(Reading& reading, Danger danger);
std::string typed_text(std::span<const Word> words);
// A word as a path. `wild`: it has wildcards.
Path path_of(const Word& word, bool wild);
// The folder after `cd WORD`.
Folder folder_at(const Folder& from, const Word& word);

}  // namespace lockkeeper::enforce::shell
