// A whole terminal for one program: another screen, no cursor, keys as they are pressed. What was
// there before comes back at the end.
//
// Thread safety: none.
#pragma once

#include <termios.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace lockkeeper::cli {

struct Key {
  enum class Kind {
    kText,  // one character
    kEnter,
    kEscape,
    kBack,
    kEraseLine,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kFirst,
    kLast,
    kTab,
    kRedraw,
    kSuspend,
    kEnd,  // nobody can press a key any more
  };
  Kind kind = Kind::kText;
  std::string text = {};
  friend bool operator==(const Key&, const Key&) = default;
};

// The keys in what a terminal sent. `bytes` keeps a sequence that has only begun; `all`: nothing
// more comes, so that Escape was the key itself.
std::vector<Key> keys_in(std::string& bytes, bool all);

class Keyboard {
 public:
  // REQUIRES: stdin and `out` are terminals. `out` must outlive it.
  explicit Keyboard(Output& out);
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  // What was pressed within this time; returns as soon as there is something, or at a signal.
  std::vector<Key> wait(int ms);
  // Gives the terminal back and stops this process, as Ctrl-Z does; goes on when told to.
  void suspend();

 private:
  void enter();
  void leave();
  bool read_some(int ms);

  Output& out_;
  termios before_{};
  std::string bytes_;
  bool ended_ = false;
};

}  // namespace lockkeeper::cli
