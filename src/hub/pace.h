// How quick a realm's short calls were lately. While they are quick, they run on the server's own
// thread: handing one to another thread and its answer back takes longer than the call itself.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>

namespace lockkeeper::hub {

class Pace {
 public:
  // A call may keep all other clients waiting for that long. A slower one does it once.
  static constexpr std::chrono::microseconds kQuick{1'000};
  static constexpr int kProofs = 16;  // quick calls in a row before a realm counts as quick

  bool is_quick() const { return owed_ == 0; }
  void took(std::chrono::steady_clock::duration time) {
    if (time > kQuick) {
      owed_ = kProofs;
    } else if (int owed = owed_; owed > 0) {
      owed_.compare_exchange_strong(owed, owed - 1);  // lost: another call has told more
    }
  }

 private:
  std::atomic<int> owed_ = kProofs;  // the first call opens the table
};

}  // namespace lockkeeper::hub
