// The public face of a directory guard: dirlock::Guard does the work, and a thread watches it.
#include <lockkeeper/guard.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "dialect/dirlock/guard.h"
#include "embed/boundary.h"
#include "embed/owner.h"
#include "embed/quiet_thread.h"
#include "host/process.h"

namespace lockkeeper::embed {
namespace {

namespace dirlock = dialect::dirlock;

constexpr std::chrono::milliseconds kLookEvery(500);

Result<std::string> folder_of(const GuardOptions& options) {
  if (options.folder.starts_with('/')) return options.folder;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) {
    return fail(errno_error(errno, "the current folder", Code::kInvalidInput));
  }
  return options.folder.empty() ? std::string(here) : std::string(here) + "/" + options.folder;
}

}  // namespace

class GuardState {
 public:
  static Result<std::unique_ptr<GuardState>> take(const GuardOptions& options) {
    auto state = std::make_unique<GuardState>();
    LK_CHECK(state->open(options));
    LK_ASSIGN(const bool taken, state->guard_->take());
    if (!taken) return fail(state->guard_->refused().error);
    state->thread_ = quiet_thread([watched = state.get()] { watched->look_until_the_end(); });
    if (state->thread_.joinable()) return state;
    static_cast<void>(state->release());
    return fail(Code::kFailed, "no thread could be started to watch the directory lock",
                "raise the limit on threads (ulimit -u), or end some");
  }

  bool in_child() const { return ::getpid() != pid_; }
  bool lost() const { return in_child() || lost_.load(); }
  const dirlock::Guard& guard() const { return *guard_; }
  std::stop_token lost_token() const { return stop_.get_token(); }

  Result<void> release() {
    if (in_child()) {
      return fail(Code::kLost, "the directory lock is held by the parent of this process");
    }
    if (released_) return fail(Code::kNotFound, "the directory lock was released before");
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    released_ = true;
    return guard_->give_back();
  }

 private:
  Result<void> open(const GuardOptions& options) {
    machine_ = Owner::make_machine();
    const realm::Environment& env = machine_->runtime.env;
    realm::IdentityRequest who;
    if (!options.agent.empty()) who.agent = options.agent;
    who.env = env;
    who.terminal_session = host::terminal_session;
    who.client_process = host::client_process;
    who.new_session = &machine_->random;
    LK_ASSIGN(const realm::Identity identity, realm::find_identity(who));
    LK_ASSIGN(service::ParentLease under, service::parent_lease_from(env));
    dirlock::GuardRequest request;
    LK_ASSIGN(request.folder, folder_of(options));
    request.stale_timeout_ms = options.stale_timeout.count();
    if (request.stale_timeout_ms < 0) {
      return fail(Code::kInvalidInput, "the stale timeout is below 0", "0 clears any lock");
    }
    request.stale_timeout = std::to_string(request.stale_timeout_ms / 60'000);
    request.agents = options.agents;
    LK_ASSIGN(guard_, dirlock::Guard::open(machine_->runtime, identity, std::move(under), request,
                                           [say = options.on_line](const dirlock::Line& line) {
                                             if (say)
                                               say(line.text, line.stream == dirlock::Stream::kErr);
                                           }));
    return {};
  }

  void look_until_the_end() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (guard_->lost()) {
        lost_ = true;
        lock.unlock();
        stop_.request_stop();
        return;
      }
      changed_.wait_for(lock, kLookEvery);
    }
  }

  const int pid_ = ::getpid();
  std::unique_ptr<Owner::Machine> machine_;
  std::unique_ptr<dirlock::Guard> guard_;
  std::stop_source stop_;
  std::atomic<bool> lost_ = false;
  bool released_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // protected by mutex_
  std::thread thread_;
};

}  // namespace lockkeeper::embed

namespace lockkeeper {

DirectoryGuard::DirectoryGuard(std::unique_ptr<embed::GuardState> state)
    : state_(std::move(state)) {}

DirectoryGuard::DirectoryGuard(DirectoryGuard&&) noexcept = default;

DirectoryGuard& DirectoryGuard::operator=(DirectoryGuard&& other) noexcept {
  if (this == &other) return *this;
  close();
  state_ = std::move(other.state_);
  return *this;
}

DirectoryGuard::~DirectoryGuard() {
  close();
}

void DirectoryGuard::close() noexcept {
  if (!state_) return;
  // A child releases nothing, and must not destroy the parent's threads.
  if (state_->in_child()) return embed::abandon(std::shared_ptr<void>(std::move(state_)));
  static_cast<void>(release());
  state_.reset();
}

Answer<DirectoryGuard> DirectoryGuard::take(const GuardOptions& options) {
  return embed::answer<DirectoryGuard>([&]() -> Result<DirectoryGuard> {
    LK_ASSIGN(auto state, embed::GuardState::take(options));
    return DirectoryGuard(std::move(state));
  });
}

const std::string& DirectoryGuard::path() const {
  return state_->guard().path();
}

const std::string& DirectoryGuard::folder() const {
  return state_->guard().folder();
}

bool DirectoryGuard::lost() const noexcept {
  return state_->lost();
}

std::stop_token DirectoryGuard::lost_token() const {
  return state_->lost_token();
}

Answer<void> DirectoryGuard::release() {
  return embed::answer<void>([&] { return state_->release(); });
}

}  // namespace lockkeeper
