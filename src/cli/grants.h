// What one command has locked, so that it can be given back if nobody can be told of it: its answer
// could not be written, and the lock would stay for its whole ttl.
//
// Thread safety: add() may be called from any thread.
#pragma once

#include <deque>
#include <mutex>

#include "service/runtime.h"

namespace lockkeeper::cli {

class Grants {
 public:
  void add(const service::Granted& granted);
  // True: something was still held, and is not any more.
  bool give_back(const service::Runtime& runtime);

 private:
  std::mutex mutex_;
  std::deque<service::Granted> last_;  // protected by mutex_; a server takes any number of locks
};

}  // namespace lockkeeper::cli
