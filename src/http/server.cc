#include "http/server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "http/connection.h"
#include "http/loop.h"
#include "http/tls.h"

namespace lockkeeper::http {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// The usual limit is 1,024 descriptors per process; each client takes one.
void allow_descriptors(std::size_t connections) {
  constexpr std::size_t kOthers = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, connections + kOthers);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A socket that a killed server has left behind: nobody answers there.
void remove_stale(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  asio::io_context context;
  asio::local::stream_protocol::socket probe(context);
  error_code error;
  probe.connect(asio::local::stream_protocol::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

class Server::Impl {
 public:
  Impl(Options options, Handler handler)
      : loop_(std::make_shared<Loop>(std::move(options), std::move(handler))),
        acceptor_(loop_->context),
        second_(loop_->context),
        ended_(loop_->context) {}
  ~Impl() {
    if (!made_.empty()) ::unlink(made_.c_str());
  }

  Result<void> open();
  void run(int ended);
  void close();
  const Address& address() const { return loop_->options.door.address; }
  std::size_t connections() const { return loop_->connections; }

 private:
  using Protocol = asio::generic::stream_protocol;
  void listen_at(const Address& address, error_code& error);
  void take_over(int inherited, Address& address, error_code& error);
  asio::awaitable<void> accept();
  asio::awaitable<void> tick();
  void admit(Socket socket);
  void turn_away(Socket socket);
  void end();

  const std::shared_ptr<Loop> loop_;
  asio::basic_socket_acceptor<Protocol> acceptor_;
  std::unique_ptr<Tls> tls_;
  std::string made_;  // the Unix socket
  asio::steady_timer second_;
  asio::posix::stream_descriptor ended_;
};

void Server::Impl::listen_at(const Address& address, error_code& error) {
  const bool local = !address.socket.empty();
  Protocol::endpoint wanted;
  if (local) {
    remove_stale(address.socket);
    wanted = asio::local::stream_protocol::endpoint(address.socket);
  } else {
    wanted = tcp::endpoint(asio::ip::make_address(address.host, error), address.port);
  }
  if (!error) acceptor_.open(wanted.protocol(), error);
  if (!error && !local) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  const mode_t before = ::umask(0177);  // the socket is for this user alone, from its beginning
  if (!error) acceptor_.bind(wanted, error);
  ::umask(before);
  if (!error && local) made_ = address.socket;
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
}

// The service manager has opened it.
void Server::Impl::take_over(int inherited, Address& address, error_code& error) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(inherited, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    error = {errno, boost::system::system_category()};
    return;
  }
  acceptor_.assign(Protocol(bound.ss_family, 0), inherited, error);
  if (error) return;
  address = {};
  if (bound.ss_family == AF_UNIX) {
    const auto* const path = reinterpret_cast<sockaddr_un*>(&bound)->sun_path;
    address.socket = size > sizeof(sa_family_t) ? path : "inherited";
    return;
  }
  tcp::endpoint at;
  at.resize(size);
  std::memcpy(at.data(), &bound, size);
  address.host = at.address().to_string();
  address.port = at.port();
  address.v6 = at.address().is_v6();
}

Result<void> Server::Impl::open() {
  Options& options = loop_->options;
  Address& address = options.door.address;
  error_code error;
  if (options.inherited >= 0) {
    take_over(options.inherited, address, error);
  } else {
    listen_at(address, error);
  }
  if (error) {
    return fail(Code::kFailed, "cannot listen on " + address.text() + ": " + error.message(),
                address.socket.empty() ? "name another port, or 0 for any free one"
                                       : "name another path in a folder of your own");
  }
  LK_CHECK(check_reach(address, !options.door.is_open(),
                       options.tls.has_value() || !options.tls_beyond_loopback));
  if (options.tls) {
    LK_ASSIGN(tls_, Tls::open(*options.tls));
  }
  if (address.port == 0 && address.socket.empty()) {
    tcp::endpoint at;
    const auto bound = acceptor_.local_endpoint();
    at.resize(bound.size());
    std::memcpy(at.data(), bound.data(), bound.size());
    address.port = at.port();
  }
  return {};
}

asio::awaitable<void> Server::Impl::accept() {
  asio::steady_timer pause(loop_->context);
  while (!loop_->closing) {
    error_code error;
    Socket socket(loop_->context);
    co_await acceptor_.async_accept(socket, into(error));
    if (loop_->closing) co_return;
    if (error) {
      // Most likely no descriptors are left: wait until others close.
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(into(error));
    } else if (loop_->connections >= loop_->options.limits.connections) {
      turn_away(std::move(socket));
    } else {
      admit(std::move(socket));
    }
  }
}

void Server::Impl::admit(Socket socket) {
  if (tls_) {
    auto plain = tls_->serve(loop_->context, std::move(socket));
    if (!plain) return;
    socket = std::move(*plain);
  }
  std::make_shared<Connection>(loop_, std::move(socket))->start();
}

void Server::Impl::turn_away(Socket socket) {
  const std::string body = "too many clients are connected; try again\n";
  const std::string bytes =
      head_of(503, {{"Retry-After", "1"}, {"Content-Type", "text/plain"}},
              {.keep_alive = false, .chunked = false, .length = body.size()}, std::time(nullptr)) +
      body;
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(bytes), ignored);
  socket.shutdown(Socket::shutdown_send, ignored);
}

asio::awaitable<void> Server::Impl::tick() {
  error_code error;
  while (!loop_->closing) {
    second_.expires_after(std::chrono::seconds(1));
    co_await second_.async_wait(into(error));
    if (loop_->closing) co_return;
    loop_->options.every_second();
  }
}

void Server::Impl::end() {
  if (loop_->closing) return;
  if (loop_->options.at_end) loop_->options.at_end();
  // After the output above.
  loop_->post([this] {
    if (loop_->closing) return;
    loop_->closing = true;
    error_code ignored;
    acceptor_.close(ignored);
    second_.cancel();
    ended_.cancel(ignored);
    const std::vector<Connection*> open(loop_->open.begin(), loop_->open.end());
    for (Connection* const each : open) each->close_now();
    if (tls_) tls_->end();
  });
}

void Server::Impl::run(int ended) {
  allow_descriptors(loop_->options.limits.connections);
  if (ended >= 0) {
    ended_.assign(::dup(ended));
    ended_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
      if (!error) end();
    });
  }
  asio::co_spawn(loop_->context, accept(), asio::detached);
  if (loop_->options.every_second) asio::co_spawn(loop_->context, tick(), asio::detached);
  loop_->context.run();
  loop_->end();
  // Runs what was posted last; nothing comes after it.
  loop_->context.restart();
  loop_->context.run();
}

void Server::Impl::close() {
  loop_->post([this] { end(); });
}

Result<void> check_reach(const Address& address, bool asks, bool encrypts) {
  if (address.is_loopback()) return {};
  if (!asks) {
    return fail(Code::kUsage,
                address.text() + " can be reached from other machines, so it needs a token",
                "omit --no-auth, or listen on 127.0.0.1");
  }
  if (!encrypts) {
    return fail(Code::kUsage,
                address.text() + " can be reached from other machines, so it needs TLS",
                "add --tls-cert FILE --tls-key FILE, or listen on 127.0.0.1");
  }
  return {};
}

Result<std::unique_ptr<Server>> Server::open(Options options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  LK_CHECK(impl->open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

const Address& Server::address() const {
  return impl_->address();
}

void Server::run(int ended) {
  impl_->run(ended);
}

void Server::close() {
  impl_->close();
}

std::size_t Server::connections() const {
  return impl_->connections();
}

}  // namespace lockkeeper::http
