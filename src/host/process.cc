#include "host/process.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"

namespace lockkeeper::host {
namespace {

std::string proc_path(int pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

// Splits at blanks and line ends. A stream would initialise the locale of the C++ library, which
// takes too long for a hook of one millisecond.
std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t size = std::min(text.find_first_of(kBlank), text.size());
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

template <class Number>
bool is_number(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// After unshare(CLONE_NEWPID), or in a careless container, /proc still shows the outer namespace:
// its numbers are other processes than ours.
Result<void> check_proc_is_ours() {
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size());
  if (size < 0) return fail(errno_error(errno, "/proc/self", Code::kFailed));
  const std::string_view shown(target.data(), static_cast<std::size_t>(size));
  if (shown == std::to_string(::getpid())) return {};
  return fail(Code::kFailed,
              "/proc shows another PID namespace: it knows this process as " + std::string(shown),
              "mount a fresh /proc in this namespace");
}

Result<std::uint64_t> own_pid_namespace() {
  struct stat status{};
  if (::stat("/proc/self/ns/pid", &status) != 0) {
    return fail(errno_error(errno, "/proc/self/ns/pid", Code::kFailed));
  }
  return status.st_ino;
}

Result<internal::Stat> read_stat(int pid) {
  auto content = read_file(proc_path(pid, "stat"));
  if (!content) return fail(std::move(content.error()));
  return internal::parse_stat(*content);
}

// The answer if /proc does not show the pid: it has ended, or /proc is mounted with hidepid and the
// process belongs to another user.
Alive judge_by_signal(int pid) {
  if (::kill(pid, 0) == 0) return Alive::kUnknown;
  if (errno == ESRCH) return Alive::kDead;
  return errno == EPERM ? Alive::kAlive : Alive::kUnknown;
}

// The process of a thread: /proc opens a thread's number like a process's. `pid` itself if unknown.
int process_of(int pid) {
  const auto status = read_file(proc_path(pid, "status"));
  constexpr std::string_view kLabel = "\nTgid:\t";
  const auto label = status ? status->find(kLabel) : std::string::npos;
  if (label == std::string::npos) return pid;
  int process = pid;
  const char* const end = status->data() + status->size();
  std::from_chars(status->data() + label + kLabel.size(), end, process);
  return process;
}

std::unexpected<Error> no_such_process(int pid) {
  return fail(Code::kNotFound, "no process with pid " + std::to_string(pid) + " is running",
              "name a running process of this PID namespace");
}

}  // namespace

std::string own_program() {
  return "/proc/self/exe";
}

std::string own_program_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "";
}

std::int64_t since_boot_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

namespace internal {

Result<Stat> parse_stat(const std::string& content) {
  const auto bad = [&] {
    return fail(Code::kFailed, "/proc/PID/stat: unknown format: " + content);
  };
  // The name ends at the last parenthesis, because it may contain some itself.
  const auto name_end = content.rfind(')');
  if (name_end == std::string::npos) return bad();
  // From the third one, "state", on.
  const std::vector<std::string_view> fields =
      words_of(std::string_view(content).substr(name_end + 1));
  constexpr std::size_t kThreads = 20 - 3;
  constexpr std::size_t kStart = 22 - 3;
  if (fields.size() <= kStart || fields[0].size() != 1) return bad();
  Stat stat;
  stat.state = fields[0][0];
  constexpr std::size_t kParent = 4 - 3;
  constexpr std::size_t kTerminal = 7 - 3;
  if (!is_number(fields[kParent], stat.parent) || !is_number(fields[kTerminal], stat.terminal) ||
      !is_number(fields[kThreads], stat.threads) || !is_number(fields[kStart], stat.start_ticks)) {
    return bad();
  }
  return stat;
}

bool has_ended(const Stat& stat) {
  const bool zombie = stat.state == 'Z' || stat.state == 'X' || stat.state == 'x';
  return zombie && stat.threads <= 1;
}

}  // namespace internal

Result<ProcessId> identify(int pid) {
  if (pid < 1) {
    return fail(Code::kInvalidInput, "pid " + std::to_string(pid) + ": must be at least 1",
                "name a running process by its number");
  }
  if (auto ours = check_proc_is_ours(); !ours) return fail(std::move(ours.error()));
  if (auto time = check_time_namespace(); !time) return fail(std::move(time.error()));
  const auto space = own_pid_namespace();
  if (!space) return fail(space.error());
  const auto stat = read_stat(pid);
  if (!stat && stat.error().code != Code::kNotFound && judge_by_signal(pid) != Alive::kDead) {
    return fail(stat.error());
  }
  if (!stat || internal::has_ended(*stat)) return no_such_process(pid);
  const int process = process_of(pid);
  if (process != pid) {
    return fail(
        Code::kInvalidInput,
        "pid " + std::to_string(pid) + ": is a thread of process " + std::to_string(process),
        "name the process, " + std::to_string(process));
  }
  return ProcessId{.pid_namespace = *space, .pid = pid, .start_ticks = stat->start_ticks};
}

Alive alive(const ProcessId& id) {
  if (id.pid < 1 || id.pid_namespace == 0) return Alive::kUnknown;
  if (!check_proc_is_ours() || !check_time_namespace()) return Alive::kUnknown;
  const auto space = own_pid_namespace();
  if (!space || *space != id.pid_namespace) return Alive::kUnknown;
  const auto stat = read_stat(id.pid);
  if (!stat) return judge_by_signal(id.pid);
  if (stat->start_ticks != id.start_ticks) return Alive::kDead;
  return internal::has_ended(*stat) ? Alive::kDead : Alive::kAlive;
}

Result<std::string> boot_id() {
  auto content = read_file("/proc/sys/kernel/random/boot_id");
  if (!content) return fail(Code::kFailed, content.error().message, "mount /proc");
  return without_newline(std::move(*content));
}

namespace {

// A process of this boot and namespace as sixteen hexadecimal digits.
Result<std::string> digest_of(int pid, std::uint64_t start_ticks) {
  const auto boot = boot_id();
  if (!boot) return fail(boot.error());
  const auto space = own_pid_namespace();
  if (!space) return fail(space.error());
  RecordWriter record;
  record.number(*space);
  record.signed_number(pid);
  record.number(start_ticks);
  std::string digest;
  append_be64(digest, hash64(*boot, record.take()));
  return to_hex(digest);
}

// Programs that start others: whoever started them matters, not they.
constexpr std::array<std::string_view, 26> kStarters = {
    "ash",  "bash", "busybox", "dash",  "fish",  "ksh",  "ksh93", "mksh",   "pdksh",
    "sh",   "tcsh", "yash",    "zsh",   "env",   "nice", "nohup", "setsid", "stdbuf",
    "sudo", "time", "timeout", "xargs", "gmake", "make", "ninja", "just"};

// One whose program cannot be read belongs to somebody else: it is not a shell of ours.
bool only_starts_others(int pid) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(proc_path(pid, "exe").c_str(), path.data(), path.size());
  if (size <= 0) return false;
  std::string_view file(path.data(), static_cast<std::size_t>(size));
  constexpr std::string_view kDeleted = " (deleted)";
  if (file.ends_with(kDeleted)) file.remove_suffix(kDeleted.size());
  return std::ranges::find(kStarters, file.substr(file.rfind('/') + 1)) != kStarters.end();
}

}  // namespace

Result<std::optional<std::string>> terminal_session() {
  if (auto ours = check_proc_is_ours(); !ours) return fail(std::move(ours.error()));
  const auto own = read_stat(::getpid());
  if (!own) return fail(own.error());
  if (own->terminal == 0) return std::nullopt;
  // 0 if the leader is outside our namespace: then the namespace tells the sessions apart.
  const pid_t leader = ::getsid(0);
  // The kernel does not reuse the leader's number while the session has a member, so a leader that
  // is gone (no start time) still tells this session from every other one alive.
  const auto stat = read_stat(leader);
  return digest_of(leader, stat ? stat->start_ticks : 0);
}

std::optional<int> find_client() {
  for (int pid = ::getppid(); pid > 0;) {
    const auto stat = read_stat(pid);
    if (!stat) return std::nullopt;
    if (!only_starts_others(pid)) return pid;
    pid = stat->parent;
  }
  return std::nullopt;
}

bool is_ancestor(int wanted) {
  for (int pid = ::getppid(); pid > 0;) {
    if (pid == wanted) return true;
    const auto stat = read_stat(pid);
    if (!stat) return false;
    pid = stat->parent;
  }
  return false;
}

Result<std::optional<std::string>> client_process() {
  if (auto ours = check_proc_is_ours(); !ours) return fail(std::move(ours.error()));
  const auto client = find_client();
  const auto stat = read_stat(client.value_or(0));
  if (!client || !stat) return std::nullopt;
  return digest_of(*client, stat->start_ticks);
}

std::optional<std::int64_t> client_age_ms() {
  const auto client = find_client();
  const auto stat = read_stat(client.value_or(0));
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (!client || !stat || ticks <= 0) return std::nullopt;
  return since_boot_ms() - static_cast<std::int64_t>(stat->start_ticks) * 1000 / ticks;
}

Result<std::string> comm(int pid) {
  auto content = read_file(proc_path(pid, "comm"));
  if (!content) {
    if (content.error().code == Code::kNotFound) return no_such_process(pid);
    return fail(std::move(content.error()));
  }
  return without_newline(std::move(*content));
}

Result<void> check_time_namespace() {
  struct stat status{};
  // The machine's own namespace, which no file can shift (TIME_NS_INIT_INO of the kernel).
  constexpr ino_t kOfTheMachine = 0xEFFFFFFA;
  if (::stat("/proc/self/ns/time", &status) == 0 && status.st_ino == kOfTheMachine) return {};
  const auto content = read_file("/proc/self/timens_offsets");
  if (!content) {
    // Kernels without time namespaces have no such file.
    if (content.error().code == Code::kNotFound) return {};
    return fail(content.error());
  }
  // Each line has a clock's name, seconds, nanoseconds.
  const std::vector<std::string_view> words = words_of(*content);
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    if (!is_number(words[i + 1], seconds) || !is_number(words[i + 2], nanoseconds)) break;
    if (seconds == 0 && nanoseconds == 0) continue;
    return fail(Code::kFailed, "this time namespace shifts the clock " + std::string(words[i]),
                "run lockkeeper in the time namespace of the machine");
  }
  return {};
}

}  // namespace lockkeeper::host
