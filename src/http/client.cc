#include "http/client.h"

#include <nss.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "http/admission.h"

namespace lockkeeper::http {
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
namespace beast = boost::beast;
using boost::system::error_code;

namespace {

constexpr std::uint64_t kAnswerBytesMax = 16U << 20;

using Plain = asio::generic::stream_protocol::socket;
using Encrypted = ssl::stream<Plain&>;

std::string fingerprint_of(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return {};
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

// The C library's own ways to look a name up. Others that the system may name are shared libraries,
// which a static program cannot load on a machine with another C library.
void look_up_with_the_builtin_ways() {
  static const bool kDone = [] { return __nss_configure_lookup("hosts", "files dns") == 0; }();
  static_cast<void>(kDone);
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  Result<Answered> ask(const std::string& method, const std::string& target, const Headers& headers,
                       const std::string& body, int ms);
  bool used = false;

 private:
  using Request = beast::http::request<beast::http::string_body>;
  using Parser = beast::http::response_parser<beast::http::string_body>;

  std::string name() const {
    return endpoint_.socket.empty() ? endpoint_.host + ":" + std::to_string(endpoint_.port)
                                    : endpoint_.socket;
  }
  std::unexpected<Error> unreachable(const std::string& why) {
    close();
    return fail(Code::kStoreUnavailable, name() + " cannot be reached: " + why,
                "is it running there, and is the address right?");
  }

  // Runs what was started until it is done; false: not in time, and it was cancelled.
  bool finish(const bool& done) {
    context_.restart();
    while (!done && context_.run_one_until(until_) > 0) {
    }
    if (done) return true;
    error_code ignored;
    if (socket_) socket_->close(ignored);
    context_.restart();
    context_.run();  // what was cancelled ends here
    return false;
  }

  bool is_closed_there();
  Result<void> connect();
  Result<void> connect_to(const std::vector<asio::generic::stream_protocol::endpoint>& all);
  Result<std::vector<asio::generic::stream_protocol::endpoint>> addresses();
  Result<void> shake_hands();
  Result<void> set_up_tls();
  Result<void> check_pin();
  template <class Stream>
  Result<Answered> exchange(Stream& stream, Request& request);

  void close() {
    error_code ignored;
    tls_.reset();
    if (socket_) socket_->close(ignored);
    socket_.reset();
    used = false;
  }

  const Endpoint endpoint_;
  std::chrono::steady_clock::time_point until_;  // for all that the current ask() does
  asio::io_context context_{1};
  std::optional<ssl::context> authorities_;
  std::optional<Plain> socket_;
  std::optional<Encrypted> tls_;
  beast::flat_buffer buffer_;
};

// A name is looked up on this thread; the system's own limits apply.
Result<std::vector<asio::generic::stream_protocol::endpoint>> Client::Impl::addresses() {
  std::vector<asio::generic::stream_protocol::endpoint> all;
  if (!endpoint_.socket.empty()) {
    constexpr std::size_t kMost = 107;
    if (endpoint_.socket.size() > kMost) return unreachable("the path is too long for a socket");
    all.emplace_back(asio::local::stream_protocol::endpoint(endpoint_.socket));
    return all;
  }
  error_code error;
  const auto address = asio::ip::make_address(endpoint_.host, error);
  if (!error) {
    all.emplace_back(asio::ip::tcp::endpoint(address, endpoint_.port));
    return all;
  }
  look_up_with_the_builtin_ways();
  asio::ip::tcp::resolver resolver(context_);
  const auto found = resolver.resolve(endpoint_.host, std::to_string(endpoint_.port), error);
  if (error) return unreachable(error.message());
  for (const auto& each : found) all.emplace_back(each.endpoint());
  return all;
}

// Then nothing is sent that could be taken or not.
bool Client::Impl::is_closed_there() {
  pollfd wanted{socket_->native_handle(), POLLRDHUP, 0};
  return ::poll(&wanted, 1, 0) > 0;
}

Result<void> Client::Impl::connect() {
  LK_ASSIGN(const auto all, addresses());
  LK_CHECK(connect_to(all));
  if (endpoint_.tls) return shake_hands();
  return {};
}

Result<void> Client::Impl::connect_to(
    const std::vector<asio::generic::stream_protocol::endpoint>& all) {
  std::string why = "it has no address";
  for (const auto& each : all) {
    socket_.emplace(context_);
    error_code error;
    socket_->open(each.protocol(), error);
    bool done = false;
    if (!error) {
      socket_->async_connect(each, [&](const error_code& failed) {
        error = failed;
        done = true;
      });
      if (!finish(done)) error = asio::error::timed_out;
    }
    if (!error) {
      if (endpoint_.socket.empty()) {
        socket_->set_option(asio::ip::tcp::no_delay(true), error);
        socket_->set_option(asio::socket_base::keep_alive(true), error);
      }
      buffer_.clear();
      return {};
    }
    why = error.message();
  }
  return unreachable(why);
}

Result<void> Client::Impl::set_up_tls() {
  if (authorities_) return {};
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                      ssl::context::no_compression);
  error_code error;
  if (!endpoint_.fingerprints.empty()) {
    context.set_verify_mode(ssl::verify_none);  // check_pin() is stricter
  } else {
    context.set_verify_mode(ssl::verify_peer);
    if (endpoint_.ca_files.empty()) context.set_default_verify_paths(error);
    std::string file;
    for (const std::string& each : endpoint_.ca_files) {
      if (error) break;
      file = each;
      context.load_verify_file(file, error);
    }
    if (error) {
      return fail(Code::kInvalidInput,
                  "the authorities' file " + quote(file) + " cannot be used: " + error.message(),
                  "name a file in PEM form: --ca-file FILE");
    }
  }
  authorities_.emplace(std::move(context));
  return {};
}

Result<void> Client::Impl::check_pin() {
  if (endpoint_.fingerprints.empty()) return {};
  X509* const certificate = SSL_get1_peer_certificate(tls_->native_handle());
  const std::string seen = certificate == nullptr ? "" : fingerprint_of(certificate);
  X509_free(certificate);
  const auto is_it = [&](const std::string& each) { return same_secret(each, seen); };
  if (std::ranges::any_of(endpoint_.fingerprints, is_it)) return {};
  close();
  return fail(Code::kOperationNotPermitted,
              name() + " has another certificate than the one that is pinned: sha256 " + seen,
              "if that is meant to be so, log in again with --fingerprint");
}

Result<void> Client::Impl::shake_hands() {
  LK_CHECK(set_up_tls());
  tls_.emplace(*socket_, *authorities_);
  if (!is_ip_address(endpoint_.host)) {
    // What SSL_set_tlsext_host_name stands for, without its cast.
    std::string host = endpoint_.host;
    SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             host.data());
  }
  if (endpoint_.fingerprints.empty()) {
    tls_->set_verify_callback(ssl::host_name_verification(endpoint_.host));
  }
  bool done = false;
  error_code error;
  tls_->async_handshake(ssl::stream_base::client, [&](const error_code& failed) {
    error = failed;
    done = true;
  });
  if (!finish(done)) return unreachable("no TLS handshake in time");
  if (!error) return check_pin();
  const long verified = SSL_get_verify_result(tls_->native_handle());
  if (verified == X509_V_OK) return unreachable("TLS: " + error.message());
  close();
  return fail(Code::kOperationNotPermitted,
              "the certificate of " + name() +
                  " is not trusted: " + X509_verify_cert_error_string(verified),
              "log in with --ca-file FILE or --fingerprint SHA256");
}

template <class Stream>
Result<Answered> Client::Impl::exchange(Stream& stream, Request& request) {
  bool done = false;
  error_code error;
  const auto note = [&](const error_code& failed, std::size_t) {
    error = failed;
    done = true;
  };
  const auto lost = [&](const char* what, const std::string& why) {
    close();
    return fail(Code::kUnknown, std::string(what) + " " + name() + ": " + why, "ask again");
  };
  beast::http::async_write(stream, request, note);
  if (!finish(done)) return lost("the request was not taken by", "no answer in time");
  if (error) return lost("the request was not taken by", error.message());
  Parser parser;
  parser.body_limit(kAnswerBytesMax);
  done = false;
  beast::http::async_read(stream, buffer_, parser, note);
  if (!finish(done)) return lost("the answer was lost from", "it did not come in time");
  if (error) return lost("the answer was lost from", error.message());
  Answered answered{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
  used = true;
  if (!parser.get().keep_alive()) close();
  return answered;
}

Result<Answered> Client::Impl::ask(const std::string& method, const std::string& target,
                                   const Headers& headers, const std::string& body, int ms) {
  until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  if (socket_ && is_closed_there()) close();
  if (!socket_) LK_CHECK(connect());
  Request request;
  request.version(11);
  request.method_string(method);
  request.target(target);
  const bool v6 = endpoint_.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + endpoint_.host + "]" : endpoint_.host;
  request.set(beast::http::field::host, endpoint_.socket.empty() ? host : "localhost");
  for (const auto& [name, value] : headers) request.set(name, value);
  request.body() = body;
  request.prepare_payload();
  return tls_ ? exchange(*tls_, request) : exchange(*socket_, request);
}

Client::Client(Endpoint endpoint) : impl_(std::make_unique<Impl>(std::move(endpoint))) {}
Client::~Client() = default;

Result<Answered> Client::ask(const std::string& method, const std::string& target,
                             const Headers& headers, const std::string& body, int ms) {
  return impl_->ask(method, target, headers, body, ms);
}

bool Client::is_used() const {
  return impl_->used;
}

}  // namespace lockkeeper::http
