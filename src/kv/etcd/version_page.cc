#include "kv/etcd/version_page.h"

#include <charconv>
#include <functional>

#include "kv/etcd/socket.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kPageBytesMax = 1U << 20;
constexpr std::size_t kVersionBytesMax = 32;
constexpr double kQuotaMax = 1e15;

// As far as it was needed. HTTP/1.0 is answered in one piece.
Result<std::string> read_page(const Endpoint& endpoint, std::shared_ptr<const TlsFiles> files,
                              const std::string& path, Socket::Deadline until,
                              const std::function<bool(const std::string& answer)>& enough) {
  LK_ASSIGN(Socket socket, Socket::open(endpoint, std::move(files), until, Socket::Speaks::kHttp1));
  LK_CHECK(socket.write("GET " + path + " HTTP/1.0\r\nHost: " + endpoint.name() +
                        "\r\nUser-Agent: lockkeeper\r\n\r\n"));
  std::string answer;
  while (answer.size() < kPageBytesMax && !enough(answer)) {
    if (!socket.wait(until)) break;
    auto more = socket.read();
    if (!more) break;  // the end
    answer += *more;
  }
  return answer;
}

bool is_page(const std::string& answer) {
  return answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200");
}

}  // namespace

std::string version_in_page(const std::string& answer) {
  const std::string name = "\"etcdserver\":\"";
  const std::size_t at = answer.find(name);
  if (at == std::string::npos || !is_page(answer)) return {};
  const std::size_t from = at + name.size();
  const std::size_t to = answer.find('"', from);
  return to == std::string::npos || to - from > kVersionBytesMax ? ""
                                                                 : answer.substr(from, to - from);
}

Result<std::string> read_version_page(const Endpoint& endpoint,
                                      std::shared_ptr<const TlsFiles> files,
                                      std::chrono::steady_clock::time_point until) {
  LK_ASSIGN(const std::string answer,
            read_page(endpoint, std::move(files), "/version", until,
                      [](const std::string& so_far) { return !version_in_page(so_far).empty(); }));
  std::string version = version_in_page(answer);
  if (!version.empty()) return version;
  return fail(Code::kStoreUnavailable,
              "the etcd at " + endpoint.name() + " does not say which version it has",
              "give the user the role root, or, if you know the version, add allow-old=yes");
}

std::uint64_t quota_in_page(const std::string& answer) {
  const std::string name = "\netcd_server_quota_backend_bytes ";
  const std::size_t at = answer.find(name);
  if (at == std::string::npos || !is_page(answer)) return 0;
  const char* const from = answer.data() + at + name.size();
  const char* const end = answer.data() + answer.size();
  double bytes = 0;  // "2.147483648e+09"
  const auto read = std::from_chars(from, end, bytes);
  const bool whole = read.ec == std::errc() && read.ptr != end && *read.ptr == '\n';
  return whole && bytes >= 1 && bytes < kQuotaMax ? static_cast<std::uint64_t>(bytes) : 0;
}

std::uint64_t read_quota(const Endpoint& endpoint, std::shared_ptr<const TlsFiles> files,
                         std::chrono::steady_clock::time_point until) {
  const auto answer =
      read_page(endpoint, std::move(files), "/metrics", until,
                [](const std::string& so_far) { return quota_in_page(so_far) != 0; });
  return answer ? quota_in_page(*answer) : 0;
}

}  // namespace lockkeeper::kv::etcd
