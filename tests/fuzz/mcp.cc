// The protocol's layer: any lines, in either era, to a small server. Every request is answered once
// and by the book, whatever came before it.
#include "mcp_conversation.h"

namespace lockkeeper::fuzz {
namespace {

using mcp::Answer;
using mcp::Call;
using mcp::Json;

mcp::Tool tool(const char* name, std::function<Answer(Call&, const Json&)> call) {
  mcp::Tool made;
  made.name = name;
  made.title = name;
  made.description = "for the fuzzer";
  made.input_schema = {{"type", "object"},
                       {"properties", {{"n", {{"type", "integer"}, {"maximum", 9}}}}}};
  made.call = std::move(call);
  return made;
}

mcp::Catalogue catalogue() {
  mcp::Catalogue made;
  made.name = made.title = "fuzz";
  made.version = "1";
  made.lists_change = made.logs = true;
  made.tools = {tool("echo",
                     [](Call&, const Json& arguments) {
                       return mcp::tool_answer(mcp::line_of(arguments), nullptr);
                     }),
                tool("tell", [](Call& call, const Json& arguments) {
                  for (int i = 0; i < 3; ++i) call.progress(i, 3, "telling");
                  call.log("warning", "fuzz", arguments);
                  return mcp::tool_answer("told", {{"n", arguments}}, true);
                })};
  made.resources = {{"fuzz://a", "a", "A", "", "text/plain"}};
  made.templates = {{"fuzz://{x}", "x", "X", "", ""}};
  made.read = [](Call&, const std::string& uri) -> std::optional<Answer> {
    if (uri != "fuzz://a") return std::nullopt;
    Answer answer;
    answer.result["contents"] = Json::array({{{"uri", uri}, {"text", "a"}}});
    return answer;
  };
  made.complete = [](const Json&, const std::string& name, const std::string& typed) {
    return std::vector<std::string>{name, typed};
  };
  mcp::Prompt prompt;
  prompt.name = "p";
  prompt.arguments = {{"x", "an argument", true}};
  prompt.get = [](Call&, const Json& arguments) {
    Answer answer;
    answer.result["messages"] = Json::array(
        {{{"role", "user"}, {"content", {{"type", "text"}, {"text", mcp::line_of(arguments)}}}}});
    return answer;
  };
  made.prompts = {prompt};
  return made;
}

}  // namespace

// The first byte opens the conversation, or does not.
void run(Input input) {
  static const mcp::Catalogue kCatalogue = catalogue();
  Conversation conversation(kCatalogue);
  const unsigned revision = input.byte() % 5U;
  if (revision < 4) conversation.initialize(std::string(mcp::kLegacyRevisions[revision]));
  while (!input.empty()) conversation.say(input.line());
}

}  // namespace lockkeeper::fuzz
