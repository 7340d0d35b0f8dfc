// What this process says if it takes too long, for programs whose silence would be taken for a
// yes.
//
// Thread safety: none; call it from the main thread.
#pragma once

#include <string>

namespace lockkeeper::host {

struct LastWord {
  std::string out;  // to standard output
  std::string err;  // to standard error
  int exit_code = 0;
};

// Unless disarm_last_word() comes first, says that after so many milliseconds and ends the process,
// whatever it is doing then. A later call changes the words; the time runs from the first.
void arm_last_word(LastWord word, int after_ms);
void disarm_last_word();

}  // namespace lockkeeper::host
