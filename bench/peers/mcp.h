// A client of MCP servers, as small as can be and the same for ours and for the official one: over
// a pipe, or over HTTP. Several calls may be on their way, one to a lane.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/child.h"
#include "bench/measure.h"
#include "bench/peers/peer.h"

namespace lockkeeper::bench {

struct McpCall {
  std::string tool;
  std::string arguments;  // JSON
};

class McpClient {
 public:
  virtual ~McpClient() = default;
  // Sends it and goes on.
  virtual void start(int lane, const McpCall& call) = 0;
  // Waits for an answer; the lane that has it. Ends the benchmark if it is an error.
  virtual int next() = 0;

  void call(const McpCall& call) {
    start(0, call);
    next();
  }
};

// Starts the server and shakes hands with it.
std::unique_ptr<McpClient> connect_stdio(const Words& argv, int lanes);
// A connection for each lane, all of one session.
std::unique_ptr<McpClient> connect_http(int port, const std::string& token, int lanes);

// What a lane asks as its `turn`th.
using CallOf = std::function<McpCall(int lane, int turn)>;

// Keeps every lane busy until `calls` were answered: how long each took, and all together.
struct Load {
  Samples samples;
  double seconds = 0;
};
void load(McpClient& client, int lanes, int calls, const CallOf& call_of, Load& found);

// The official TypeScript server whose echo is measured; or why it is not there.
std::expected<Words, std::string> official_server();

}  // namespace lockkeeper::bench
