// One HTTP/2 connection to one etcd, with gRPC on it. Calls, and streams that stay open, share it.
// A thread of its own moves the bytes.
//
// Thread safety: any thread may call. What a stream hears, it hears on the link's thread, which
// must not wait for another call of the same link.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/tls.h"

namespace lockkeeper::kv::etcd {

using Deadline = std::chrono::steady_clock::time_point;

inline constexpr std::size_t kMessageBytesMax = 64U << 20;  // of one answer

// gRPC's numbers of what went wrong, as far as we tell them apart.
enum class Grpc : int {
  kOk = 0,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

struct Answer {
  enum class End {
    kAnswered,  // `status` and `words` are the server's
    kNotSent,   // the server has not seen it and never will
    kLost,      // the connection broke: the server may have it
    kLate       // no answer by the deadline: the server may have it
  };
  End end = End::kNotSent;
  Grpc status = Grpc::kUnknown;
  std::string words;
  std::string body;  // the message, if the status is kOk
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

class Pump;

class Link {
 public:
  // Connects, by `until`. `files` is null without TLS. store_unavailable: names the endpoint.
  static Result<std::shared_ptr<Link>> open(const Endpoint& endpoint,
                                            std::shared_ptr<const TlsFiles> files, Deadline until);
  ~Link();  // ends all calls. REQUIRES: not on the link's thread
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // One message there, at most one back. The server is told the deadline too.
  Answer call(const std::string& path, const Metadata& metadata, std::string_view message,
              Deadline until);

  // A stream: `message` now, more by say(). `hear` gets each message, and `ended` is called once,
  // when the stream or the link has ended (also if it never began).
  struct Ears {
    std::function<void(std::string_view message)> hear;
    std::function<void(const Answer& answer)> ended;
  };
  std::uint64_t open_stream(const std::string& path, const Metadata& metadata,
                            std::string_view message, Ears ears);
  void say(std::uint64_t stream, std::string_view message);
  void end_stream(std::uint64_t stream);

  // Does it take new calls? It stops when the server says so or the connection breaks.
  bool alive() const;
  // Takes no new calls and ends its streams; calls on their way go on.
  void retire();
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Link(Endpoint endpoint, std::unique_ptr<Pump> pump);
  const Endpoint endpoint_;
  const std::unique_ptr<Pump> pump_;
};

}  // namespace lockkeeper::kv::etcd
