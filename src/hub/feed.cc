#include "hub/feed.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::hub {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);  // for what other processes did
constexpr auto kLeast = std::chrono::milliseconds(2);        // between two looks
constexpr std::size_t kPage = 200;
constexpr const char* kStillHere = ": still here\n\n";

bool is_filtered(const service::EventsCall& call) {
  return !call.agent.empty() || call.overlapping || call.since_wall_ms != 0;
}

}  // namespace

std::string sse_text(const core::Event& event) {
  return "id: " + std::to_string(event.seq) + "\nevent: " + event.what +
         "\ndata: " + service::dump(service::event_json(event)) + "\n\n";
}

Feed::Feed(const HubRealms& realms, Metrics& metrics) : realms_(realms), metrics_(metrics) {
  // The metrics count from now on. A realm that is created later has no history yet.
  for (HubRealm* const realm : realms.all()) {
    sources_[realm].newest = service::newest_event(realm->site).value_or(0);
  }
  thread_ = std::thread([this] { loop(); });
}

Feed::~Feed() {
  close();
  {
    const std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Feed::open(HubRealm& realm, service::EventsCall wanted,
                const std::shared_ptr<http::Reply>& reply) {
  reply->begin(200,
               {{"Content-Type", "text/event-stream"},
                {"Cache-Control", "no-store"},
                {"X-Accel-Buffering", "no"}},
               kStillHere);
  const auto stream = std::make_shared<Stream>(std::move(wanted), reply);
  reply->on_gone([this, weak = std::weak_ptr(stream)] {
    const auto left = weak.lock();
    if (!left) return;
    const std::lock_guard hold(mutex_);
    left->gone = true;
  });
  const std::lock_guard hold(mutex_);
  sources_[&realm].streams.push_back(stream);
  ++streams_;
  poked_ = true;
  changed_.notify_all();
}

// Without a stream only the metrics look, and they have time.
void Feed::poke() {
  const std::lock_guard hold(mutex_);
  if (poked_ || streams_ == 0) return;
  poked_ = true;
  changed_.notify_all();
}

void Feed::close() {
  const std::lock_guard hold(mutex_);
  for (auto& [realm, source] : sources_) {
    for (const auto& stream : source.streams) stream->reply->end();
    source.streams.clear();
  }
  streams_ = 0;
}

std::size_t Feed::streams() const {
  const std::lock_guard hold(mutex_);
  return streams_;
}

Result<std::vector<core::Event>> Feed::read(HubRealm& realm,
                                            const service::EventsCall& call) const {
  LK_ASSIGN(service::Service* const service, realm.site.service());
  LK_ASSIGN(auto reply, service->events(call));
  return std::move(reply.value);
}

// What a stream has not seen, up to `newest`; at most a page. True: there is more.
bool Feed::catch_up(HubRealm& realm, Stream& stream, std::uint64_t newest) {
  service::EventsCall call = stream.wanted;
  call.most = kPage;
  const auto events = read(realm, call);
  if (!events) return true;  // later
  std::string text;
  for (const core::Event& event : *events) {
    if (event.seq > newest) break;
    text += sse_text(event);
    stream.wanted.since_seq = event.seq;
  }
  stream.reply->chunk(std::move(text));
  const bool more = events->size() == kPage && events->back().seq < newest;
  // The filters hide how far the history was read.
  if (!more) stream.wanted.since_seq = std::max(stream.wanted.since_seq, newest);
  return more;
}

// True: there is more to do for this realm.
bool Feed::advance(HubRealm& realm) {
  std::list<std::shared_ptr<Stream>> streams;
  std::uint64_t before = 0;
  {
    const std::lock_guard hold(mutex_);
    Source& source = sources_[&realm];
    streams_ -= std::erase_if(source.streams, [](const auto& stream) { return stream->gone; });
    streams = source.streams;
    before = source.newest;
  }
  service::EventsCall call;
  call.since_seq = before;
  call.most = kPage;
  const auto events = read(realm, call);
  if (!events) return false;
  const std::uint64_t newest = events->empty() ? before : events->back().seq;
  std::string text;
  for (const core::Event& event : *events) {
    metrics_.happened(event);
    if (!streams.empty()) text += sse_text(event);
  }
  bool more = events->size() == kPage;
  for (const auto& stream : streams) {
    const std::uint64_t seen = stream->wanted.since_seq;
    if (seen >= newest) continue;
    if (seen == before && !is_filtered(stream->wanted)) {
      stream->reply->chunk(text);
      stream->wanted.since_seq = newest;
    } else {
      more |= catch_up(realm, *stream, newest);
    }
  }
  const std::lock_guard hold(mutex_);
  sources_[&realm].newest = newest;
  return more;
}

void Feed::loop() {
  std::unique_lock hold(mutex_);
  bool more = false;
  while (!ending_) {
    if (!more) changed_.wait_for(hold, kLookEvery, [this] { return poked_ || ending_; });
    if (ending_) return;
    poked_ = more = false;
    hold.unlock();
    for (HubRealm* const realm : realms_.all()) more |= advance(*realm);
    std::this_thread::sleep_for(kLeast);
    hold.lock();
  }
}

}  // namespace lockkeeper::hub
