// An isolation spec: who takes part, what each may do, in which order it happens, what must come of
// it. README.md beside this file is the language's description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::isolation {

struct Step {
  std::string name;     // "b1"
  std::string session;  // "bob"
  std::vector<std::string> words;
  int line = 0;
};

struct Session {
  std::string name;   // "ann": who takes the steps, in a process of its own
  std::string agent;  // the same, unless another one is named
  std::string id;     // empty: none
  std::string at;     // the machine that it talks to, if there are several; empty: there is one
};

// One line of the order: a step with what must come of it, or an event of the world (`pass`,
// `reboot`, `vanish`, `stops`, `starts`), whose effect may be named too.
struct Move {
  std::string step;                // empty: of the world
  std::vector<std::string> words;  // of the world
  std::string expected;
  int line = 0;
};

struct Spec {
  std::string title;
  std::vector<Session> sessions;
  std::vector<Step> steps;
  std::vector<Move> moves;
  std::vector<std::string> end;  // what must be so in the end, in any order
};

// invalid_input naming the line if the text is no spec.
Result<Spec> parse_spec(std::string_view text);

// Those in the folder `specs`, by name, and one of them.
std::vector<std::string> spec_names();
Result<Spec> read_spec(const std::string& name);

}  // namespace lockkeeper::isolation
