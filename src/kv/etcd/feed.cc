#include "kv/etcd/feed.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "kv/etcd/revisions.h"

namespace lockkeeper::kv::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kLoadPage = 1024;
constexpr milliseconds kFirstPause{50};  // before it begins again, and twice that each time
constexpr milliseconds kLongestPause{1000};
constexpr seconds kPauseIfTooLarge{600};

constexpr auto kForever = steady_clock::time_point::max();

constexpr seconds kAskIfSilentFor{1};
constexpr seconds kLeaveIfSilentFor{5};

// How long somebody waits for the watch. It mostly is there before the answer to a commit.
constexpr milliseconds kWaitForWatch{100};
constexpr milliseconds kWaitUnasked{2};
constexpr milliseconds kAskEvery{20};

}  // namespace

struct Feed::State {
  State(Keys of, std::size_t most, Heard to)
      : keys(std::move(of)), most_bytes(most), heard(std::move(to)) {}
  void hear(std::uint64_t from, std::string_view message);
  void tell(std::uint64_t from, const WatchResponse& response);
  void ended(std::uint64_t from, Revisions::Next why);
  void end(Revisions::Next why);  // REQUIRES: mutex

  const Keys keys;
  const std::size_t most_bytes;
  const Heard heard;
  std::mutex telling;        // held while `heard` is called; taken before `mutex`
  mutable std::mutex mutex;  // protects what is below
  std::condition_variable changed;
  std::shared_ptr<Copy> copy;
  std::uint64_t turn = 0;  // of the stream in use
  bool open = false;
  bool stopping = false;
  bool reload = false;
  Revisions::Next why = Revisions::Next::kGoOn;  // it is not open any more
  std::optional<Revisions> revisions;            // of the stream in use; none: there is no copy
  Client::Stream stream;
  steady_clock::time_point last_heard;
};

Feed::Feed(Client& client, Keys keys, RemoteReader::Ask ask, std::size_t most_bytes, Heard heard)
    : client_(client),
      ask_(std::move(ask)),
      state_(std::make_shared<State>(std::move(keys), most_bytes, std::move(heard))) {}

Feed::~Feed() {
  close();
}

void Feed::start() {
  thread_ = std::thread([this] { run(); });
}

void Feed::close() {
  {
    const std::lock_guard nobody_is_told(state_->telling);
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->end(Revisions::Next::kAgain);
  }
  if (thread_.joinable()) thread_.join();
}

// --- what the threads of transactions call -------------------------------------------------------

bool Feed::has_copy(Version epoch) const {
  const std::lock_guard lock(state_->mutex);
  return state_->copy != nullptr && state_->copy->epoch() == epoch && state_->copy->in_step();
}

std::unique_ptr<Copy::View> Feed::view(Version epoch, Version at_least) {
  std::shared_ptr<Copy> copy;
  {
    const std::lock_guard lock(state_->mutex);
    copy = state_->copy;
  }
  if (copy == nullptr || copy->epoch() != epoch) return nullptr;
  auto view = copy->view(at_least);
  // Where others have waited in vain already, nobody waits.
  if (view != nullptr || !copy->in_step() || copy->is_late()) return view;
  const auto now = steady_clock::now();
  bool there = copy->reach(at_least, now + kWaitUnasked);
  while (!there && copy->in_step() && steady_clock::now() < now + kWaitForWatch) {
    ask_progress();
    there = copy->reach(at_least, steady_clock::now() + kAskEvery);
  }
  if (!there) copy->note_late(at_least);
  return copy->view(at_least);
}

void Feed::commit(Version epoch, Version version, std::vector<Copy::Change> changes) {
  std::shared_ptr<Copy> copy;
  {
    const std::lock_guard lock(state_->mutex);
    copy = state_->copy;
  }
  if (copy != nullptr && copy->epoch() == epoch) copy->commit(version, std::move(changes));
}

void Feed::ask_progress() {
  Client::Stream stream;
  {
    const std::lock_guard lock(state_->mutex);
    stream = state_->stream;
  }
  if (stream.link != nullptr) stream.link->say(stream.id, encode_watch_progress());
}

void Feed::reload() {
  const std::lock_guard lock(state_->mutex);
  state_->reload = true;
  state_->end(Revisions::Next::kReload);
}

bool Feed::wait(steady_clock::time_point until) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_until(
      lock, until, [this] { return state_->copy != nullptr && state_->copy->in_step(); });
}

// --- what the watch tells ------------------------------------------------------------------------

void Feed::State::end(Revisions::Next reason) {
  if (copy != nullptr) copy->set_in_step(false);
  if (open) why = reason;
  open = false;
  changed.notify_all();
}

void Feed::State::ended(std::uint64_t from, Revisions::Next reason) {
  const std::lock_guard lock(mutex);
  if (from == turn) end(reason);
}

void Feed::State::hear(std::uint64_t from, std::string_view message) {
  const auto response = decode_watch(message);
  {
    const std::lock_guard lock(mutex);
    if (from != turn || !open) return;
    last_heard = steady_clock::now();
    auto next = Revisions::Next::kGoOn;
    if (!response) next = Revisions::Next::kReload;
    // etcd leaves the stream open when it has cancelled what was on it.
    if (response && response->canceled) next = Revisions::Next::kAgain;
    if (response && revisions) next = revisions->hear(*response);
    if (next != Revisions::Next::kGoOn) end(next);
    if (response && response->created) changed.notify_all();
  }
  if (response && heard) tell(from, *response);
}

void Feed::State::tell(std::uint64_t from, const WatchResponse& response) {
  std::vector<std::string> rows;
  for (const WatchResponse::Event& event : response.events) {
    if (event.kv.key.starts_with(keys.rows())) rows.emplace_back(keys.key_of(event.kv.key));
  }
  if (rows.empty() && !response.created) return;
  const std::lock_guard telling_now(telling);
  {
    const std::lock_guard lock(mutex);
    if (stopping || from != turn) return;
  }
  heard(rows);
}

// --- its own thread ------------------------------------------------------------------------------

void Feed::run() {
  State& state = *state_;
  milliseconds pause = kFirstPause;
  while (true) {
    const auto began = steady_clock::now();
    const Revisions::Next why = turn();
    std::unique_lock lock(state.mutex);
    if (why == Revisions::Next::kReload || why == Revisions::Next::kTooLarge) state.copy.reset();
    if (steady_clock::now() - began > kLongestPause) pause = kFirstPause;
    const bool too_large = why == Revisions::Next::kTooLarge && !state.heard;
    const milliseconds now = too_large ? kPauseIfTooLarge : pause;
    state.changed.wait_for(lock, now, [&] { return state.stopping; });
    if (state.stopping) return;
    pause = std::min(2 * pause, kLongestPause);
  }
}

Revisions::Next Feed::turn() {
  std::shared_ptr<Copy> copy;
  {
    const std::lock_guard lock(state_->mutex);
    state_->reload = false;
    copy = state_->copy;
  }
  if (state_->most_bytes == 0) return follow(nullptr, kForever);
  if (copy != nullptr) {
    const auto fits = still_fits(*copy);
    if (!fits) return Revisions::Next::kAgain;
    if (!*fits) return Revisions::Next::kReload;
  } else {
    auto loaded = load();
    if (!loaded) return Revisions::Next::kAgain;
    if (*loaded == nullptr && !state_->heard) return Revisions::Next::kTooLarge;
    copy = std::move(*loaded);
  }
  const auto until = copy != nullptr ? kForever : steady_clock::now() + kPauseIfTooLarge;
  return follow(copy, until);
}

Result<Held<RangeResponse>> Feed::ask_for_epoch() {
  RangeRequest request;
  request.key = state_->keys.epoch();
  LK_ASSIGN(auto answer, ask_(request));
  if (!answer.message.kvs.empty()) return answer;
  return fail(Code::kStoreUnavailable, "there is no epoch in etcd");
}

// A quorum is asked, so the member that answers has what the copy has, unless the cluster was
// restored.
Result<bool> Feed::still_fits(const Copy& copy) {
  const Version version = copy.version();  // before others commit
  LK_ASSIGN(const auto answer, ask_for_epoch());
  return answer.message.header.revision >= version &&
         answer.message.kvs.front().mod_revision == copy.epoch();
}

// Null: there is too much.
Result<std::shared_ptr<Copy>> Feed::load() {
  LK_ASSIGN(const auto first, ask_for_epoch());
  const Version version = first.message.header.revision;
  auto copy = std::make_shared<Copy>(first.message.kvs.front().mod_revision, version);
  const Keys& keys = state_->keys;
  RangeRequest request;
  request.key = keys.rows();
  request.range_end = end_of_prefix(keys.rows());
  request.revision = version;
  request.serializable = true;
  request.limit = kLoadPage;
  while (true) {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->stopping) return fail(Code::kStoreUnavailable, "the store is being closed");
    }
    const auto page = ask_(request);
    if (!page && page.error().code == Code::kLimitExceeded && request.limit > 1) {
      request.limit /= 4;  // large rows
      continue;
    }
    if (!page) return fail(page.error());
    for (const KeyValue& kv : page->message.kvs) {
      if (!kv.key.starts_with(keys.rows())) continue;
      copy->load({keys.key_of(kv.key), kv.value, kv.create_revision, kv.mod_revision});
    }
    if (copy->bytes() > state_->most_bytes) return nullptr;
    if (!page->message.more || page->message.kvs.empty()) return copy;
    request.key = std::string(page->message.kvs.back().key).append(1, '\0');
  }
}

// Until the watch ends, or it is that late; why. Without a copy it only listens.
Revisions::Next Feed::follow(const std::shared_ptr<Copy>& copy, steady_clock::time_point until) {
  const std::shared_ptr<State> state = state_;
  const Range watched = state->keys.watched();
  std::unique_lock lock(state->mutex);
  if (state->reload || state->stopping) return Revisions::Next::kReload;
  const std::uint64_t turn = ++state->turn;
  state->copy = copy;
  state->revisions.reset();
  if (copy != nullptr) state->revisions.emplace(state->keys, copy, state->most_bytes);
  state->open = true;
  state->last_heard = steady_clock::now();
  lock.unlock();
  auto stream = client_.watch(
      encode_watch(watched.from, watched.to, copy != nullptr ? copy->version() + 1 : 0),
      {[state, turn](std::string_view said) { state->hear(turn, said); },
       [state, turn](const Answer&) { state->ended(turn, Revisions::Next::kAgain); }});
  lock.lock();
  if (stream) {
    state->stream = *stream;
  } else {
    state->end(Revisions::Next::kAgain);
  }
  while (state->open) {
    state->changed.wait_for(lock, kAskIfSilentFor, [&] { return !state->open; });
    const auto now = steady_clock::now();
    if (now >= until) state->end(Revisions::Next::kAgain);
    const auto silent = now - state->last_heard;
    if (copy == nullptr || silent < kAskIfSilentFor) continue;
    if (silent >= kLeaveIfSilentFor) state->end(Revisions::Next::kAgain);
    if (!state->open) continue;
    lock.unlock();
    ask_progress();
    lock.lock();
  }
  state->stream = {};
  const Revisions::Next why = state->why;
  lock.unlock();
  if (stream) stream->link->end_stream(stream->id);
  return why;
}

}  // namespace lockkeeper::kv::etcd
