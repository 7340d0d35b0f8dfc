// TLS of one connection, without a socket of its own: encrypted bytes go in and out, and so do
// plain ones. The server must be the one that its certificate names, by an authority that is
// trusted.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/etcd/address.h"

namespace lockkeeper::kv::etcd {

// The files of an address, read once.
class TlsFiles {
 public:
  // invalid_input: a file cannot be used, or others can read the key.
  static Result<std::shared_ptr<const TlsFiles>> read(const Address& address);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

 private:
  friend class Tls;
  struct Context;
  TlsFiles();
  const std::unique_ptr<Context> context_;
};

class Tls {
 public:
  Tls(std::shared_ptr<const TlsFiles> files, const Endpoint& endpoint);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  void speak_http1();  // before the handshake
  // Goes on with the handshake. True: it is done. store_unavailable: names the endpoint and why.
  Result<bool> shake();

  void arrived(std::string_view encrypted);  // from the socket
  std::string to_send();                     // for the socket; empty: nothing

  // Errors: the connection is broken, or the other side has ended it.
  Result<std::string> read();  // what is there; empty: nothing yet
  Result<void> write(std::string_view plain);

 private:
  std::unexpected<Error> broken(int returned);
  struct State;
  const std::shared_ptr<const TlsFiles> files_;
  const std::unique_ptr<State> state_;
  const std::string name_;
};

}  // namespace lockkeeper::kv::etcd
