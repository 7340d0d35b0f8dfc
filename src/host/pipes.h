// Pipes, pairs of sockets, and a flag that poll() sees. A program that another thread starts at the
// same moment inherits none of them.
#pragma once

#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::host {

struct Pipe {
  Fd reader;
  Fd writer;
};
Result<Pipe> make_pipe();

// Has whoever was to read what is written there ended, or closed it? False if that cannot be told,
// as of a file.
bool has_no_reader(int fd);

// The two ends of a channel that keeps messages apart and tells when the other end is gone.
Result<std::pair<Fd, Fd>> make_message_channel();
// Is it an end of such a channel?
bool is_message_channel(int fd);

// A flag that is raised once, and seen by poll() as readable from then on.
//
// Thread safety: raise() may be called from any thread.
class Event {
 public:
  Event();
  int fd() const { return fd_.get(); }
  void raise() const;

 private:
  Fd fd_;
};

}  // namespace lockkeeper::host
