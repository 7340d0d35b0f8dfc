#include "install/proof.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "host/pipes.h"
#include "host/spawn.h"
#include "install/toml_edit.h"
#include "realm/disk_path.h"

namespace lockkeeper::install {
namespace {

constexpr std::size_t kHeardBytesMax = 256U << 10;
constexpr std::int64_t kLookEveryMs = 100;  // whether to stop

std::string proof_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// --- a program is asked --------------------------------------------------------------------------

// False: nothing more will come.
bool read_some(const Fd& from, std::string& into) {
  char buffer[4096];
  const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  const std::size_t room = kHeardBytesMax - std::min(kHeardBytesMax, into.size());
  into.append(buffer, std::min(static_cast<std::size_t>(n), room));
  return true;
}

class Listener {
 public:
  Listener(const Asking& asking, Fd out, Fd err)
      : asking_(asking), out_(std::move(out)), err_(std::move(err)), began_ms_(now_ms()) {}

  // Until it has said everything, or must be ended.
  void listen(Heard& heard) {
    while (out_ || err_) {
      if (asking_.one_line && heard.out.contains('\n')) break;
      const std::int64_t left = began_ms_ + asking_.limit_ms - now_ms();
      heard.late = left <= 0;
      heard.stopped = asking_.stop && asking_.stop();
      if (heard.late || heard.stopped) break;
      std::array<pollfd, 2> fds = {{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
      const int ready =
          ::poll(fds.data(), fds.size(), static_cast<int>(std::min(left, kLookEveryMs)));
      if (ready <= 0) continue;
      if (fds[0].revents != 0 && !read_some(out_, heard.out)) out_.reset();
      if (fds[1].revents != 0 && !read_some(err_, heard.err)) err_.reset();
    }
    heard.took_ms = now_ms() - began_ms_;
  }

 private:
  static std::int64_t now_ms() { return SystemClock().now().mono_ms; }

  const Asking& asking_;
  Fd out_;
  Fd err_;
  const std::int64_t began_ms_;
};

// --- what clients make of an answer --------------------------------------------------------------

std::string text_at(const Json& json, const std::vector<std::string>& path) {
  const Json* const found = json_at(json, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// An answer of a hook, taken apart.
struct Answered {
  int status = 0;
  Json json;         // null: none was printed
  std::string said;  // on standard error
};

ReadVerdict decided(const std::string& decision, std::string reason) {
  if (decision == "deny" || decision == "block") return {Verdict::kRefused, std::move(reason)};
  if (decision == "ask") return {Verdict::kAsked, std::move(reason)};
  return {Verdict::kPassed};
}

ReadVerdict broke(const Answered& answered) {
  std::string reason = "it ended with status " + std::to_string(answered.status);
  if (!answered.said.empty()) reason += ": " + answered.said;
  return {Verdict::kFailed, std::move(reason)};
}

constexpr const char* kNested = "hookSpecificOutput";
constexpr const char* kDecision = "permissionDecision";
constexpr const char* kReason = "permissionDecisionReason";

// Claude Code and Codex. Codex reads neither "ask" nor a refusal without a reason.
ReadVerdict read_nested(const Answered& answered, bool codex) {
  if (answered.status == 2 && !answered.said.empty()) return {Verdict::kRefused, answered.said};
  if (answered.status != 0) return broke(answered);
  ReadVerdict read = decided(text_at(answered.json, {kNested, kDecision}),
                             text_at(answered.json, {kNested, kReason}));
  if (text_at(answered.json, {"decision"}) == "block") {
    read = {Verdict::kRefused, text_at(answered.json, {"reason"})};
  }
  const bool ignored = read.verdict == Verdict::kAsked || read.reason.empty();
  return codex && ignored ? ReadVerdict{Verdict::kPassed} : read;
}

ReadVerdict read_gemini(const Answered& answered) {
  ReadVerdict read =
      decided(text_at(answered.json, {"decision"}), text_at(answered.json, {"reason"}));
  if (read.verdict != Verdict::kPassed) return read;
  if (answered.status == 2 && !answered.said.empty()) return {Verdict::kRefused, answered.said};
  return answered.status == 0 ? read : broke(answered);
}

ReadVerdict read_copilot(const Answered& answered) {
  ReadVerdict read =
      decided(text_at(answered.json, {kDecision}), text_at(answered.json, {kReason}));
  const bool heard = answered.status == 0 || answered.status == 2;
  if (read.verdict != Verdict::kPassed && heard) return read;
  return answered.status == 0 ? read : broke(answered);
}

// Told to fail closed, Cursor takes silence for a refusal.
ReadVerdict read_cursor(const Answered& answered) {
  if (answered.status == 2) return {Verdict::kRefused, answered.said};
  if (answered.status != 0 || answered.json.is_null()) return broke(answered);
  return decided(text_at(answered.json, {"permission"}), text_at(answered.json, {"agent_message"}));
}

// Our plugin throws unless it is told to let the call pass.
ReadVerdict read_opencode(const Answered& answered) {
  const std::string verdict = text_at(answered.json, {"verdict"});
  if (answered.status != 0 || verdict.empty()) return broke(answered);
  if (verdict == "pass") return {Verdict::kPassed};
  return {Verdict::kRefused, text_at(answered.json, {"reason"})};
}

}  // namespace

std::string edit_payload(Client client, const ProofEdit& edit) {
  const std::string path = realm::join_path(edit.repository, edit.file);
  const std::string& at = edit.repository;
  const std::string call = edit.session + "-call";
  const std::string text = "proof\n";
  switch (client) {
    case Client::kClaude:
      return proof_text({{"session_id", edit.session},
                         {"transcript_path", ""},
                         {"cwd", at},
                         {"prompt_id", edit.session},
                         {"permission_mode", "default"},
                         {"hook_event_name", "PreToolUse"},
                         {"tool_name", "Write"},
                         {"tool_input", {{"file_path", path}, {"content", text}}},
                         {"tool_use_id", call}});
    case Client::kCodex: {
      const std::string patch =
          "*** Begin Patch\n*** Add File: " + edit.file + "\n+" + text + "*** End Patch\n";
      return proof_text({{"session_id", edit.session},
                         {"turn_id", edit.session},
                         {"cwd", at},
                         {"hook_event_name", "PreToolUse"},
                         {"model", "none"},
                         {"permission_mode", "default"},
                         {"tool_name", "apply_patch"},
                         {"tool_input", {{"command", patch}}},
                         {"tool_use_id", call}});
    }
    case Client::kGemini:
      return proof_text({{"session_id", edit.session},
                         {"cwd", at},
                         {"hook_event_name", "BeforeTool"},
                         {"timestamp", format_time(SystemClock().now().wall_ms)},
                         {"tool_name", "write_file"},
                         {"tool_input", {{"file_path", path}, {"content", text}}}});
    case Client::kCopilot:
      return proof_text({{"sessionId", edit.session},
                         {"timestamp", SystemClock().now().wall_ms},
                         {"cwd", at},
                         {"toolName", "create"},
                         {"toolArgs", {{"path", path}, {"file_text", text}}}});
    case Client::kOpencode:
      return proof_text({{"hook_event_name", "tool.execute.before"},
                         {"sessionID", edit.session},
                         {"directory", at},
                         {"worktree", at},
                         {"tool", "write"},
                         {"callID", call},
                         {"args", {{"filePath", path}, {"content", text}}}});
    case Client::kCursor:
      break;
  }
  return proof_text({{"conversation_id", edit.session},
                     {"generation_id", edit.session},
                     {"cursor_version", "0"},
                     {"workspace_roots", {at}},
                     {"hook_event_name", "preToolUse"},
                     {"tool_name", "Write"},
                     {"tool_input", {{"path", path}, {"contents", text}}},
                     {"tool_use_id", call},
                     {"cwd", at}});
}

std::string end_payload(Client client, const ProofEdit& edit) {
  const std::string& at = edit.repository;
  switch (client) {
    case Client::kClaude:
    case Client::kCodex:
    case Client::kGemini:
      return proof_text({{"session_id", edit.session},
                         {"cwd", at},
                         {"hook_event_name", "SessionEnd"},
                         {"reason", "other"}});
    case Client::kCopilot:
      return proof_text({{"sessionId", edit.session},
                         {"timestamp", SystemClock().now().wall_ms},
                         {"cwd", at},
                         {"reason", "complete"}});
    case Client::kOpencode:
      return proof_text({{"hook_event_name", "session.deleted"},
                         {"sessionID", edit.session},
                         {"directory", at},
                         {"worktree", at}});
    case Client::kCursor:
      break;
  }
  return proof_text({{"conversation_id", edit.session},
                     {"cursor_version", "0"},
                     {"workspace_roots", {at}},
                     {"hook_event_name", "sessionEnd"},
                     {"reason", "completed"}});
}

Result<Heard> ask_program(const Asking& asking) {
  if (asking.command.words.empty() || asking.input.size() > kInputBytesMax) {
    return fail(Code::kInvalidInput, "there is no command to start, or too much to tell it");
  }
  LK_ASSIGN(host::Pipe in, host::make_pipe());
  LK_ASSIGN(host::Pipe out, host::make_pipe());
  LK_ASSIGN(host::Pipe err, host::make_pipe());
  // It fits into the pipe, so nobody need read it yet.
  if (!write_all(in.writer.get(), asking.input)) {
    return fail(errno_error(errno, asking.command.words.front(), Code::kFailed));
  }
  if (!asking.one_line) in.writer.reset();
  host::Program program;
  program.argv = asking.command.words;
  program.folder = asking.folder;
  program.variables = asking.command.variables;
  // A hook learns from its payload who asks.
  for (const char* const name : {"LOCKKEEPER_AGENT", "LOCKKEEPER_SESSION", "LOCKKEEPER_LEASE",
                                 "LOCKKEEPER_FENCE", "LOCKKEEPER_REALM"}) {
    program.variables.emplace(name, "");
  }
  program.in = in.reader.get();
  program.out = out.writer.get();
  program.err = err.writer.get();
  program.group = host::Program::Group::kSession;
  program.dies_with_us = SIGKILL;
  LK_ASSIGN(const pid_t pid, host::start_program(program));
  in.reader.reset();
  out.writer.reset();
  err.writer.reset();
  Heard heard;
  Listener(asking, std::move(out.reader), std::move(err.reader)).listen(heard);
  in.writer.reset();
  // Of a server one line was wanted; it would go on.
  if (heard.late || heard.stopped || asking.one_line) ::kill(-pid, SIGKILL);
  heard.status = host::wait_for(pid).value_or(-1);
  return heard;
}

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"passed", "refused", "asked", "failed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

ReadVerdict read_verdict(Client client, const Heard& heard) {
  if (heard.late) {
    return {Verdict::kFailed,
            "it did not answer within " + format_duration(heard.took_ms) + " and was ended"};
  }
  Answered answered{.status = heard.status, .json = nullptr, .said = heard.err};
  while (answered.said.ends_with('\n')) answered.said.pop_back();
  Json printed = Json::parse(heard.out, nullptr, false);
  if (printed.is_object()) answered.json = std::move(printed);
  // Our own shell line says this for a hook that crashed: refused, but not judged.
  if (answered.said.contains(kHookFailed)) return {Verdict::kFailed, answered.said};
  switch (client) {
    case Client::kClaude:
    case Client::kCodex:
      return read_nested(answered, client == Client::kCodex);
    case Client::kGemini:
      return read_gemini(answered);
    case Client::kCopilot:
      return read_copilot(answered);
    case Client::kOpencode:
      return read_opencode(answered);
    case Client::kCursor:
      break;
  }
  return read_cursor(answered);
}

std::string mcp_greeting() {
  return proof_text({{"jsonrpc", "2.0"},
                     {"id", 1},
                     {"method", "initialize"},
                     {"params",
                      {{"protocolVersion", "2025-06-18"},
                       {"capabilities", Json::object()},
                       {"clientInfo", {{"name", "lockkeeper-doctor"}, {"version", "1"}}}}}});
}

bool is_mcp_answer(std::string_view line) {
  const Json answer = Json::parse(line.substr(0, line.find('\n')), nullptr, false);
  return answer.is_object() && answer.contains("id") && answer["id"] == 1 &&
         json_at(answer, {"result", "serverInfo", "name"}) != nullptr;
}

}  // namespace lockkeeper::install
