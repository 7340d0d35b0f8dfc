// Redis, on a Unix socket or over TCP, the usual lock: SET NX PX, then DEL. The client is the
// cheapest there can be: one write and one read for each command.
#include <signal.h>
#include <unistd.h>

#include <functional>

#include "base/assert.h"
#include "bench/child.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

constexpr int kPipelined = 500;

std::string command(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

std::string take(const std::string& path) {
  return command({"SET", path, "agent", "NX", "PX", "36000000"});
}

class RedisClient final : public Client {
 public:
  explicit RedisClient(Fd fd) : fd_(std::move(fd)) {}

  void pair(const std::string& path) override {
    call(take(path), "+OK\r\n");
    call(command({"DEL", path}), ":1\r\n");
  }

  void hold(int count) const {
    for (int next = 0; next < count;) {
      std::string text;
      std::size_t replies = 0;
      for (; replies < kPipelined && next < count; ++replies) text += take(held_path(next++));
      LOCKKEEPER_ASSERT(::write(fd_.get(), text.data(), text.size()) ==
                        static_cast<ssize_t>(text.size()));
      const std::size_t wanted = replies * std::string_view("+OK\r\n").size();
      for (std::size_t got = 0; got < wanted;) {
        char reply[4096];
        const ssize_t n = ::read(fd_.get(), reply, sizeof reply);
        LOCKKEEPER_ASSERT(n > 0);
        got += static_cast<std::size_t>(n);
      }
    }
  }

 private:
  void call(const std::string& text, std::string_view expected) const {
    LOCKKEEPER_ASSERT(::write(fd_.get(), text.data(), text.size()) ==
                      static_cast<ssize_t>(text.size()));
    char reply[128];
    const ssize_t n = ::read(fd_.get(), reply, sizeof reply);
    LOCKKEEPER_ASSERT(n > 0 && std::string_view(reply, static_cast<std::size_t>(n)) == expected);
  }

  Fd fd_;
};

class Redis final : public Peer {
 public:
  using Connect = std::function<Fd()>;
  Redis(const char* name, std::unique_ptr<Server> server, Connect connect)
      : Peer(name, "none: memory",
             "subtrees, globs, queue, history, fences, owner check on release, all or nothing"),
        server_(std::move(server)),
        connect_(std::move(connect)) {}
  std::unique_ptr<Client> connect() override {
    Fd fd = connect_();
    LOCKKEEPER_ASSERT(fd);
    return std::make_unique<RedisClient>(std::move(fd));
  }

 private:
  std::unique_ptr<Server> server_;
  const Connect connect_;
};

Made make(const Setup& setup, const char* name, const std::string& folder, const Words& where,
          const Redis::Connect& connect) {
  const std::string program = find_program("redis-server");
  if (program.empty()) return std::unexpected("Redis: redis-server is not installed");
  Words argv = {program, "--save", "", "--appendonly", "no", "--dir", folder};
  argv.insert(argv.end(), where.begin(), where.end());
  auto server =
      std::make_unique<Server>(Server::Launch{argv, folder + "/log", std::nullopt, {}, SIGTERM});
  Fd fd;
  if (!server->wait_until([&] { return static_cast<bool>(fd = connect()); })) {
    return std::unexpected("Redis: redis-server did not start");
  }
  RedisClient(std::move(fd)).hold(setup.held);
  return std::make_unique<Redis>(name, std::move(server), connect);
}

}  // namespace

Made make_redis(const Setup& setup) {
  const std::string folder = setup.fresh("redis");
  const std::string socket = folder + "/socket";
  return make(setup, kRedisName, folder, {"--port", "0", "--unixsocket", socket},
              [socket] { return connect_unix(socket); });
}

Made make_redis_over_tcp(const Setup& setup) {
  const int port = free_port();
  return make(setup, kRedisTcpName, setup.fresh("redis-tcp"),
              {"--port", std::to_string(port), "--bind", "127.0.0.1"},
              [port] { return connect_loopback(port); });
}

}  // namespace lockkeeper::bench
