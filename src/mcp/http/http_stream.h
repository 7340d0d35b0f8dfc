// Where the messages of one HTTP exchange go. The answer to a POST is plain JSON if it is a single
// response, and a stream of events if other messages come first. A GET always gets a stream.
//
// A stream of a legacy session numbers its events and keeps the last of them: a client that lost
// its connection asks again with the last number it has seen.
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

// Plain text, where there is no request to respond to.
void answer_text(http::Reply& reply, int status, const std::string& text,
                 http::Headers headers = {});
void answer_json(http::Reply& reply, int status, const Json& message, http::Headers headers = {});

class HttpStream;

// The streams of one legacy session to which a client may reconnect.
class StreamShelf {
 public:
  std::uint64_t next_number();
  void put(std::uint64_t number, std::shared_ptr<HttpStream> stream);
  std::shared_ptr<HttpStream> find(std::uint64_t number);  // nullptr if there is none
  // Removes and returns the streams that had no listener for that long.
  std::vector<std::shared_ptr<HttpStream>> take_unattended(std::chrono::milliseconds longer_than);
  std::vector<std::shared_ptr<HttpStream>> all();

 private:
  std::mutex mutex_;  // protects all below; not held while calling a stream
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::shared_ptr<HttpStream>> streams_;
};

class HttpStream final : public Outlet, public std::enable_shared_from_this<HttpStream> {
 public:
  struct Kind {
    std::vector<Json> ids;  // of the requests that it answers
    bool listens = false;   // a GET: it never ends by itself
    // The number of the stream in its session; nullopt: it cannot be resumed.
    std::optional<std::uint64_t> number;
    std::shared_ptr<StreamShelf> shelf;  // where the stream registers with its first event
    bool primes = false;                 // 2025-11-25: an empty event comes first
    bool modern = false;                 // some errors have their own HTTP status
  };
  HttpStream(Kind kind, std::shared_ptr<http::Reply> reply);

  void send(const Json& message) override;
  void end() override;
  void close_early() override;

  // The session has ended: no more messages.
  void finish();
  // The client of that reply is gone; messages are kept if it can reconnect. False: it cannot,
  // because it has seen no event number, so nobody will ever get the answer.
  bool lost(const http::Reply* reply);
  // The client is back: sends the events after `seen` (nullopt: none) and all later ones. Replaces
  // a client that is still connected.
  void resume(std::shared_ptr<http::Reply> reply, std::optional<std::uint64_t> seen);

  const std::vector<Json>& ids() const { return kind_.ids; }
  bool is_over() const;  // everything was sent
  // How long nobody has listened; zero if somebody does.
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
  bool streams_ = false;   // the answer has begun as events
  bool answered_ = false;  // as JSON
  bool over_ = false;
  std::uint64_t events_ = 0;  // sent, including the priming one
  struct Kept {
    std::uint64_t number = 0;
    std::string text;
  };
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::chrono::steady_clock::time_point left_;  // since when there is no reply
};

}  // namespace lockkeeper::mcp
