// Where the messages of one HTTP exchange go. The answer to a POST is plain JSON while one response
// is all there is, and becomes a stream of events as soon as anything comes before it. A GET's is a
// stream from the start.
//
// A stream of a legacy session numbers its events and keeps the last of them: a client whose
// connection broke, or was closed on purpose, asks again with the last number it has seen.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/server.h"
#include "mcp/call.h"
#include "mcp/http/sse.h"

namespace lockkeeper::mcp {

// No response to anything: plain words.
void answer_text(http::Reply& reply, int status, const std::string& text,
                 http::Headers headers = {});
void answer_json(http::Reply& reply, int status, const Json& message, http::Headers headers = {});

class HttpStream;

// The streams of one legacy session that a client may come back to.
class StreamShelf {
 public:
  std::uint64_t next_number();
  void put(std::uint64_t number, std::shared_ptr<HttpStream> stream);
  std::shared_ptr<HttpStream> find(std::uint64_t number);  // nullptr: not there
  // What nobody has heard for so long is taken out and given.
  std::vector<std::shared_ptr<HttpStream>> take_unattended(std::chrono::milliseconds longer_than);
  std::vector<std::shared_ptr<HttpStream>> all();

 private:
  std::mutex mutex_;  // protects all below; no stream is asked anything under it
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::shared_ptr<HttpStream>> streams_;
};

class HttpStream final : public Outlet, public std::enable_shared_from_this<HttpStream> {
 public:
  struct Kind {
    std::vector<Json> ids;  // of the requests that it answers, a batch's gathered into one message
    bool listens = false;   // a GET: it has no end of its own
    // The number of the stream in its session; none: it cannot be resumed.
    std::optional<std::uint64_t> number;
    std::shared_ptr<StreamShelf> shelf;  // that it puts itself on with its first event
    bool primes = false;                 // 2025-11-25: an empty event comes first
    bool modern = false;                 // the HTTP status tells of some errors
  };
  HttpStream(Kind kind, std::shared_ptr<http::Reply> reply);

  void send(const Json& message) override;
  void end() override;
  void close_early() override;

  // Its session has ended: nothing more comes.
  void finish();
  // The client of that reply is gone; what is said is kept for it if it can come back. False: it
  // cannot, because it has no number of an event, so nobody will ever hear the answer.
  bool lost(const http::Reply* reply);
  // The client is back: what came after event `seen`, then what is to come; none: from now on. A
  // client that is still there gives way.
  void resume(std::shared_ptr<http::Reply> reply, std::optional<std::uint64_t> seen);

  const std::vector<Json>& ids() const { return kind_.ids; }
  bool is_over() const;  // all was said
  // How long nobody has heard it; zero: somebody does.
  std::chrono::milliseconds unattended() const;

 private:
  void begin(bool primes);
  void leave();
  void close();
  void event(const std::string& message);
  void keep(std::uint64_t number, std::string text);

  const Kind kind_;
  mutable std::mutex mutex_;  // protects all below
  std::shared_ptr<http::Reply> reply_;
  bool streams_ = false;   // the answer has begun, as events
  bool answered_ = false;  // as JSON
  bool over_ = false;
  std::uint64_t events_ = 0;  // sent, the priming one included
  struct Kept {
    std::uint64_t number = 0;
    std::string text;
  };
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::chrono::steady_clock::time_point left_;  // if there is no reply: since when
};

}  // namespace lockkeeper::mcp
