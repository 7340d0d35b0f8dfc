#include "mcp/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>

namespace lockkeeper::proof {
namespace {

constexpr std::size_t kBlock = 64 << 10;

// The end of a pipe by a name that a child can open. Its own descriptors go with its exec.
std::string path_of(const Fd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

// Every test program says how much it has held against the protocol.
class Tally final : public testing::Environment {
  void TearDown() override {
    std::cout << Checker::messages_of_all() << " messages were held against the protocol\n";
  }
};
const testing::Environment* const kTally = testing::AddGlobalTestEnvironment(new Tally);

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0) << errno;
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Json modern_params(Json params, const Json& capabilities) {
  Json& meta = params["_meta"];
  meta["io.modelcontextprotocol/protocolVersion"] = kModern;
  meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
  meta["io.modelcontextprotocol/clientInfo"] = {{"name", "proof"}, {"version", "1"}};
  return params;
}

Client::Client(stage::Stage& stage, ClientOptions options) : options_(std::move(options)) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  stage::Words words{"mcp"};
  words.insert(words.end(), options_.words.begin(), options_.words.end());
  stage::Launch launch = stage.launch(options_.agent, words);
  if (!options_.program.empty()) launch.argv = {options_.program};
  if (!options_.session.empty()) launch.env["LOCKKEEPER_SESSION"] = options_.session;
  for (const auto& [name, value] : options_.env) launch.env[name] = value;
  launch.in = path_of(in.read);
  launch.out = path_of(out.write);
  process_ = std::make_unique<stage::Process>(std::move(launch));
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
  if (options_.opens) open();
}

Client::Client(Client&&) noexcept = default;

Client::~Client() {
  if (process_ == nullptr) return;
  finish();
}

void Client::open() {
  if (options_.revision == kModern) {
    ask("server/discover");
  } else {
    const Json agreed = ask("initialize", {{"protocolVersion", options_.revision},
                                           {"capabilities", options_.capabilities},
                                           {"clientInfo", {{"name", "proof"}, {"version", "1"}}}});
    EXPECT_EQ(agreed["protocolVersion"], options_.revision);
    notify("notifications/initialized");
  }
  ask("tools/list");
}

// --- sending -----------------------------------------------------------------------------------

Json Client::framed(const std::string& method, Json params) const {
  const bool modern = options_.revision == kModern;
  Json message{{"jsonrpc", "2.0"}, {"method", method}};
  if (modern) params = modern_params(std::move(params), options_.capabilities);
  if (!params.empty()) message["params"] = std::move(params);
  return message;
}

void Client::send(const Json& message) {
  raw(message.dump());
}

int Client::request(const std::string& method, Json params) {
  Json message = framed(method, std::move(params));
  message["id"] = ++last_id_;
  send(message);
  return last_id_;
}

void Client::notify(const std::string& method, Json params) {
  Json message{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.empty()) message["params"] = std::move(params);
  send(message);
}

void Client::cancel(int id) {
  notify("notifications/cancelled", {{"requestId", id}});
  checker_.expect_no_answer(id);
}

void Client::raw(const std::string& line) {
  checker_.sent(line);
  raw_bytes(line + "\n");
}

void Client::raw_bytes(const std::string& bytes) {
  std::string_view rest = bytes;
  while (!rest.empty() && in_) {
    const ssize_t n = ::write(in_.get(), rest.data(), rest.size());
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return;  // the server is gone: reading tells
    pollfd wanted[] = {{in_.get(), POLLOUT, 0}, {ended_ ? -1 : out_.get(), POLLIN, 0}};
    if (::poll(wanted, 2, stage::kPatienceMs) == 0) {
      ADD_FAILURE() << "the server takes nothing\n" << process_->err();
      return;
    }
    if (wanted[1].revents != 0) read_more();
  }
}

// --- hearing -----------------------------------------------------------------------------------

void Client::hear(const std::string& line) {
  for (const std::string& wrong : checker_.received(line)) ADD_FAILURE() << wrong;
  lines_.push_back(line);
  Json message = Json::parse(line, nullptr, false);
  if (!message.is_object()) return;
  if (message.contains("method")) {
    notifications_.push_back(std::move(message));
  } else if (message.contains("id")) {
    const std::string key = message["id"].dump();
    responses_[key] = std::move(message);
  }
}

bool Client::read_more() {
  if (ended_) return false;
  pollfd wanted{out_.get(), POLLIN, 0};
  const int ready = ::poll(&wanted, 1, stage::kPatienceMs);
  if (ready < 0 && errno == EINTR) return true;
  std::string block(kBlock, '\0');
  const ssize_t n = ready <= 0 ? -1 : ::read(out_.get(), block.data(), block.size());
  if (n <= 0) {
    ended_ = n == 0;
    EXPECT_TRUE(half_.empty()) << "half a message: " << half_;
    if (n < 0) ADD_FAILURE() << "the server is silent";
    return false;
  }
  half_.append(block, 0, static_cast<std::size_t>(n));
  std::size_t start = 0;
  for (std::size_t end = 0; (end = half_.find('\n', start)) != std::string::npos; start = end + 1) {
    hear(half_.substr(start, end - start));
  }
  half_.erase(0, start);
  return true;
}

bool Client::read_until(const std::function<bool()>& enough, const std::string& what) {
  while (!enough()) {
    if (read_more()) continue;
    ADD_FAILURE() << "the server did not say " << what << (ended_ ? "; it has ended" : "") << "\n"
                  << process_->err();
    return false;
  }
  return true;
}

Json Client::wait_for(const Json& id) {
  const std::string key = id.dump();
  const bool came =
      read_until([&] { return responses_.contains(key); }, "the answer to request " + key);
  return came ? responses_.extract(key).mapped() : Json();
}

bool Client::has_answer(const Json& id) {
  for (pollfd there{out_.get(), POLLIN, 0}; !ended_ && ::poll(&there, 1, 0) > 0;) read_more();
  return responses_.contains(id.dump());
}

bool Client::answered_before_end(const Json& id) {
  while (!responses_.contains(id.dump())) {
    if (!read_more()) return false;
  }
  return true;
}

Json Client::ask(const std::string& method, Json params) {
  const Json answer = wait_for(request(method, std::move(params)));
  EXPECT_TRUE(answer.contains("result")) << method << ": " << answer;
  return answer.is_object() ? answer.value("result", Json()) : Json();
}

Json Client::ask_in_vain(const std::string& method, Json params) {
  const Json answer = wait_for(request(method, std::move(params)));
  EXPECT_TRUE(answer.contains("error")) << method << ": " << answer;
  return answer.is_object() ? answer.value("error", Json()) : Json();
}

int Client::start_tool(const std::string& name, Json arguments, const Json& token) {
  Json params{{"name", name}, {"arguments", std::move(arguments)}};
  if (!token.is_null()) params["_meta"]["progressToken"] = token;
  return request("tools/call", std::move(params));
}

Json Client::call_tool(const std::string& name, Json arguments) {
  const Json answer = wait_for(start_tool(name, std::move(arguments)));
  EXPECT_TRUE(answer.contains("result")) << name << ": " << answer;
  return answer.is_object() ? answer.value("result", Json()) : Json();
}

Json Client::tool(const std::string& name, Json arguments) {
  const Json result = call_tool(name, std::move(arguments));
  EXPECT_TRUE(result.is_object() && !result.value("isError", false)) << name << ": " << result;
  EXPECT_TRUE(result.contains("structuredContent")) << name << ": " << result;
  return result.is_object() ? result.value("structuredContent", Json::object()) : Json::object();
}

void Client::watch(const std::string& uri) {
  if (options_.revision != kModern) {
    ask("resources/subscribe", {{"uri", uri}});
    return;
  }
  const int id =
      request("subscriptions/listen", {{"notifications", {{"resourceSubscriptions", {uri}}}}});
  wait_for_notification([&](const Json& each) {
    return each["method"] == "notifications/subscriptions/acknowledged" &&
           each["params"]["_meta"][kSubscriptionKey] == id;
  });
}

Json Client::wait_for_notification(const Want& wanted, std::size_t from) {
  std::size_t at = from;
  const auto found = [&] {
    while (at < notifications_.size() && !wanted(notifications_[at])) ++at;
    return at < notifications_.size();
  };
  return read_until(found, "a notification") ? notifications_[at] : Json();
}

Json Client::wait_for_notification(const std::string& method, std::size_t from) {
  return wait_for_notification([&](const Json& each) { return each["method"] == method; }, from);
}

Json Client::next() {
  while (next_ == lines_.size()) {
    if (!read_more()) return nullptr;
  }
  return Json::parse(lines_[next_++], nullptr, false);
}

void Client::settle() {
  read_until([&] { return checker_.open_requests() == 0 && checker_.open_errors() == 0; },
             "every answer that it owes");
}

void Client::expect_alive() {
  const Json tools = ask("tools/list");
  EXPECT_FALSE(tools.value("tools", Json()).empty()) << tools;
}

// --- the end -----------------------------------------------------------------------------------

void Client::close_stdin() {
  in_ = Fd();
}

void Client::close_stdout() {
  out_ = Fd();
  ended_ = true;
}

int Client::finish() {
  close_stdin();
  while (read_more()) {
  }
  return process_->wait();
}

void Client::kill(int signal) {
  process_->signal(signal);
}

}  // namespace lockkeeper::proof
