#include "kv/lmdb/gate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/assert.h"
#include "base/random.h"
#include "kv/lmdb/fault.h"
#include "kv/lmdb/interrupt.h"
#include "kv/lmdb/process_id.h"

namespace lockkeeper::kv::internal {
namespace {

// Far behind the file's end: locks need no bytes. The turnstile and the slots are neighbours, so
// that a writer that finds nobody enters with one call and leaves with one.
constexpr off_t kSpan = off_t{1} << 32;
constexpr off_t kTurnstile = off_t{1} << 40;
constexpr off_t kSlots = kTurnstile + kSpan;
constexpr off_t kSeatLocks = off_t{1} << 42;
// A passage lasts about ten microseconds; to sleep and be woken costs more. So a writer tries again
// for about that long before it waits in the kernel.
constexpr int kTriesBeforeSleep = 32;

struct flock range(short type, off_t start, off_t length) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  return lock;
}

std::int64_t mono_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// A forked child's copy of the description shares the lock, which would then outlive this process.
// So children close their copies at once. The size is fixed, because a fork handler must not
// allocate; descriptions beyond it are closed at exec, like all. 0 means none: descriptor 0 is
// never a gate's, see remember().
std::array<std::atomic<int>, 512> g_descriptions;

void close_in_child() {
  for (auto& fd : g_descriptions) {
    const int number = fd.exchange(0);
    if (number > 0) ::close(number);
  }
}

void remember(int number) {
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, close_in_child);
  (void)kRegistered;
  if (number == 0) return;  // a process without a standard input; closed at exec, like all
  for (auto& fd : g_descriptions) {
    int none = 0;
    if (fd.compare_exchange_strong(none, number)) return;
  }
}

void forget(int number) {
  for (auto& fd : g_descriptions) {
    int expected = number;
    if (number != 0 && fd.compare_exchange_strong(expected, 0)) return;
  }
}

std::uint64_t pid_namespace() {
  struct stat st{};
  return ::stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

sigset_t job_control() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
  ::sigaddset(&set, SIGTTIN);
  ::sigaddset(&set, SIGTTOU);
  return set;
}

// As try_lock_for(), which calls something that TSan of g++ 12 does not know.
bool lock_within(std::unique_lock<std::timed_mutex>& turn, int patience_ms) {
#ifdef __SANITIZE_THREAD__
  for (int waited = 0; waited < patience_ms && !turn.owns_lock(); ++waited) {
    if (!turn.try_lock()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return turn.owns_lock();
#else
  return turn.try_lock_for(std::chrono::milliseconds(patience_ms));
#endif
}

bool is_long(int fd) {
  struct stat st{};
  return ::fstat(fd, &st) == 0 && st.st_size >= static_cast<off_t>(sizeof(GatePage));
}

}  // namespace

Gate::Pass::Pass(Pass&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)),
      turn_(std::move(other.turn_)),
      seat_(std::move(other.seat_)),
      mask_(other.mask_),
      in_place_(other.in_place_) {}

Gate::Pass& Gate::Pass::operator=(Pass&& other) noexcept {
  if (this != &other) {
    leave();
    gate_ = std::exchange(other.gate_, nullptr);
    turn_ = std::move(other.turn_);
    seat_ = std::move(other.seat_);
    mask_ = other.mask_;
    in_place_ = other.in_place_;
  }
  return *this;
}

void Gate::Pass::leave() {
  if (gate_ == nullptr) return;
  std::exchange(gate_, nullptr)->leave(std::move(seat_));
  if (turn_.owns_lock()) turn_.unlock();
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

Result<std::unique_ptr<Gate>> Gate::open(const std::string& path, bool read_only,
                                         const FilePolicy* policy) {
  install_fault_handler();
  std::unique_ptr<Gate> gate(new Gate(path, read_only));
  auto fd = open_plain(path, read_only, policy);
  if (!fd) return fail(std::move(fd.error()));
  gate->watch_ = std::move(*fd);
  gate->owner_pid_ = process_id();
  const auto identity = identify(path);
  struct stat st{};
  if (::fstat(gate->watch_.get(), &st) != 0) return fail(errno_error(errno, path));
  if (!identity || identity->inode != st.st_ino) {
    return fail(Code::kStoreUnavailable, path + ": was replaced while it was being opened",
                "try again");
  }
  gate->identity_ = *identity;
  if (st.st_size >= static_cast<off_t>(sizeof(GatePage))) {
    if (auto ok = gate->map_page(gate->watch_.get()); !ok) return fail(std::move(ok.error()));
  }
  return gate;
}

Gate::~Gate() {
  const bool ours = owner_pid_ == process_id();
  for (auto& seat : spare_) {
    if (ours) {
      forget(seat->fd.get());
    } else {
      (void)seat->fd.release();  // closed by the fork handler
    }
  }
  if (page_ != nullptr) ::munmap(page_.load(), sizeof(GatePage));
}

Result<void> Gate::map_page(int fd) {
  const int access = read_only_ ? PROT_READ : PROT_READ | PROT_WRITE;
  void* page = ::mmap(nullptr, sizeof(GatePage), access, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return fail(errno_error(errno, path_));
  GatePage* none = nullptr;  // another thread may have seen the page come, too
  if (!page_.compare_exchange_strong(none, static_cast<GatePage*>(page))) {
    ::munmap(page, sizeof(GatePage));
  }
  return {};
}

Result<void> Gate::make_page() {
  LOCKKEEPER_ASSERT(!read_only_);
  const int error = ::posix_fallocate(watch_.get(), 0, sizeof(GatePage));
  if (error != 0) return fail(errno_error(error, path_));
  if (page_ == nullptr) LK_CHECK(map_page(watch_.get()));
  if (inside_->number >= kSeats) LK_CHECK(find_number(*inside_));
  page().writer.store(inside_->number, std::memory_order_relaxed);
  return {};
}

bool Gate::named() const {
  struct stat st{};
  return ::lstat(path_.c_str(), &st) == 0 && st.st_ino == identity_.inode;
}

bool Gate::whole() const {
  return page_ != nullptr && is_long(watch_.get());
}

Result<std::unique_ptr<Gate::Seat>> Gate::take_seat() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      auto seat = std::move(spare_.back());
      spare_.pop_back();
      return seat;
    }
  }
  auto fd = open_plain(path_, read_only_, nullptr);
  if (!fd && fd.error().code != Code::kNotFound) return fail(std::move(fd.error()));
  auto seat = std::make_unique<Seat>();
  if (fd) seat->fd = std::move(*fd);
  struct stat st{};
  if (!fd || ::fstat(seat->fd.get(), &st) != 0 || st.st_ino != identity_.inode) {
    // The file was deleted or replaced. A passage of the opened one is useless (not in_place()),
    // but the caller needs it to find that out.
    const std::string opened = "/proc/self/fd/" + std::to_string(watch_.get());
    seat->fd = Fd(::open(opened.c_str(), (read_only_ ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    if (!seat->fd) return fail(errno_error(errno, path_));
  }
  if (auto ok = find_number(*seat); !ok) return fail(std::move(ok.error()));
  remember(seat->fd.get());
  return seat;
}

Result<void> Gate::find_number(Seat& seat) {
  SystemRandom random;
  seat.number = kSeats + static_cast<std::uint32_t>(random.next() >> 33);
  if (read_only_ || !whole()) return {};
  const auto first = static_cast<std::uint32_t>(process_id()) % kSeats;
  for (std::uint32_t i = 0; i < kSeats; ++i) {
    const std::uint32_t number = (first + i) % kSeats;
    struct flock lock = range(F_WRLCK, kSeatLocks + number, 1);
    if (::fcntl(seat.fd.get(), F_OFD_SETLK, &lock) == 0) {
      seat.number = number;
      introduce(seat);
      return {};
    }
    if (errno != EAGAIN && errno != EACCES) return fail(errno_error(errno, path_));
  }
  return {};
}

void Gate::introduce(const Seat& seat) {
  SeatRow& row = page_.load()->seats[seat.number];
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  std::uint64_t words[2];
  std::memcpy(words, name, sizeof words);
  row.pid.store(static_cast<std::uint32_t>(process_id()), std::memory_order_relaxed);
  row.pid_namespace.store(pid_namespace(), std::memory_order_relaxed);
  row.name[0].store(words[0], std::memory_order_relaxed);
  row.name[1].store(words[1], std::memory_order_relaxed);
}

Result<Gate::Pass> Gate::enter(Access access, int patience_ms) {
  LOCKKEEPER_ASSERT(owner_pid_ == process_id());
  LOCKKEEPER_ASSERT(access == Access::kRead || !read_only_);
  static const sigset_t kHeldOff = job_control();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &kHeldOff, &before);
  auto pass = enter_in_turn(access, patience_ms);
  if (pass) {
    pass->mask_ = before;
  } else {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return pass;
}

Result<std::unique_lock<std::timed_mutex>> Gate::line_up(int patience_ms) {
  std::unique_lock<std::timed_mutex> turn(writers_, std::try_to_lock);
  if (turn.owns_lock()) return turn;
  std::uint64_t seen = turns();
  while (!lock_within(turn, patience_ms)) {
    const std::uint64_t now = turns();
    if (now == seen) return fail(busy(patience_ms));
    seen = now;
  }
  return turn;
}

Result<Gate::Pass> Gate::enter_in_turn(Access access, int patience_ms) {
  Pass pass;
  if (access == Access::kWrite) {
    LK_ASSIGN(pass.turn_, line_up(patience_ms));
  }
  LK_ASSIGN(std::unique_ptr<Seat> seat, take_seat());
  if (auto ok = lock_for(*seat, access, patience_ms); !ok) {
    leave(std::move(seat));
    return fail(std::move(ok.error()));
  }
  pass.gate_ = this;
  pass.seat_ = std::move(seat);
  if (access == Access::kWrite) inside_ = pass.seat_.get();
  struct stat st{};
  pass.in_place_ = page_ != nullptr && ::lstat(path_.c_str(), &st) == 0 &&
                   st.st_ino == identity_.inode &&
                   st.st_size >= static_cast<off_t>(sizeof(GatePage));
  if (pass.in_place_ && access == Access::kWrite) {
    page().writer.store(pass.seat_->number, std::memory_order_relaxed);
    page().turns.fetch_add(1, std::memory_order_relaxed);
  }
  return pass;
}

Result<void> Gate::lock_for(const Seat& seat, Access access, int patience_ms) {
  const off_t own = static_cast<off_t>(seat.number);
  if (access == Access::kRead) {
    // Enter directly if no writer waits and none is inside.
    struct flock slot = range(F_RDLCK, kSlots + own, 1);
    if (!writer_waits() && ::fcntl(seat.fd.get(), F_OFD_SETLK, &slot) == 0) return {};
    if (auto ok = lock(seat, F_RDLCK, kTurnstile + own, 1, patience_ms); !ok) return ok;
    if (auto ok = lock(seat, F_RDLCK, kSlots + own, 1, patience_ms); !ok) return ok;
    struct flock out = range(F_UNLCK, kTurnstile + own, 1);
    if (::fcntl(seat.fd.get(), F_OFD_SETLK, &out) != 0) return fail(errno_error(errno, path_));
    return {};
  }
  for (int i = 0; i < kTriesBeforeSleep; ++i) {
    struct flock both = range(F_WRLCK, kTurnstile, 2 * kSpan);
    if (::fcntl(seat.fd.get(), F_OFD_SETLK, &both) == 0) return {};
    if (errno != EAGAIN && errno != EACCES) break;
  }
  if (auto ok = lock(seat, F_WRLCK, kTurnstile, kSpan, patience_ms); !ok) return ok;
  if (whole()) {
    page().writer.store(seat.number, std::memory_order_relaxed);
    page().waiting.store(1);
  }
  auto ok = lock(seat, F_WRLCK, kSlots, kSpan, patience_ms);
  if (whole()) page().waiting.store(0);
  return ok;
}

bool Gate::writer_waits() const {
  GatePage* const page = page_.load(std::memory_order_relaxed);
  if (page == nullptr) return true;
  bool waits = true;
  (void)guarded([&] {
    waits = page->waiting.load() != 0;
    return 0;
  });
  return waits;
}

Result<void> Gate::lock(const Seat& seat, short type, off_t start, off_t length, int patience_ms) {
  struct flock wanted = range(type, start, length);
  if (::fcntl(seat.fd.get(), F_OFD_SETLK, &wanted) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return fail(errno_error(errno, path_));
  return wait_for(seat, type, start, length, patience_ms);
}

std::uint64_t Gate::turns() {
  // Whoever makes the store may have made the page since this gate was opened.
  if (page_ == nullptr && is_long(watch_.get())) (void)map_page(watch_.get());
  return whole() ? page().turns.load(std::memory_order_relaxed) : 0;
}

Result<void> Gate::wait_for(const Seat& seat, short type, off_t start, off_t length,
                            int patience_ms) {
  Interrupt timer(patience_ms);
  if (!timer.armed())
    return fail(Code::kStoreUnavailable, "cannot create a timer to wait at the gate");
  std::uint64_t seen = turns();
  std::int64_t since = mono_ms();
  for (;;) {
    struct flock wanted = range(type, start, length);
    if (::fcntl(seat.fd.get(), F_OFD_SETLKW, &wanted) == 0) return {};
    if (errno != EINTR) return fail(errno_error(errno, path_));
    if (mono_ms() - since < patience_ms) continue;
    // Somebody passed meanwhile: the store is crowded, not stuck.
    const std::uint64_t now = turns();
    if (now == seen) return fail(busy(patience_ms));
    seen = now;
    since = mono_ms();
    timer.again(patience_ms);
  }
}

std::string Gate::describe(std::uint32_t number) const {
  if (number >= kSeats || !whole()) return "a process that cannot be named";
  const SeatRow& row = page().seats[number];
  if (row.pid.load(std::memory_order_relaxed) == 0) return "a process that cannot be named";
  const std::uint64_t words[2] = {row.name[0].load(std::memory_order_relaxed),
                                  row.name[1].load(std::memory_order_relaxed)};
  char name[17] = {};
  std::memcpy(name, words, sizeof words);
  for (char& c : name) {
    if (c != '\0' && (c < ' ' || c > '~')) c = '?';
  }
  std::string text =
      "pid " + std::to_string(row.pid.load(std::memory_order_relaxed)) + " (" + name + ")";
  const std::uint64_t where = row.pid_namespace.load(std::memory_order_relaxed);
  if (where != pid_namespace()) {
    text += " in another container (pid namespace " + std::to_string(where) + ")";
  }
  return text;
}

std::string Gate::culprit() const {
  for (const off_t start : {kSlots, kTurnstile}) {
    struct flock found = range(read_only_ ? F_RDLCK : F_WRLCK, start, kSpan);
    if (::fcntl(watch_.get(), F_OFD_GETLK, &found) != 0 || found.l_type == F_UNLCK) continue;
    if (found.l_len == 1) return describe(static_cast<std::uint32_t>(found.l_start - start));
    return describe(whole() ? page().writer.load(std::memory_order_relaxed) : kSeats);
  }
  return {};
}

Error Gate::busy(int patience_ms) const {
  std::string who = culprit();
  if (who.empty()) who = "a process that has just left";
  return {Code::kStoreBusy,
          path_ + ": " + who + " is inside the store and has not moved for " +
              std::to_string(patience_ms / 1000) + " s",
          "it may be stopped: resume it (kill -CONT) or end it (kill), then try again"};
}

void Gate::leave(std::unique_ptr<Seat> seat) {
  if (owner_pid_ != process_id()) {
    (void)seat->fd.release();
    return;
  }
  struct flock out = range(F_UNLCK, kTurnstile, 2 * kSpan);
  LOCKKEEPER_ASSERT(::fcntl(seat->fd.get(), F_OFD_SETLK, &out) == 0);
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(seat));
}

}  // namespace lockkeeper::kv::internal
