// Every lock tool's arguments, those of the dialects too: any values under any names, from several
// agents, over one table in memory.
#include <array>

#include "base/clock.h"
#include "base/random.h"
#include "mcp/locks/server.h"
#include "mcp_conversation.h"
#include "memory_runtime.h"
#include "realm.h"

namespace lockkeeper::fuzz {
namespace {

using mcp::Json;

// A server over a table of its own.
class World {
 public:
  World() {
    // What the dialects keep in files is of this run alone.
    std::filesystem::remove_all(realm().root);
    std::filesystem::create_directories(realm().store_folder);
    runtime_ = memory_runtime(clock_, random_);
    runtime_.env = [](const char* name) -> std::optional<std::string> {
      if (name == std::string_view("HOME")) return scratch();
      if (name == std::string_view("XDG_STATE_HOME")) return scratch() + "/state";
      return std::nullopt;
    };
    std::filesystem::remove_all(scratch() + "/state");
    site_.emplace(runtime_, realm(), realm::Settings{});
    mcp::locks::LockServerOptions options;
    options.caller.who.agent = "main";
    options.caller.who.session = "s";
    options.caller.agent_known = options.caller.session_known = true;
    options.dialects = {"coordinator", "coordmcp"};
    options.version = "1";
    server_.emplace(*site_, std::move(options));
    catalogue_ = server_->catalogue();
  }
  const mcp::Catalogue& catalogue() const { return catalogue_; }

 private:
  SystemClock clock_;
  SystemRandom random_;
  service::Runtime runtime_;
  std::optional<service::Site> site_;
  std::optional<mcp::locks::LockServer> server_;
  mcp::Catalogue catalogue_;
};

Json some_text(Input& input) {
  static constexpr std::array kTexts = {"a",     "src/",      "src/*.py", "api:GET /x", "../x",
                                        "alice", "30m",       "none",     "",           "db:t",
                                        "dir:/", "exclusive", "shared",   "**",         "/etc/x"};
  const std::uint8_t which = input.byte();
  if (which < kTexts.size()) return kTexts[which];
  return std::string(input.line());
}

Json some_value(Input& input, int depth = 0) {
  switch (input.byte() % 12U) {
    case 0:
      return nullptr;
    case 1:
      return input.byte() % 2U == 0;
    case 2:
      return static_cast<int>(input.byte()) - 10;
    case 3:
      return static_cast<std::int64_t>(input.number());
    case 4:
      return static_cast<double>(input.number()) * 1e-3;
    case 5: {
      Json object = Json::object();
      if (depth < 3) object[some_text(input).get<std::string>()] = some_value(input, depth + 1);
      return object;
    }
    case 6:
    case 7:
    case 8: {
      Json array = Json::array();
      const unsigned count = input.byte() % 5U;
      for (unsigned i = 0; i < count; ++i) {
        array.push_back(depth < 3 && input.byte() > 200 ? some_value(input, depth + 1)
                                                        : some_text(input));
      }
      return array;
    }
    default:
      return some_text(input);
  }
}

// Nobody has the time to wait; all else about the argument is left as it is.
void make_impatient(Json& arguments) {
  for (const char* const name : {"wait_s", "wait", "timeout"}) {
    const auto found = arguments.find(name);
    if (found != arguments.end() && found->is_number() && *found > 0) *found = 0;
  }
}

Json some_arguments(Input& input, const mcp::Tool& tool) {
  Json arguments = Json::object();
  for (const auto& [name, schema] : tool.input_schema["properties"].items()) {
    const std::uint8_t choice = input.byte();
    if (choice < 100) continue;
    // Mostly of its type: else nothing but the types would be looked at.
    const bool array = schema.value("type", Json()) == "array";
    if (choice > 180) {
      arguments[name] = some_value(input);
    } else if (array) {
      arguments[name] = Json::array({some_text(input), some_text(input)});
    } else if (schema.value("type", Json()) == "string") {
      arguments[name] = some_text(input);
    } else {
      arguments[name] = static_cast<int>(input.byte());
    }
  }
  if (input.byte() > 250) arguments[some_text(input).get<std::string>()] = some_value(input);
  make_impatient(arguments);
  return arguments;
}

}  // namespace

void run(Input input) {
  const World world;
  Conversation conversation(world.catalogue());
  conversation.initialize("2025-11-25");
  conversation.say(R"({"jsonrpc":"2.0","id":"tools","method":"tools/list"})");
  for (int id = 0; !input.empty() && id < 20; ++id) {
    const auto& tools = world.catalogue().tools;
    const mcp::Tool& tool = tools[input.byte() % tools.size()];
    conversation.say(mcp::line_of(mcp::request(
        id, "tools/call", {{"name", tool.name}, {"arguments", some_arguments(input, tool)}})));
  }
}

}  // namespace lockkeeper::fuzz
