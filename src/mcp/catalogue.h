// What a server offers: tools, resources, prompts. The layer above the wire knows these and nothing
// of locks; the lock tools are one catalogue, the conformance suite's fixtures another.
//
// Thread safety: a catalogue is not changed while it is served; its functions are called from
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

// What a handler gives back: the members of the protocol's result (`content`, `contents`,
// `messages`, …), without what every result has. Or an error of the protocol.
struct Answer {
  Json result = Json::object();
  std::optional<RpcError> error;
  // More is needed from the client first (modern): {"inputRequests":…,"requestState":…}.
  bool input_required = false;

  static Answer failed(int code, std::string message, Json data = nullptr);
  // The client must be able to do this first: {"sampling":{}}.
  static Answer missing_capability(Json needed);
  // Asks for input: {key:{"method":…,"params":…}}; `state`: empty, or sealed (request_state.h).
  static Answer need_input(Json requests, std::string state = "");
};

// The whole message as text and as structure: clients show their models one or the other.
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
  std::vector<Tool> tools;  // in this order, for everybody
  std::vector<Resource> resources;
  std::vector<Resource> templates;
  std::vector<Prompt> prompts;
  // nullopt: there is no such resource.
  std::function<std::optional<Answer>(Call&, const std::string& uri)> read;
  // What an argument of a prompt, or a name in a template, may be: `ref`, its name, what is typed.
  std::function<std::vector<std::string>(const Json& ref, const std::string& name,
                                         const std::string& typed)>
      complete;
  // A client is about to watch this resource: what changes from now on is to be told (Audience).
  // Called before the client hears that it does; from any thread.
  std::function<void(const std::string& uri)> watch;
  bool lists_change = false;  // tools, resources and prompts may come and go
  bool logs = false;          // handlers use Call::log

  const Tool* tool(const std::string& name_) const;
  const Prompt* prompt(const std::string& name_) const;
  bool has_resources() const { return !resources.empty() || !templates.empty(); }
};

// What every tool's arguments are held against: types, required, enum, ranges of its input schema,
// and nothing that is not in it. Empty: they are fine; else one sentence for a model.
std::string wrong_arguments(const Json& schema, const Json& arguments);

}  // namespace lockkeeper::mcp
