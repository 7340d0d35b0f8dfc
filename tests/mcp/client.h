// A real MCP client for tests: the shipped program with `mcp` on two pipes, spoken to in any
// revision. Everything that the server says goes through the checker; a violation fails the test.
//
//   Client alice(stage, {.agent = "alice"});                          // modern
//   Client bob(stage, {.revision = "2025-06-18", .agent = "bob"});    // legacy
//   const Json held = alice.call_tool("lock_acquire", {{"resources", {"a.py"}}});
//   const int waiting = bob.start_tool("lock_acquire", {{"resources", {"a.py"}}, {"wait_s", 45}});
//   …
//   const Json granted = bob.wait_for(waiting)["result"];
//
// Nothing depends on timing: what must come is waited for, up to a limit that only catches hangs.
//
// Thread safety: none. Different clients may be used by different threads.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mcp/checker.h"
#include "support/stage.h"

namespace lockkeeper::proof {

struct ClientOptions {
  std::string revision = kModern;  // any other: the legacy era
  std::string agent = {};          // LOCKKEEPER_AGENT of the server; empty: not set
  std::string session = {};        // LOCKKEEPER_SESSION of the server; empty: not set
  stage::Words words = {};         // further arguments of `mcp`
  std::string program = {};        // another server than `lockkeeper mcp`
  Json capabilities = Json::object();
  // The handshake, and the list of tools, so that the checker knows what they promise. Else nothing
  // is sent until the test does.
  bool opens = true;
  std::map<std::string, std::string> env = {};  // further variables
};

class Client {
 public:
  using Want = std::function<bool(const Json& message)>;

  Client(stage::Stage& stage, ClientOptions options);
  // Closes stdin and reads to the end.
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends a request in the client's era; its id.
  int request(const std::string& method, Json params = Json::object());
  void notify(const std::string& method, Json params = Json::object());
  // The whole response, once. Fails the test if the server ends, or stays silent too long.
  Json wait_for(const Json& id);
  // Has it come? What is there is read, nothing is waited for.
  bool has_answer(const Json& id);
  // Waits for it, or for the end of the server, which is no failure.
  bool answered_before_end(const Json& id);
  // Sends it and waits; its result. Fails the test if that is an error.
  Json ask(const std::string& method, Json params = Json::object());
  // Sends it and waits; its error. Fails the test if that is a result.
  Json ask_in_vain(const std::string& method, Json params = Json::object());

  // `token` null: no progress is wanted.
  int start_tool(const std::string& name, Json arguments, const Json& token = nullptr);
  Json call_tool(const std::string& name, Json arguments);  // the result
  // The structure in it; fails the test if the result is an error or has none.
  Json tool(const std::string& name, Json arguments);

  // Says that the request is no longer wanted. It must be at work for certain: an answer after
  // this fails the test.
  void cancel(int id);

  // Subscribes to a resource as the era has it; it is subscribed to when this is over.
  void watch(const std::string& uri);
  // Everything but responses that was received so far, in order.
  const std::vector<Json>& notifications() const { return notifications_; }
  // The first of them, from `from` on, that is wanted; waits for it.
  Json wait_for_notification(const Want& wanted, std::size_t from = 0);
  Json wait_for_notification(const std::string& method, std::size_t from = 0);

  // Any bytes, a line break is added / as they are. Reads meanwhile, if it must.
  void raw(const std::string& line);
  void raw_bytes(const std::string& bytes);
  // The next message of the server, whatever it is; null at the end.
  Json next();
  // Every message of the server so far, as it was sent.
  const std::vector<std::string>& lines() const { return lines_; }
  // Reads until every request is answered.
  void settle();
  // Is the server alive and does it answer? In the client's own era.
  void expect_alive();

  void close_stdin();
  // Hears nothing more; the server's next message meets a broken pipe.
  void close_stdout();
  // Reads to the end; the exit status.
  int finish();
  void kill(int signal);
  stage::Process& process() { return *process_; }
  Checker& checker() { return checker_; }

 private:
  void open();
  void hear(const std::string& line);
  // Reads what is there, waiting for it; false: nothing more will come.
  bool read_more();
  bool read_until(const std::function<bool()>& enough, const std::string& what);
  Json framed(const std::string& method, Json params) const;
  void send(const Json& message);

  ClientOptions options_;
  Fd in_;   // the server's stdin
  Fd out_;  // its stdout
  std::unique_ptr<stage::Process> process_;
  Checker checker_;
  int last_id_ = 0;
  std::string half_;  // of a line
  bool ended_ = false;
  std::vector<std::string> lines_;
  std::map<std::string, Json> responses_;  // by the text of their id
  std::vector<Json> notifications_;
  std::size_t next_ = 0;  // of lines_
};

// Parameters of a modern request: with the `_meta` that each of them has.
Json modern_params(Json params, const Json& capabilities = Json::object());

}  // namespace lockkeeper::proof
