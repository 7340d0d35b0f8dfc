// [hook]: what the hooks of coding agents do when an edit meets what another agent holds.
//
// Single values follow the precedence of realm/config.h. [[hook.path]] and [hook.tools] rules of
// all files are asked in this order: the local file's, the repository's, the user's; in a file from
// the top down. The first that matches decides, so a nearer file can make an exception from
// another.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "key/resource.h"
#include "realm/setting.h"

namespace lockkeeper::realm {

struct Settings;
class Resolver;

inline constexpr std::int64_t kHookWaitMsMax = 10'000;     // clients end a hook soon after
inline constexpr std::size_t kHookIgnoreMax = 64;          // patterns of hook.ignore
inline constexpr std::size_t kHookIgnoreBytesMax = 200;    // of one of them
inline constexpr std::size_t kHookPathRulesMax = 64;       // of one file
inline constexpr std::size_t kHookPathsMax = 256;          // of all rules of one file together
inline constexpr std::size_t kHookToolsMax = 256;          // of one file
inline constexpr std::size_t kHookToolBytesMax = 200;      // a tool's name
inline constexpr std::size_t kHookArgumentsMax = 16;       // of one tool
inline constexpr std::size_t kHookArgumentBytesMax = 200;  // the name of one

// What happens to an edit of what another agent holds.
enum class HookPolicy {
  kBlock,  // refused
  kWait,   // waits up to hook.wait if the holder is at work on it, then refused
  kWarn,   // passes; both are told
  kAsk,    // the client asks its user
  kOff,    // passes; nothing is claimed
};
// Edits of one file in two worktrees.
enum class HookWorktrees { kWarn, kBlock, kOff };

inline constexpr Word<HookPolicy> kHookPolicies[] = {{HookPolicy::kBlock, "block"},
                                                     {HookPolicy::kWait, "wait"},
                                                     {HookPolicy::kWarn, "warn"},
                                                     {HookPolicy::kAsk, "ask"},
                                                     {HookPolicy::kOff, "off"}};
inline constexpr Word<HookWorktrees> kHookWorktrees[] = {
    {HookWorktrees::kWarn, "warn"}, {HookWorktrees::kBlock, "block"}, {HookWorktrees::kOff, "off"}};
// hook.on_failure: is a call refused if the hook cannot tell?
inline constexpr Word<bool> kHookOfflines[] = {{true, "block"}, {false, "warn"}};
inline constexpr Word<bool> kHookFailures[] = {{true, "block"}, {false, "pass"}};
// What a tool of [hook.tools] does. Those that edit must name their arguments.
inline constexpr std::string_view kHookDoes[] = {"edit", "replace", "patch", "shell", "nothing"};

// [[hook.path]]: another policy for what overlaps `paths`.
struct HookPathRule {
  std::vector<key::Resource> paths;
  HookPolicy policy = HookPolicy::kWait;
  Origin origin;
};

// As written; the paths are parsed once the prefixes of all files are known.
struct RawHookPath {
  std::vector<RawText> paths;
  HookPolicy policy = HookPolicy::kWait;
  Origin origin;
};

// A line of [hook.tools]: what a tool that we do not know does.
struct HookToolRule {
  std::string tool;                // matches_text() of base/text.h
  std::string does;                // one of kHookDoes
  std::vector<std::string> paths;  // the arguments that name files, the patch or the command
  Origin origin;
};

// invalid_config names the place of a bad path, or of one that is a key.
Result<HookPathRule> parse_hook_path(const RawHookPath& raw, const key::Rules& rules,
                                     Resolver& resolver);

// Is it a pattern that hook_ignores() can read?
bool is_ignore_pattern(std::string_view pattern);

// The policy of the first rule that overlaps the resource, else hook.policy.
HookPolicy hook_policy_for(const Settings& settings, const key::Resource& resource);

// Does a pattern name this file, or a folder that it is in? `path`: from the worktree's root,
// clean; a folder ends in '/'. A path that is not clean is not named. "name" and "name/" match at
// any depth, "a/b" and "/a" from the root; with '/' at the end only folders. `*` and `?` stay
// within a name.
bool matches_ignore_patterns(const std::vector<std::string>& patterns, std::string_view path);
// Those of hook.ignore.
bool hook_ignores(const Settings& settings, std::string_view path);

}  // namespace lockkeeper::realm
