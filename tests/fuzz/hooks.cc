// What a coding agent tells its hooks: any text is an event or is refused in words; whatever it is,
// the answer is one that the client can read, and a refusal is one.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "enforce/answer.h"
#include "enforce/patch.h"
#include "enforce/tools.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

using namespace lockkeeper::enforce;
using nlohmann::json;

constexpr Client kFuzzed[] = {Client::kClaude,  Client::kCodex,    Client::kGemini,
                              Client::kCopilot, Client::kOpencode, Client::kCursor};

const std::vector<ToolRule>& some_rules() {
  static const std::vector<ToolRule> kRules = {
      {"rule_edit*", {"path", "edits.path", "/a/0/b"}, "edit"},
      {"rule_re?lace", {"path"}, "replace"},
      {"rule_patch", {"diff"}, "patch"},
      {"rule_shell", {"script"}, "shell"},
      {"rule_none", {}, "nothing"},
  };
  return kRules;
}

void check_said(const Event& event, const Answer& answer) {
  const Said said = say(event, answer);
  require(said.exit_code == 0 && said.err.empty(), "an answer is on standard output");
  require(is_valid_utf8(said.out), "an answer is not UTF-8");
  require(said.out.size() < 20 * kReasonBytesMax, "an answer is not bounded");
  const bool refuses = event.moment == Moment::kBefore && answer.verdict != Verdict::kPass;
  if (said.out.empty()) return require(!refuses, "a refusal says nothing");
  const json object = json::parse(said.out, nullptr, false);
  require(object.is_object(), "an answer is not an object of JSON");
  const bool words = said.out.find("\"deny\"") != std::string::npos ||
                     said.out.find("\"ask\"") != std::string::npos ||
                     said.out.find("\"refuse\"") != std::string::npos;
  require(words == refuses, "an answer does not say what was decided");
}

void check_touch(const Event& event, const ToolCall& call) {
  require(!call.id.empty() && !hidden_in(call.id), "a call has an id");
  const auto touch = touch_of(event.client, call, some_rules());
  if (!touch) return require_readable(touch.error());
  const bool edits = touch->what == Touch::What::kEdit;
  require(!edits || !touch->paths.empty(), "an edit names its files");
  for (const std::string& path : touch->paths) {
    require(!path.empty() && path.find('\0') == std::string::npos, "a path is none");
    require(std::ranges::count(touch->paths, path) == 1, "a path is named twice");
  }
  for (const std::string& path : touch->replaced) {
    require(std::ranges::count(touch->paths, path) == 1, "what is replaced is not touched");
  }
}

void check_event(Client said, std::string_view payload) {
  const auto event = read_event(said, payload);
  if (!event) {
    require_readable(event.error());
    const Said answer = refuse_unread(said, payload, event.error().message);
    require(is_valid_utf8(answer.out + answer.err), "a refusal is not UTF-8");
    require(answer.exit_code == 0 || (answer.exit_code == 2 && !answer.err.empty()),
            "a refusal by its exit status has a reason");
    return;
  }
  require(!event->session.empty() && !hidden_in(event->session), "a session has an id");
  require(!hidden_in(event->name + event->subagent), "a name hides something");
  const bool one = event->moment == Moment::kBefore || event->moment == Moment::kAfter;
  require(!one || event->calls.size() == 1, "before and after there is one call");
  require(one || event->moment == Moment::kBatchOver || event->calls.empty(), "calls of nothing");
  for (const ToolCall& call : event->calls) check_touch(*event, call);
  const std::string text(payload.substr(0, 300));
  for (const Verdict verdict : {Verdict::kPass, Verdict::kRefuse, Verdict::kAsk}) {
    check_said(*event, {verdict, event->cwd, ""});
    check_said(*event, {verdict, "", verdict == Verdict::kPass ? "" : text});
  }
}

// Every file that was read can be written down and is read again.
void check_patch(std::string_view text) {
  const auto files = read_patch(text);
  if (!files) return require_readable(files.error());
  std::string again = "*** Begin Patch\n";
  for (const PatchedFile& file : *files) {
    using Kind = PatchedFile::Kind;
    again += file.kind == Kind::kAdd      ? "*** Add File: "
             : file.kind == Kind::kDelete ? "*** Delete File: "
                                          : "*** Update File: ";
    again += file.path + "\n";
    if (!file.moved_to.empty()) again += "*** Move to: " + file.moved_to + "\n";
    if (file.kind == Kind::kAdd) again += "+\n";
    if (file.kind == Kind::kUpdate) again += "@@\n-\n";
  }
  const auto same = read_patch(again + "*** End Patch\n");
  require(same.has_value() && *same == *files, "a patch is read as something else");
  const std::string command = "apply_patch <<'THE_END_OF_IT'\n" + again + "THE_END_OF_IT\n";
  require(patch_in_command(command) == again, "a patch is not found in its command");
}

}  // namespace

// The first byte is the client, or what comes is a patch.
void run(Input input) {
  const unsigned choice = input.byte() % 8U;
  const std::string_view text = input.rest();
  if (choice < std::size(kFuzzed)) return check_event(kFuzzed[choice], text);
  check_patch(text);
  if (const auto inner = patch_in_command(text)) check_patch(*inner);
}

}  // namespace lockkeeper::fuzz
