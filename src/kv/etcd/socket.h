// The bytes of one connection, with or without TLS. Non-blocking once it is open.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "kv/etcd/address.h"
#include "kv/etcd/tls.h"

namespace lockkeeper::kv::etcd {

// A descriptor that does not block and is closed in child programs.
bool make_quiet(int fd);

class Socket {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Speaks { kHttp2, kHttp1 };
  // Connects and shakes hands. store_unavailable: names the endpoint and why.
  static Result<Socket> open(const Endpoint& endpoint, std::shared_ptr<const TlsFiles> files,
                             Deadline until, Speaks speaks = Speaks::kHttp2);

  int fd() const { return fd_.get(); }
  bool wait(Deadline until) const;  // for something to read; false: there was nothing
  bool wants_to_send() const { return !unsent_.empty(); }
  std::size_t unsent() const { return unsent_.size(); }

  // What is there, valid until the next call; empty: nothing yet.
  Result<std::string_view> read();
  Result<void> put(std::string_view bytes);    // to be sent by the next flush()
  Result<void> flush();                        // sends what it can and keeps the rest
  Result<void> write(std::string_view bytes);  // both

 private:
  Socket(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Result<void> shake(Deadline until);
  Result<std::string_view> receive();
  std::unexpected<Error> failed(int error) const;

  Fd fd_;
  std::string name_;
  std::unique_ptr<Tls> tls_;
  std::string unsent_;
  std::unique_ptr<char[]> piece_;  // what was read last
  std::string plain_;              // the same, decrypted
};

}  // namespace lockkeeper::kv::etcd
