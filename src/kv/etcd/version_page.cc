#include "kv/etcd/version_page.h"

#include "kv/etcd/socket.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kPageBytesMax = 16U << 10;
constexpr std::size_t kVersionBytesMax = 32;

}  // namespace

std::string version_in_page(const std::string& answer) {
  const std::string name = "\"etcdserver\":\"";
  const std::size_t at = answer.find(name);
  if (at == std::string::npos || !answer.starts_with("HTTP/1.1 200")) return {};
  const std::size_t from = at + name.size();
  const std::size_t to = answer.find('"', from);
  return to == std::string::npos || to - from > kVersionBytesMax ? ""
                                                                 : answer.substr(from, to - from);
}

Result<std::string> read_version_page(const Endpoint& endpoint,
                                      std::shared_ptr<const TlsFiles> files,
                                      std::chrono::steady_clock::time_point until) {
  LK_ASSIGN(Socket socket, Socket::open(endpoint, std::move(files), until, Socket::Speaks::kHttp1));
  LK_CHECK(socket.write("GET /version HTTP/1.1\r\nHost: " + endpoint.name() +
                        "\r\nUser-Agent: lockkeeper\r\nConnection: close\r\n\r\n"));
  std::string answer;
  while (answer.size() < kPageBytesMax && version_in_page(answer).empty()) {
    if (!socket.wait(until)) break;
    auto more = socket.read();
    if (!more) break;  // the end
    answer += *more;
  }
  std::string version = version_in_page(answer);
  if (!version.empty()) return version;
  return fail(Code::kStoreUnavailable,
              "the etcd at " + endpoint.name() + " does not say which version it has",
              "give the user the role root, or, if you know the version, add allow-old=yes");
}

}  // namespace lockkeeper::kv::etcd
