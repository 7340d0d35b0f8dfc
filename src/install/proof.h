// The proof that an installed hook works: an edit in the client's own shape is fed to the client's
// own hook command, and the answer is read as the client would read it. Also: does the configured
// MCP server answer?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "install/clients.h"
#include "install/entry.h"

namespace lockkeeper::install {

// An edit that nobody makes: the file does not exist, and the session is nobody's.
struct ProofEdit {
  std::string repository;  // absolute
  std::string file;        // in it
  std::string session;
};

// What the client tells its hook before it creates that file, and when the session is over.
std::string edit_payload(Client client, const ProofEdit& edit);
std::string end_payload(Client client, const ProofEdit& edit);

// What a program has answered.
struct Heard {
  int status = 0;  // as a shell reports it
  std::string out = {};
  std::string err = {};
  std::int64_t took_ms = 0;
  bool late = false;     // it was killed at the time limit
  bool stopped = false;  // it was killed because `stop` said so
};

struct Asking {
  CommandLine command;
  std::string folder = {};  // where it runs
  std::string input = {};   // at most kInputBytesMax
  bool one_line = false;    // one line of output is all; its input stays open until then
  std::int64_t limit_ms = 10'000;
  std::function<bool()> stop = {};  // asked several times a second; may be empty
};
inline constexpr std::size_t kInputBytesMax = 16U << 10;

// Starts it in a session of its own, without a terminal and without our names for the caller, and
// waits for its end. failed: it cannot be started.
Result<Heard> ask_program(const Asking& asking);

enum class Verdict : std::uint8_t {
  kPassed,
  kRefused,
  kAsked,   // the client asks its user
  kFailed,  // the hook did not judge: it crashed, was late, or said what the client does not read
};
std::string_view verdict_name(Verdict verdict);  // "passed", "refused", …

struct ReadVerdict {
  Verdict verdict = Verdict::kFailed;
  std::string reason = {};  // as the model or the user is told; kFailed: what went wrong
};
// What this client makes of its hook's answer before an edit.
ReadVerdict read_verdict(Client client, const Heard& heard);

// The first message of an MCP client, and whether this line is a good answer to it.
std::string mcp_greeting();
bool is_mcp_answer(std::string_view line);

}  // namespace lockkeeper::install
