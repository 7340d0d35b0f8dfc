#include "bench/peers/mcp.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/assert.h"

namespace lockkeeper::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
    R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})";
constexpr const char* kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

std::string request_for(int id, const McpCall& call) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":")" + call.tool + R"(","arguments":)" +
         call.arguments + "}}";
}

// The id that it answers; -1 if it answers nothing. An error is the end: the figures would be of
// something else.
int answered_by(std::string_view text) {
  const auto message = nlohmann::json::parse(text, nullptr, false);
  LOCKKEEPER_ASSERT(!message.is_discarded());
  if (!message.contains("id") || message.contains("method")) return -1;
  const bool fine = message.contains("result") && !message["result"].value("isError", false);
  if (!fine) std::fprintf(stderr, "lockkeeper_bench: %s\n", std::string(text).c_str());
  LOCKKEEPER_ASSERT(fine);
  return message["id"].get<int>();
}

class StdioClient final : public McpClient {
 public:
  StdioClient(const Words& argv, int lanes) : server_(argv), lanes_(lanes) {
    server_.write_all(std::string(kInitialize) + "\n");
    next_id();
    server_.write_all(std::string(kInitialized) + "\n");
  }
  void start(int lane, const McpCall& call) override {
    server_.write_all(request_for(++turns_ * lanes_ + lane, call) + "\n");
  }
  int next() override { return next_id() % lanes_; }

 private:
  int next_id() {
    while (true) {
      const std::size_t end = heard_.find('\n', read_);
      if (end != std::string::npos) {
        const int id = answered_by(std::string_view(heard_).substr(read_, end - read_));
        read_ = end + 1;
        if (id >= 0) return id;
        continue;
      }
      heard_.erase(0, read_);
      read_ = 0;
      const std::string more = server_.hear();
      LOCKKEEPER_ASSERT(!more.empty());
      heard_ += more;
    }
  }

  Piped server_;
  const int lanes_;
  int turns_ = 0;
  std::string heard_;
  std::size_t read_ = 0;
};

// --- HTTP --------------------------------------------------------------------------------------

struct Reply {
  std::string head;
  std::string body;
};

// Without regard to case.
std::string header_of(const std::string& head, const std::string& name) {
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    if (::strncasecmp(head.c_str() + at, name.c_str(), name.size()) == 0 &&
        head[at + name.size()] == ':') {
      const std::size_t value = head.find_first_not_of(' ', at + name.size() + 1);
      return head.substr(value, end - value);
    }
    at = end + 2;
  }
  return "";
}

// Takes one whole answer off the front; false: more is to come.
bool take_reply(std::string& heard, Reply& reply) {
  const std::size_t end = heard.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  reply.head = heard.substr(0, end);
  reply.body.clear();
  std::size_t at = end + 4;
  const std::string length = header_of(reply.head, "content-length");
  if (!length.empty() || header_of(reply.head, "transfer-encoding").empty()) {
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    if (heard.size() < at + size) return false;
    reply.body = heard.substr(at, size);
    heard.erase(0, at + size);
    return true;
  }
  while (true) {
    const std::size_t line = heard.find("\r\n", at);
    if (line == std::string::npos) return false;
    std::size_t size = 0;
    std::from_chars(heard.data() + at, heard.data() + line, size, 16);
    if (heard.size() < line + 2 + size + 2) return false;
    reply.body += heard.substr(line + 2, size);
    at = line + 2 + size + 2;
    if (size == 0) break;
  }
  heard.erase(0, at);
  return true;
}

class HttpClient final : public McpClient {
 public:
  HttpClient(int port, std::string token, int lanes) : port_(port), token_(std::move(token)) {
    for (int i = 0; i < lanes; ++i) lanes_.push_back({connect_loopback(port), ""});
    session_ = header_of(exchange(kInitialize).head, "mcp-session-id");
    exchange(kInitialized);
  }
  void start(int lane, const McpCall& call) override { post(lane, request_for(++turns_, call)); }
  int next() override {
    Reply reply;
    const int lane = hear(reply);
    // As JSON, or as one event of a stream.
    std::size_t at = reply.body.starts_with('{') ? 0 : reply.body.find("\ndata: {");
    LOCKKEEPER_ASSERT(at != std::string::npos);
    if (at > 0) at += 7;
    const std::size_t end = reply.body.find('\n', at);
    LOCKKEEPER_ASSERT(answered_by(std::string_view(reply.body).substr(at, end - at)) >= 0);
    return lane;
  }

 private:
  struct Lane {
    Fd socket;
    std::string heard;
  };

  void post(int lane, const std::string& body) {
    std::string text = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
                       "\r\nContent-Type: application/json\r\n"
                       "Accept: application/json, text/event-stream\r\n"
                       "MCP-Protocol-Version: 2025-11-25\r\n";
    if (!token_.empty()) text += "Authorization: Bearer " + token_ + "\r\n";
    if (!session_.empty()) text += "Mcp-Session-Id: " + session_ + "\r\n";
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    const Fd& socket = lanes_[static_cast<std::size_t>(lane)].socket;
    const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    LOCKKEEPER_ASSERT(n == static_cast<ssize_t>(text.size()));
  }
  Reply exchange(const std::string& body) {
    post(0, body);
    Reply reply;
    hear(reply);
    return reply;
  }
  // The lane that has a whole answer.
  int hear(Reply& reply) {
    std::vector<pollfd> waiting;
    for (const Lane& lane : lanes_) waiting.push_back({lane.socket.get(), POLLIN, 0});
    while (true) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (take_reply(lanes_[i].heard, reply)) return static_cast<int>(i);
      }
      LOCKKEEPER_ASSERT(::poll(waiting.data(), waiting.size(), -1) > 0);
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (waiting[i].revents == 0) continue;
        char buffer[1 << 16];
        const ssize_t n = ::recv(waiting[i].fd, buffer, sizeof buffer, 0);
        LOCKKEEPER_ASSERT(n > 0);
        lanes_[i].heard.append(buffer, static_cast<std::size_t>(n));
      }
    }
  }

  const int port_;
  const std::string token_;
  std::string session_;
  std::vector<Lane> lanes_;
  int turns_ = 0;
};

}  // namespace

std::unique_ptr<McpClient> connect_stdio(const Words& argv, int lanes) {
  return std::make_unique<StdioClient>(argv, lanes);
}

std::unique_ptr<McpClient> connect_http(int port, const std::string& token, int lanes) {
  return std::make_unique<HttpClient>(port, token, lanes);
}

void load(McpClient& client, int lanes, int calls, const CallOf& call_of, Load& found) {
  std::vector<Clock::time_point> sent(static_cast<std::size_t>(lanes));
  std::vector<int> turns(static_cast<std::size_t>(lanes), 0);
  const auto begun = Clock::now();
  int started = 0;
  const auto start = [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    const McpCall call = call_of(lane, turns[i]++);
    sent[i] = Clock::now();
    client.start(lane, call);
    ++started;
  };
  for (int lane = 0; lane < lanes; ++lane) start(lane);
  for (int answered = 0; answered < calls; ++answered) {
    const int lane = client.next();
    found.samples.add(micros_since(sent[static_cast<std::size_t>(lane)]));
    if (started < calls) start(lane);
  }
  found.seconds += micros_since(begun) / 1e6;
}

std::expected<Words, std::string> official_server() {
  const std::string node = find_program("node");
  if (node.empty()) return std::unexpected("the official MCP server: node is not installed");
  const char* const modules = std::getenv("LOCKKEEPER_BENCH_NODE_MODULES");
  const std::string file = std::string(modules == nullptr ? "" : modules) +
                           "/@modelcontextprotocol/server-everything/dist/index.js";
  if (modules == nullptr || !std::filesystem::exists(file)) {
    return std::unexpected("the official MCP server: not installed; ./dev bench does it");
  }
  return Words{node, file};
}

}  // namespace lockkeeper::bench
