// What a server offers: tools, resources, prompts. The protocol layer knows only this, nothing of
// locks. The lock tools are one catalogue, the conformance suite's fixtures another.
//
// Thread safety: do not change a catalogue while it is served; its functions are called from
// several threads at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mcp/json_rpc.h"
#include "mcp/revision.h"

namespace lockkeeper::mcp {

class Call;

// What a handler returns: the result's own members (`content`, `contents`, `messages`, …), or a
// protocol error.
struct Answer {
  Json result = Json::object();
  std::optional<RpcError> error;
  // Input is needed from the client first (modern): {"inputRequests":…,"requestState":…}.
  bool input_required = false;

  static Answer failed(int code, std::string message, Json data = nullptr);
  // The client lacks this capability: {"sampling":{}}.
  static Answer missing_capability(Json needed);
  // Asks for input: {key:{"method":…,"params":…}}; `state`: empty, or sealed (request_state.h).
  static Answer need_input(Json requests, std::string state = "");
};

// The whole message, both as text and as structure: clients show their models one or the other.
Answer tool_answer(const std::string& text, Json structured, bool is_error = false);

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  Json input_schema;
  Json output_schema;  // null: none
  Json annotations;
  Json meta;  // null: none
  std::function<Answer(Call&, const Json& arguments)> call;
};

struct Resource {
  std::string uri;  // a template has {names}
  std::string name;
  std::string title;
  std::string description;
  std::string mime_type;
};

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = false;
};

struct Prompt {
  std::string name;
  std::string title;
  std::string description;
  std::vector<PromptArgument> arguments;
  std::function<Answer(Call&, const Json& arguments)> get;
};

struct Catalogue {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;
  std::vector<Tool> tools;  // listed in this order
  std::vector<Resource> resources;
  std::vector<Resource> templates;
  std::vector<Prompt> prompts;
  // nullopt if there is no such resource.
  std::function<std::optional<Answer>(Call&, const std::string& uri)> read;
  // Completes an argument of a prompt, or a name in a template: `ref`, its name, the text so far.
  std::function<std::vector<std::string>(const Json& ref, const std::string& name,
                                         const std::string& typed)>
      complete;
  // A client is about to watch this resource: changes from now on must reach the Audience. Called
  // before the client's subscription is confirmed; from any thread.
  std::function<void(const std::string& uri)> watch;
  // An HTTP client is there, for the first time or again; and it is gone, `orderly` if it said so.
  // Called from a thread of the pool.
  std::function<void(const std::string& visitor)> arrived;
  std::function<void(const std::string& visitor, bool orderly)> gone;
  bool lists_change = false;  // tools, resources and prompts may come and go
  bool logs = false;          // handlers use Call::log

  const Tool* tool(const std::string& wanted) const;
  const Prompt* prompt(const std::string& wanted) const;
  bool has_resources() const { return !resources.empty() || !templates.empty(); }
};

// Checks a tool's arguments against its input schema: types, required, enum, ranges, no unknown
// names. Empty if they are valid; otherwise one sentence for a model.
std::string wrong_arguments(const Json& schema, const Json& arguments);

}  // namespace lockkeeper::mcp
