// The gate decides who may be inside the store: many readers or one writer, across all processes.
//
// It uses open-file-description locks on byte ranges of the file `gate`. The kernel frees them when
// the holder dies, and no process id is compared, so containers may share a store. Two ranges have
// one byte for each slot:
//
//   turnstile  a writer locks all of it first; a reader passes through its own byte
//   slots      a writer locks all of it; a reader its own byte, and then leaves the turnstile
//
// A writer that waits for the readers inside keeps the turnstile, so no new reader overtakes it.
// With plain shared and exclusive locks, four overlapping readers starve a writer for seconds.
//
// Each description has a seat: a number of its own, reserved in a third range while it is open. The
// seat selects the byte in the other two ranges, and the row in which its process wrote its name.
// So a process that waits in vain can name the culprit (L7). Beyond kSeats descriptions there are
// no seats: the gate works as before, but the culprit has no name.
//
// Thread safety: all methods. Each passage uses a description of its own.
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

  // One passage; its destructor leaves. It blocks job-control signals in its thread, because a
  // process stopped inside would stop all others. REQUIRES: ended by the thread that entered.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass() { leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Does nothing if already out, or in a forked child, whose parent is still inside.
    void leave();
    explicit operator bool() const { return gate_ != nullptr; }

    // The path still named the opened file, at its full length, when this passage began. If not,
    // page() must not be touched.
    bool in_place() const { return in_place_; }

   private:
    friend class Gate;
    Gate* gate_ = nullptr;
    std::unique_lock<std::timed_mutex> turn_;  // of a writer
    std::unique_ptr<Seat> seat_;
    sigset_t mask_{};
    bool in_place_ = false;
  };

  // Opens the gate's file. A missing file is created if there is a `policy`, otherwise not_found.
  // `read_only`: only readers can pass, and they have no seat.
  static Result<std::unique_ptr<Gate>> open(const std::string& path, bool read_only,
                                            const FilePolicy* policy);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits until it may enter. store_busy, naming the culprit: nobody came or went for
  // `patience_ms`. A passage never starts while a conflicting one lasts. (I1, L7)
  Result<Pass> enter(Access access, int patience_ms = kPatienceMs);
  static constexpr int kPatienceMs = 2000;

  // The mapped page. REQUIRES: this passage is in_place(), or make_page() succeeded in it.
  GatePage& page() const { return *page_.load(std::memory_order_relaxed); }
  // Gives the file its full length and maps it; new bytes are zero. From then on others can name
  // this writer. REQUIRES: inside as a writer, and the path names the opened file.
  Result<void> make_page();
  // This passage, which is long, got further: others do not lose patience. REQUIRES: inside as a
  // writer, after make_page().
  void moved() const { page().turns.fetch_add(1, std::memory_order_relaxed); }
  // Does the path name the opened file, whatever its length?
  bool named() const;

  bool read_only() const { return read_only_; }
  const std::string& path() const { return path_; }
  Identity identity() const { return identity_; }

  // Who keeps a writer out right now: "pid 17 (python3)"; empty: nobody.
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
  std::uint64_t turns();
  Error busy(int patience_ms) const;
  std::string describe(std::uint32_t number) const;
  void leave(std::unique_ptr<Seat> seat);

  // Constant after opening.
  const std::string path_;
  const bool read_only_;
  Identity identity_;
  pid_t owner_pid_ = 0;
  Fd watch_;  // only to query: a description never sees its own locks

  std::atomic<GatePage*> page_ = nullptr;  // set once
  Seat* inside_ = nullptr;                 // of the last writer; protected by writers_

  // Writers of this process line up here, so that only one asks the kernel. Sixteen threads that
  // asked together made 33 useless system calls for every passage.
  std::timed_mutex writers_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Seat>> spare_;  // protected by mutex_
};

}  // namespace lockkeeper::kv::internal
