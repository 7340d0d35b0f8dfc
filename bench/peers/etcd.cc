// etcd, one member: a transaction that puts the key if it does not exist, then a delete. The client
// speaks JSON over one kept HTTP/1.1 connection to etcd's own gateway, which costs more than gRPC
// would; what it costs is measured by a read that touches no disk, and published beside it.
#include "bench/peers/etcd.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/assert.h"
#include "bench/child.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

constexpr int kPutsPerCall = 1'000;

std::string base64(const std::string& text) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

std::string put_of(const std::string& path) {
  return R"({"requestPut":{"key":")" + base64(path) + R"(","value":"YWdlbnQ="}})";
}

class EtcdClient final : public EtcdLike {
 public:
  explicit EtcdClient(Fd fd) : fd_(std::move(fd)) {}

  void pair(const std::string& path) override {
    const std::string key = base64(path);
    const std::string granted =
        call("/v3/kv/txn", R"({"compare":[{"key":")" + key +
                               R"(","target":"CREATE","result":"EQUAL","createRevision":"0"}],)" +
                               R"("success":[)" + put_of(path) + "]}");
    LOCKKEEPER_ASSERT(granted.find(R"("succeeded":true)") != std::string::npos);
    const std::string released = call("/v3/kv/deleterange", R"({"key":")" + key + R"("})");
    LOCKKEEPER_ASSERT(released.find(R"("deleted":"1")") != std::string::npos);
  }

  void read_twice(const std::string& path) override {
    const std::string body = R"({"key":")" + base64(path) + R"(","serializable":true})";
    call("/v3/kv/range", body);
    call("/v3/kv/range", body);
  }

  bool answers() {
    try_again_ = true;
    return call("/v3/kv/range", R"({"key":"YQ=="})").find("revision") != std::string::npos;
  }

  void hold(int count) {
    for (int next = 0; next < count;) {
      std::string body = R"({"success":[)";
      for (int i = 0; i < kPutsPerCall && next < count; ++i) {
        body += (i == 0 ? "" : ",") + put_of(held_path(next++));
      }
      const std::string done = call("/v3/kv/txn", body + "]}");
      LOCKKEEPER_ASSERT(done.find(R"("succeeded":true)") != std::string::npos);
    }
  }

 private:
  // Body of the reply. The gateway tells its length.
  std::string call(const std::string& path, const std::string& body) {
    const std::string text = "POST " + path +
                             " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             "Content-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body;
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(fd_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0 && try_again_) return "";
      LOCKKEEPER_ASSERT(n > 0);
      sent += static_cast<std::size_t>(n);
    }
    std::string reply;
    for (;;) {
      const std::size_t head = reply.find("\r\n\r\n");
      if (head != std::string::npos && complete(reply, head + 4)) return reply.substr(head + 4);
      char buffer[65536];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0 && try_again_) return "";
      LOCKKEEPER_ASSERT(n > 0);
      reply.append(buffer, static_cast<std::size_t>(n));
    }
  }
  static bool complete(const std::string& reply, std::size_t body) {
    static constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = reply.find(kLength);
    if (at == std::string::npos || at > body) {
      // In chunks: the last one is empty.
      return reply.ends_with("0\r\n\r\n") && reply.size() > body;
    }
    return reply.size() - body >= std::stoul(reply.substr(at + kLength.size(), 20));
  }

  Fd fd_;
  bool try_again_ = false;
};

class Etcd final : public Peer {
 public:
  Etcd(std::unique_ptr<Server> server, int port)
      : Peer(kEtcdName, "full", "subtrees, globs, modes, queue, dead holders (its leases aside)"),
        server_(std::move(server)),
        port_(port) {}
  std::unique_ptr<Client> connect() override {
    Fd fd = connect_loopback(port_);
    LOCKKEEPER_ASSERT(fd);
    return std::make_unique<EtcdClient>(std::move(fd));
  }

 private:
  std::unique_ptr<Server> server_;
  const int port_;
};

std::string architecture() {
  utsname names{};
  ::uname(&names);
  const std::string machine = names.machine;
  if (machine == "aarch64") return "arm64";
  return machine == "x86_64" ? "amd64" : machine;
}

}  // namespace

Made make_etcd(const Setup& setup) {
  const std::string program = find_program("etcd");
  if (program.empty()) return std::unexpected("etcd: etcd-server is not installed");
  const std::string folder = setup.fresh("etcd");
  const int port = free_port();
  const std::string client = "http://127.0.0.1:" + std::to_string(port);
  const std::string peer = "http://127.0.0.1:" + std::to_string(free_port());
  auto server = std::make_unique<Server>(
      Server::Launch{{program, "--data-dir", folder + "/data", "--listen-client-urls", client,
                      "--advertise-client-urls", client, "--listen-peer-urls", peer,
                      "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
                      "--max-txn-ops", std::to_string(kPutsPerCall), "--log-level", "error"},
                     folder + "/log",
                     std::nullopt,
                     {{"ETCD_UNSUPPORTED_ARCH", architecture()}},
                     SIGTERM});
  const auto ready = [&] {
    Fd fd = connect_loopback(port);
    return fd && EtcdClient(std::move(fd)).answers();
  };
  if (!server->wait_until(ready)) return std::unexpected("etcd: the server did not start");
  EtcdClient(connect_loopback(port)).hold(setup.held);
  return std::make_unique<Etcd>(std::move(server), port);
}

}  // namespace lockkeeper::bench
