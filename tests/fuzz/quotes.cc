// How others' text is shown: whatever it is, what reaches a terminal or a model is one line of
// valid UTF-8 without hidden characters, within its limit, and inside its quotes.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fuzz.h"
#include "realm/identity.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::fuzz {
namespace {

// Nothing between the quotes ends them.
void require_quoted(std::string_view text) {
  require(text.size() >= 2 && text.front() == '"' && text.back() == '"', "not in quotes");
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    require(text[i] != '"', "a quote ends early");
    if (text[i] == '\\') ++i;
    require(i < text.size(), "the last quote is escaped");
  }
}

void check_quotes(std::string_view text, std::size_t limit) {
  constexpr std::size_t kMore = std::string_view("\"…\"").size();
  const std::string quoted = quote(text, limit);
  require(!hidden_in(quoted), "a quote hides something");
  require(quoted.size() <= limit + kMore, "longer than its limit");
  require_quoted(quoted);
  const std::string name = shown(text, limit);
  require(!hidden_in(name) && name.size() <= limit + kMore, "a name hides something");
  if (name != text) {
    require_quoted(name);
  } else {
    require(!text.empty() && text.find_first_of(" \"\n") == std::string_view::npos,
            "a bare name is one word");
  }
  require(!hidden_in(escaped(text)), "an escaped text hides something");
  std::string lines = escaped(text, true);
  std::erase(lines, '\n');
  require(!hidden_in(lines), "an escaped line hides something");
}

// JSON keeps the text, and shows none of it raw.
void check_json(std::string_view text) {
  const std::string dumped = service::dump({{"text", text}});
  require(!hidden_in(dumped), "JSON hides something");
  const auto again = service::Json::parse(dumped, nullptr, false);
  require(again.is_object(), "not JSON");
  if (is_valid_utf8(text)) require(again["text"] == text, "JSON changes the text");
}

void check_messages(std::string_view from, std::string_view text) {
  core::Message message;
  message.from = {std::string(from), std::string(text)};
  message.type = "update";
  message.text = text;
  message.task = from;
  const std::string told = service::message_text(message, 0);
  require(!hidden_in(told), "a message hides something");
  require(told.size() < 2'000, "a message is cut");
  core::LostLease lost;
  lost.by = {std::string(from), ""};
  lost.reason = text;
  lost.resources = {std::string(text)};
  require(!hidden_in(service::lost_text(lost)), "a loss hides something");
}

}  // namespace

void run(Input input) {
  const std::size_t limit = input.byte();
  const std::string_view from = input.line();
  const std::string_view text = input.rest();
  check_quotes(text, limit);
  check_json(text);
  check_messages(from, text);
  if (realm::check_agent_name(text, "agent")) require(!hidden_in(text), "a name hides something");
}

}  // namespace lockkeeper::fuzz
