#include "http/tls.h"

#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/text.h"
#include "http/loop.h"

namespace lockkeeper::http {
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

struct Tls::Context {
  ssl::context ssl{ssl::context::tls_server};
};

namespace {

constexpr auto kHandshakeTime = std::chrono::seconds(10);
constexpr auto kGoodbyeTime = std::chrono::seconds(2);
constexpr std::size_t kPieceBytes = 16U << 10;  // one record of TLS

std::unexpected<Error> unusable(const std::string& file, const std::string& why) {
  return fail(Code::kInvalidInput, "the TLS file " + quote(file) + " cannot be used: " + why,
              "name files in PEM form: --tls-cert FILE --tls-key FILE");
}

}  // namespace

// One client: between its socket and the connection's end of the pair.
class Tls::Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(Socket client, ssl::context& context, Socket plain)
      : client_(std::move(client), context),
        plain_(std::move(plain)),
        timer_(client_.get_executor()) {}

  void start() {
    asio::co_spawn(
        client_.get_executor(), [self = shared_from_this()] { return self->serve(); },
        asio::detached);
  }
  void end() { shaken_ ? within(kGoodbyeTime) : close(); }

 private:
  asio::awaitable<void> serve() {
    error_code error;
    within(kHandshakeTime);
    co_await client_.async_handshake(ssl::stream_base::server, into(error));
    timer_.cancel();
    if (error) co_return close();
    shaken_ = true;
    asio::co_spawn(
        client_.get_executor(), [self = shared_from_this()] { return self->answer(); },
        asio::detached);
    co_await copy(client_, plain_);
    close();
  }

  // The connection's words, until it closes its end.
  asio::awaitable<void> answer() {
    co_await copy(plain_, client_);
    error_code ignored;
    within(kGoodbyeTime);
    co_await client_.async_shutdown(into(ignored));
    close();
  }

  template <class From, class To>
  asio::awaitable<void> copy(From& from, To& to) {
    std::string piece(kPieceBytes, '\0');
    error_code error;
    while (!error) {
      const std::size_t n = co_await from.async_read_some(asio::buffer(piece), into(error));
      if (n > 0 && !error) co_await asio::async_write(to, asio::buffer(piece, n), into(error));
    }
  }

  void within(std::chrono::seconds time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (!error && self) self->close();
    });
  }

  void close() {
    timer_.cancel();
    error_code ignored;
    client_.next_layer().close(ignored);
    plain_.close(ignored);
  }

  ssl::stream<Socket> client_;
  Socket plain_;
  asio::steady_timer timer_;
  bool shaken_ = false;  // the handshake is done
};

Result<std::unique_ptr<Tls>> Tls::open(const TlsFiles& files) {
  struct stat info{};
  if (::stat(files.key.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return unusable(files.key, "everybody on this machine can read the key; chmod 600 " +
                                   shell_quote(files.key));
  }
  auto context = std::make_unique<Context>();
  error_code error;
  context->ssl.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                           ssl::context::no_compression);
  context->ssl.use_certificate_chain_file(files.certificate, error);
  if (error) return unusable(files.certificate, error.message());
  context->ssl.use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return unusable(files.key, error.message());
  return std::unique_ptr<Tls>(new Tls(std::move(context)));
}

Tls::Tls(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Tls::~Tls() = default;

std::optional<Socket> Tls::serve(asio::io_context& context, Socket client) {
  using Local = asio::local::stream_protocol;
  Local::socket ours(context), theirs(context);
  error_code error;
  asio::local::connect_pair(ours, theirs, error);
  if (error) return std::nullopt;
  const auto pump =
      std::make_shared<Pump>(std::move(client), context_->ssl, Socket(std::move(ours)));
  pump->start();
  std::erase_if(pumps_, [](const auto& each) { return each.expired(); });
  pumps_.push_back(pump);
  return Socket(std::move(theirs));
}

void Tls::end() {
  for (const auto& each : pumps_) {
    if (const auto pump = each.lock()) pump->end();
  }
}

}  // namespace lockkeeper::http
