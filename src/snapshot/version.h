// One version of one file: what was there, when, and whose it was. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::snapshot {

// An agent and its session. No agent: nobody knows.
struct Who {
  std::string agent = {};
  std::string session = {};
  bool known() const { return !agent.empty(); }
  friend bool operator==(const Who&, const Who&) = default;
};

// A session and its subagents ("s1", "s1/x") are one party: what one of them replaces of another is
// not lost.
bool same_party(const Who& a, const Who& b);

// Why it was kept.
enum class Why : std::uint8_t {
  kBefore,     // somebody was about to change it
  kAfter,      // its writer has just changed it
  kFound,      // it was seen changed, nobody knows by whom
  kDestroyed,  // a command was about to destroy it, or has
  kTakeover,   // another agent was about to take the file over
  kBreak,      // somebody ended its holder's lease
  kAttempt,    // an attempt of `workflow run` was about to begin
  kRestore,    // an older version was about to be put in its place, or (with a writer) was
};
inline constexpr Why kWhys[] = {Why::kBefore,   Why::kAfter, Why::kFound,   Why::kDestroyed,
                                Why::kTakeover, Why::kBreak, Why::kAttempt, Why::kRestore};
std::string_view why_word(Why why);  // "before", "after", …

enum class Kind : std::uint8_t {
  kFile,
  kSymlink,  // `target` is where it leads
  kGone,     // there was nothing
  kStash,    // not a file: `content` is the commit of an entry of git's stash, `target` its words
};

// Is its content kept? A symlink's and a stash's need no content.
enum class Content : std::uint8_t {
  kKept,
  kLarge,    // above snapshots.file: only its hash
  kSecret,   // snapshots.only_hash names it
  kIgnored,  // git ignores it
  kUnread,   // it could not be read
};

// A file as stat() shows it. All zero: there is none, or it says nothing about the content.
struct Mark {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  bool any() const { return inode != 0; }
  friend bool operator==(const Mark&, const Mark&) = default;
};

inline constexpr std::string_view kMainTree = ".";

struct Version {
  std::string id = {};  // 16 hexadecimal digits, made of all the rest
  std::int64_t at_wall_ms = 0;
  std::string worktree = {};  // its root
  // Which worktree of its repository that is, wherever it lies: kMainTree, or the name that git has
  // for a linked one. Empty: not known.
  std::string tree = {};
  std::string path = {};  // from its root
  Who writer = {};        // whose content it is
  Who by = {};            // in whose call it was kept
  Why why = Why::kBefore;
  Kind kind = Kind::kFile;
  Content content_is = Content::kKept;
  std::uint32_t mode = 0;    // permissions
  std::string target = {};   // of a symlink
  std::string content = {};  // the id that git gives to it, in hexadecimal digits; may be empty
  std::uint64_t size = 0;
  Mark mark = {};
};

// Do both say the same of the file, whenever and whyever they were kept?
bool same_state(const Version& a, const Version& b);

}  // namespace lockkeeper::snapshot
