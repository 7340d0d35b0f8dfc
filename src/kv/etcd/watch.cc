#include "kv/etcd/watch.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "kv/types.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::chrono::milliseconds kPauseBeforeNext{500};  // before it begins again

}  // namespace

struct Watch::State {
  State(const Keys& of, Heard to) : keys(of), heard(std::move(to)) {}
  void hear(std::uint64_t from, std::string_view message);
  void ended(std::uint64_t from);

  const Keys keys;
  const Heard heard;
  std::mutex telling;  // held while `heard` is called; taken before `mutex`
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t turn = 0;  // of the stream in use
  bool open = false;
  bool stopping = false;
};

Watch::Watch(Client& client, const Keys& keys, Heard heard)
    : client_(client),
      state_(std::make_shared<State>(keys, std::move(heard))),
      thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard nobody_is_told(state_->telling);
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  thread_.join();
}

void Watch::run() {
  const std::shared_ptr<State> state = state_;
  const std::string& rows = state->keys.rows();
  const std::string first = encode_watch(rows, end_of_prefix(rows), 0);
  std::unique_lock lock(state->mutex);
  while (!state->stopping) {
    const std::uint64_t turn = ++state->turn;
    state->open = true;
    lock.unlock();
    const auto stream =
        client_.watch(first, {[state, turn](std::string_view said) { state->hear(turn, said); },
                              [state, turn](const Answer&) { state->ended(turn); }});
    lock.lock();
    if (stream) state->changed.wait(lock, [&] { return state->stopping || !state->open; });
    lock.unlock();
    if (stream) stream->link->end_stream(stream->id);
    lock.lock();
    state->changed.wait_for(lock, kPauseBeforeNext, [&] { return state->stopping; });
  }
}

void Watch::State::ended(std::uint64_t from) {
  const std::lock_guard lock(mutex);
  if (from != turn) return;
  open = false;
  changed.notify_all();
}

void Watch::State::hear(std::uint64_t from, std::string_view message) {
  const auto response = decode_watch(message);
  // etcd leaves the stream open when it has cancelled what was on it.
  if (!response || response->canceled) return ended(from);
  std::vector<std::string> changed_keys;
  for (const WatchResponse::Event& event : response->events) {
    if (event.kv.key.starts_with(keys.rows())) {
      changed_keys.emplace_back(keys.key_of(event.kv.key));
    }
  }
  if (changed_keys.empty() && !response->created) return;
  const std::lock_guard telling_now(telling);
  {
    const std::lock_guard lock(mutex);
    if (stopping || from != turn) return;
  }
  heard(changed_keys);
}

}  // namespace lockkeeper::kv::etcd
