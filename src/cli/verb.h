// A verb of the command line: its name, what --help says, and the function that does it.
//
// A verb's function declares its arguments on the context, calls parse(), acts, and returns the
// exit status. Help and completion run the same function up to parse(), so they cannot go stale.
#pragma once

#include <string_view>

namespace lockkeeper::cli {

class VerbContext;

struct Verb {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // lines of shell, shown first by --help
  int (*run)(VerbContext&);
};

}  // namespace lockkeeper::cli
