#include "kv/etcd/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <array>

#include "base/assert.h"
#include "base/quote.h"
#include "base/text.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kRecordBytes = 16U << 10;  // one record of TLS

std::string last_words() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is known" : reason;
}

std::unexpected<Error> unusable(const std::string& file, const std::string& why) {
  return fail(Code::kInvalidInput, "the TLS file " + quote(file) + " cannot be used: " + why,
              "name files in PEM form in the etcd address: ca=FILE&cert=FILE&key=FILE");
}

bool is_ip(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

}  // namespace

struct TlsFiles::Context {
  SSL_CTX* ssl = SSL_CTX_new(TLS_client_method());
  Context() { LOCKKEEPER_ASSERT(ssl != nullptr); }
  ~Context() { SSL_CTX_free(ssl); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

TlsFiles::TlsFiles() : context_(std::make_unique<Context>()) {}
TlsFiles::~TlsFiles() = default;

Result<std::shared_ptr<const TlsFiles>> TlsFiles::read(const Address& address) {
  std::shared_ptr<TlsFiles> files(new TlsFiles());
  SSL_CTX* const ssl = files->context_->ssl;
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(ssl, kHttp2.data(), kHttp2.size());
  if (address.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(ssl);
  } else if (SSL_CTX_load_verify_file(ssl, address.ca_file.c_str()) != 1) {
    return unusable(address.ca_file, last_words());
  }
  if (address.certificate_file.empty()) return files;
  if (SSL_CTX_use_certificate_chain_file(ssl, address.certificate_file.c_str()) != 1) {
    return unusable(address.certificate_file, last_words());
  }
  const std::string& key = address.key_file;
  struct stat info{};
  if (::stat(key.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return unusable(key,
                    "everybody on this machine can read the key; chmod 600 " + shell_quote(key));
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return unusable(key, last_words());
  }
  return files;
}

struct Tls::State {
  explicit State(SSL_CTX* context)
      : ssl(SSL_new(context)), in(BIO_new(BIO_s_mem())), out(BIO_new(BIO_s_mem())) {
    LOCKKEEPER_ASSERT(ssl != nullptr && in != nullptr && out != nullptr);
    SSL_set_bio(ssl, in, out);  // they belong to it now
    SSL_set_connect_state(ssl);
  }
  ~State() { SSL_free(ssl); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  SSL* ssl;
  BIO* in;
  BIO* out;
};

Tls::Tls(std::shared_ptr<const TlsFiles> files, const Endpoint& endpoint)
    : files_(std::move(files)),
      state_(std::make_unique<State>(files_->context_->ssl)),
      name_(endpoint.name()) {
  if (is_ip(endpoint.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(state_->ssl), endpoint.host.c_str());
    return;
  }
  SSL_set1_host(state_->ssl, endpoint.host.c_str());
  std::string host = endpoint.host;  // OpenSSL copies it, but wants it writable
  SSL_ctrl(state_->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
}

Tls::~Tls() = default;

std::unexpected<Error> Tls::broken(int returned) {
  if (SSL_get_error(state_->ssl, returned) == SSL_ERROR_ZERO_RETURN) {
    return fail(Code::kStoreUnavailable, "the etcd at " + name_ + " has closed the connection");
  }
  if (const long verdict = SSL_get_verify_result(state_->ssl); verdict != X509_V_OK) {
    ERR_clear_error();
    return fail(Code::kStoreUnavailable,
                "the certificate of the etcd at " + name_ +
                    " is not accepted: " + X509_verify_cert_error_string(verdict),
                "name the authority that has signed it in the etcd address: ca=FILE");
  }
  return fail(Code::kStoreUnavailable,
              "TLS with the etcd at " + name_ + " has failed: " + last_words(),
              "does it serve https there, and does it want a certificate: cert=FILE&key=FILE?");
}

void Tls::speak_http1() {
  constexpr std::array<unsigned char, 9> kHttp1 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_set_alpn_protos(state_->ssl, kHttp1.data(), kHttp1.size());
}

Result<bool> Tls::shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(state_->ssl);
  if (done == 1) return true;
  if (SSL_get_error(state_->ssl, done) == SSL_ERROR_WANT_READ) return false;
  return broken(done);
}

void Tls::arrived(std::string_view encrypted) {
  if (encrypted.empty()) return;
  BIO_write(state_->in, encrypted.data(), static_cast<int>(encrypted.size()));
}

std::string Tls::to_send() {
  std::string bytes(BIO_ctrl_pending(state_->out), '\0');
  if (!bytes.empty()) BIO_read(state_->out, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

Result<std::string> Tls::read() {
  std::string plain;
  std::string piece(kRecordBytes, '\0');
  while (true) {
    ERR_clear_error();
    const int read = SSL_read(state_->ssl, piece.data(), static_cast<int>(piece.size()));
    if (read > 0) {
      plain.append(piece, 0, static_cast<std::size_t>(read));
      continue;
    }
    if (SSL_get_error(state_->ssl, read) == SSL_ERROR_WANT_READ || !plain.empty()) return plain;
    return broken(read);
  }
}

Result<void> Tls::write(std::string_view plain) {
  ERR_clear_error();
  if (plain.empty()) return {};
  const int written = SSL_write(state_->ssl, plain.data(), static_cast<int>(plain.size()));
  if (written <= 0) return broken(written);
  return {};
}

}  // namespace lockkeeper::kv::etcd
