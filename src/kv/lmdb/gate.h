// The gate: who may be inside the store now. Many readers or one writer, over all processes.
//
// Locks are open-file-description locks on byte ranges of the file `gate`: the kernel frees them at
// the holder's death, no process id is compared, so containers may share a store. Two ranges of one
// byte for each possible slot:
//
//   turnstile  a writer locks all of it first; a reader passes through its own byte
//   slots      a writer locks all of it; a reader its own byte, and then leaves the turnstile
//
// A writer that waits for the readers inside keeps the turnstile, so no new reader overtakes it:
// plain shared and exclusive locks let four overlapping readers starve a writer for seconds.
//
// Each description has a seat: a number of its own, kept by a third range for as long as it is
// open. The seat chooses the byte in the other two and the row of the table in which its process
// wrote who it is, so that whoever waits in vain can name the culprit (L7). Beyond kSeats
// descriptions there is no seat: the gate works the same, but the culprit has no name.
//
// Thread safety: all of it. Each passage uses a description of its own.
#pragma once

#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kv/lmdb/files.h"
#include "kv/lmdb/gate_page.h"
#include "kv/store.h"

namespace lockkeeper::kv::internal {

class Gate {
 public:
  // One description of the gate's file.
  struct Seat {
    Fd fd;
    std::uint32_t number = 0;
  };

  // One passage; its end is the way out. Blocks job-control signals of its thread meanwhile, since
  // a process stopped inside would stop all others. REQUIRES: ended by the thread that entered.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass() { leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Out; nothing if already out, or in a forked child, whose parent is still inside.
    void leave();
    explicit operator bool() const { return gate_ != nullptr; }

    // Whether the path still named the opened file, at its full length, when this passage began.
    // If not, page() must not be touched.
    bool in_place() const { return in_place_; }

   private:
    friend class Gate;
    Gate* gate_ = nullptr;
    std::unique_lock<std::timed_mutex> turn_;  // of a writer
    std::unique_ptr<Seat> seat_;
    sigset_t mask_{};
    bool in_place_ = false;
  };

  // Opens the gate's file; not_found if it is missing and `policy` is null, else it is created.
  // `read_only`: only readers can pass, and they have no seat.
  static Result<std::unique_ptr<Gate>> open(const std::string& path, bool read_only,
                                            const FilePolicy* policy);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits for the way in. store_busy, naming the culprit, if nobody came or went for
  // `patience_ms`. A passage never starts while another of a conflicting kind lasts. (I1, L7)
  Result<Pass> enter(Access access, int patience_ms = kPatienceMs);
  static constexpr int kPatienceMs = 2000;

  // The mapped page. REQUIRES: this passage is in_place(), or make_page() succeeded in it.
  GatePage& page() const { return *page_.load(std::memory_order_relaxed); }
  // Gives the file its full length and maps it; what is new in it is zero. REQUIRES: inside as a
  // writer, and the path names the opened file.
  Result<void> make_page();
  // Whether the path names the opened file, whatever its length.
  bool named() const;

  bool read_only() const { return read_only_; }
  const std::string& path() const { return path_; }
  Identity identity() const { return identity_; }

  // Who keeps a writer out right now: "pid 17 (python3)"; empty if nobody.
  std::string culprit() const;

 private:
  Gate(std::string path, bool read_only) : path_(std::move(path)), read_only_(read_only) {}

  Result<std::unique_lock<std::timed_mutex>> line_up(int patience_ms);
  Result<Pass> enter_in_turn(Access access, int patience_ms);
  Result<std::unique_ptr<Seat>> take_seat();
  Result<void> find_number(Seat& seat);
  void introduce(const Seat& seat);
  Result<void> map_page(int fd);
  Result<void> lock(const Seat& seat, short type, off_t start, off_t length, int patience_ms);
  Result<void> wait_for(const Seat& seat, short type, off_t start, off_t length, int patience_ms);
  Result<void> lock_for(const Seat& seat, Access access, int patience_ms);
  bool whole() const;  // the page is mapped and the opened file is as long as it
  bool writer_waits() const;
  std::uint64_t turns() const;
  Error busy(int patience_ms) const;
  std::string describe(std::uint32_t number) const;
  void leave(std::unique_ptr<Seat> seat);

  // Constant after opening.
  const std::string path_;
  const bool read_only_;
  Identity identity_;
  pid_t owner_pid_ = 0;
  Fd watch_;  // for questions only: a description never sees its own locks

  std::atomic<GatePage*> page_ = nullptr;  // set once

  // Writers of this process line up here, and one of them asks the kernel: sixteen threads that
  // asked together made 33 vain system calls for every passage.
  std::timed_mutex writers_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Seat>> spare_;  // protected by mutex_
};

}  // namespace lockkeeper::kv::internal
