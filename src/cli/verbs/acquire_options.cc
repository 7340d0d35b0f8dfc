#include "cli/verbs/acquire_options.h"

#include <climits>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kListBytesMax = std::size_t{64} << 20;

Result<std::string> read_stream(std::FILE* stream) {
  std::string text;
  char buffer[65536];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, stream)) {
    text.append(buffer, got);
    if (text.size() > kListBytesMax) {
      return fail(Code::kLimitExceeded, "the list on stdin is longer than 64 MiB",
                  "lock the folder that holds them instead");
    }
  }
  if (std::ferror(stream) != 0)
    return fail(Code::kInvalidInput, "stdin cannot be read", "use --from FILE");
  return text;
}

void add_lines(std::vector<std::string>& to, std::string_view text) {
  for (std::string& line : words_in(text, "\n")) to.push_back(std::move(line));
}

// A file is written by people: it may have comments. stdin comes from programs, and a name that
// begins with '#' must not be left out.
bool is_comment(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string::npos || line[begin] == '#';
}

}  // namespace

void declare_acquire(Arguments& arguments, AcquireOptions& options, bool with_attach) {
  arguments.words("RESOURCE…", options.resources,
                  "files, folders, globs, logical keys (api: db: …);\n- reads them from stdin");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--mode", options.mode, "MODE", "exclusive (default) or shared");
  arguments.offer({"exclusive", "shared"});
  arguments.value("--ttl", options.ttl, "DURATION", "how long it lasts: 90s, 20m, 1h30m or none");
  arguments.optional_value("--wait", options.wait, "DURATION",
                           "wait in the queue; without a value, indefinitely");
  arguments.value("--reason", options.reason, "TEXT", "shown to others");
  arguments.value("--task", options.task, "ID", "the task it belongs to");
  arguments.value("--request-id", options.request_id, "ID",
                  "a repeated request gets the first answer");
  if (with_attach) {
    arguments.value("--attach", options.attach, "PID", "release it when that process ends");
  }
  arguments.value(
      "--from", options.from, "FILE",
      "read resources from a file, one per line;\nlines that begin with # are comments");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--literal", options.literal, "take * ? [ { only as a name, never as a pattern");
  arguments.flag("--glob", options.glob, "take * ? [ { only as a pattern, not also as a name");
}

Result<void> read_resources(const VerbContext& context, AcquireOptions& options) {
  std::vector<std::string> all;
  for (std::string& word : options.resources) {
    if (word == "-") {
      LK_ASSIGN(const std::string text, read_stream(context.environment().in));
      add_lines(all, text);
    } else {
      all.push_back(std::move(word));
    }
  }
  if (options.from) {
    auto text = *options.from == "-" ? read_stream(context.environment().in)
                                     : read_file(*options.from, kListBytesMax);
    if (!text)
      return fail(Code::kInvalidInput, "--from: " + text.error().message,
                  "name a file with one resource per line, or - for stdin");
    std::vector<std::string> lines;
    add_lines(lines, *text);
    std::erase_if(lines, is_comment);
    all.insert(all.end(), lines.begin(), lines.end());
  }
  options.resources = std::move(all);
  if (!options.resources.empty()) return {};
  return fail(Code::kUsage, "no resource was given", "name at least one path or key");
}

Result<service::AcquireCommand> acquire_command(const VerbContext& context,
                                                const AcquireOptions& options) {
  service::AcquireCommand command;
  if (options.literal && options.glob) {
    return fail(Code::kUsage, "--literal and --glob contradict each other", "use only one of them");
  }
  LK_ASSIGN(command.wanted, context.wanted(options.resources));
  if (options.literal) command.wanted.syntax = key::Syntax::kLiteral;
  if (options.glob) command.wanted.syntax = key::Syntax::kGlob;
  LK_ASSIGN(command.wanted.mode, parse_mode(options.mode));
  if (options.ttl) {
    LK_ASSIGN(command.ttl_ms, parse_duration(*options.ttl, "--ttl", {.allow_none = true}));
  }
  if (options.wait) {
    LK_ASSIGN(command.wait_ms, parse_wait(*options.wait));
  }
  command.terms.reason = options.reason.value_or("");
  command.terms.task = options.task.value_or("");
  command.terms.request_id = options.request_id.value_or("");
  if (options.attach) {
    LK_ASSIGN(const std::uint64_t pid, parse_number(*options.attach, "--attach", INT_MAX));
    command.attach_pid = static_cast<int>(pid);
  }
  return command;
}

service::HintContext asked(const VerbContext& context, const AcquireOptions& options) {
  service::HintContext asked;
  asked.resources = options.resources;
  add_flag(asked.flags, "--mode", options.mode);
  add_flag(asked.flags, "--ttl", options.ttl);
  add_flag(asked.flags, "--reason", options.reason);
  add_flag(asked.flags, "--task", options.task);
  add_flag(asked.flags, "--request-id", options.request_id);
  add_flag(asked.flags, "--attach", options.attach);
  if (options.literal) asked.flags += " --literal";
  if (options.glob) asked.flags += " --glob";
  asked.caller_flags = context.repeated_flags();
  asked.flags += asked.caller_flags;
  asked.now_wall_ms = context.now_wall_ms();
  return asked;
}

}  // namespace lockkeeper::cli
