#include "mcp/http/http_stream.h"

namespace lockkeeper::mcp {
namespace {

constexpr int kRetryMs = 500;  // a client reconnects to a closed stream after this time
constexpr std::size_t kKeptMax = 256;
constexpr std::size_t kKeptBytesMax = 1U << 20;

// Only errors that the specification names have their own status.
int status_of(const Json& message, bool modern) {
  const auto error = message.find("error");
  if (!modern || error == message.end()) return 200;
  switch (error->value("code", 0)) {
    case code::kMethodNotFound:
      return 404;
    case code::kHeaderMismatch:
    case code::kMissingCapability:
    case code::kUnsupportedVersion:
      return 400;
    default:
      return 200;
  }
}

bool is_response(const Json& message) {
  return !message.contains("method");
}

}  // namespace

void answer_text(http::Reply& reply, int status, const std::string& text, http::Headers headers) {
  headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.whole(status, headers, text + "\n");
}

void answer_json(http::Reply& reply, int status, const Json& message, http::Headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Cache-Control", "no-store");
  reply.whole(status, headers, line_of(message));
}

std::uint64_t StreamShelf::next_number() {
  const std::lock_guard lock(mutex_);
  return ++made_;
}

void StreamShelf::put(std::uint64_t number, std::shared_ptr<HttpStream> stream) {
  const std::lock_guard lock(mutex_);
  streams_[number] = std::move(stream);
}

std::shared_ptr<HttpStream> StreamShelf::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(number);
  return found == streams_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<HttpStream>> StreamShelf::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<HttpStream>> streams;
  for (const auto& [number, stream] : streams_) streams.push_back(stream);
  return streams;
}

std::vector<std::shared_ptr<HttpStream>> StreamShelf::take_unattended(
    std::chrono::milliseconds longer_than) {
  std::vector<std::shared_ptr<HttpStream>> left = all();
  std::erase_if(left, [&](const auto& each) { return each->unattended() <= longer_than; });
  const std::lock_guard lock(mutex_);
  for (const auto& each : left) {
    std::erase_if(streams_, [&](const auto& entry) { return entry.second == each; });
  }
  return left;
}

HttpStream::HttpStream(Kind kind, std::shared_ptr<http::Reply> reply)
    : kind_(std::move(kind)), reply_(std::move(reply)) {}

void HttpStream::begin(bool primes) {
  if (streams_) return;
  streams_ = true;
  if (kind_.shelf) kind_.shelf->put(*kind_.number, shared_from_this());
  if (reply_) {
    reply_->begin(200,
                  {{"Content-Type", "text/event-stream"},
                   {"Cache-Control", "no-cache, no-transform"},
                   {"X-Accel-Buffering", "no"}},
                  kSseComment);
  }
  if (!primes || !kind_.number) return;
  const std::uint64_t number = events_++;
  if (reply_) reply_->chunk(sse_priming({*kind_.number, number}, kRetryMs));
}

void HttpStream::event(const std::string& message) {
  begin(kind_.primes);
  const std::uint64_t number = events_++;
  const auto id = kind_.number ? std::optional(EventId{*kind_.number, number}) : std::nullopt;
  std::string text = sse_event(message, id);
  if (reply_) reply_->chunk(text);
  if (id) keep(number, std::move(text));
}

void HttpStream::keep(std::uint64_t number, std::string text) {
  kept_bytes_ += text.size();
  kept_.push_back({number, std::move(text)});
  while (kept_.size() > kKeptMax || (kept_bytes_ > kKeptBytesMax && kept_.size() > 1)) {
    kept_bytes_ -= kept_.front().text.size();
    kept_.pop_front();
  }
}

void HttpStream::send(const Json& message) {
  const std::lock_guard lock(mutex_);
  if (over_ || answered_) return;
  if (!reply_ && !kind_.number) return;
  const bool alone = !streams_ && !kind_.listens && is_response(message);
  if (alone && reply_) {
    answered_ = true;
    return answer_json(*reply_, status_of(message, kind_.modern), message);
  }
  event(line_of(message));
}

void HttpStream::end() {
  const std::lock_guard lock(mutex_);
  if (over_ || kind_.listens) return;
  // A cancelled request is not answered: its stream ends without events.
  close();
}

void HttpStream::close_early() {
  const std::lock_guard lock(mutex_);
  if (over_ || answered_ || !reply_ || !kind_.number || !kind_.primes) return;
  begin(true);
  reply_->end();
  leave();
}

void HttpStream::finish() {
  const std::lock_guard lock(mutex_);
  close();
}

void HttpStream::close() {
  over_ = true;
  if (!reply_) return;
  if (!answered_) {
    begin(false);
    reply_->end();
  }
  leave();
}

void HttpStream::leave() {
  reply_.reset();
  left_ = std::chrono::steady_clock::now();
}

bool HttpStream::lost(const http::Reply* reply) {
  const std::lock_guard lock(mutex_);
  if (reply_.get() != reply) return true;  // the client has reconnected meanwhile
  leave();
  return over_ || (kind_.number && events_ > 0);
}

void HttpStream::resume(std::shared_ptr<http::Reply> reply, std::optional<std::uint64_t> seen) {
  const std::lock_guard lock(mutex_);
  if (reply_) reply_->end();
  reply_ = std::move(reply);
  streams_ = false;
  begin(kind_.primes && !seen);
  if (seen) {
    for (const Kept& each : kept_) {
      if (each.number > *seen) reply_->chunk(each.text);
    }
  }
  if (!over_) return;
  reply_->end();
  leave();
}

bool HttpStream::is_over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

std::chrono::milliseconds HttpStream::unattended() const {
  const std::lock_guard lock(mutex_);
  if (reply_) return std::chrono::milliseconds(0);
  // Rounded up, because zero means that somebody listens.
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - left_ +
                                                      std::chrono::nanoseconds(1));
}

}  // namespace lockkeeper::mcp
