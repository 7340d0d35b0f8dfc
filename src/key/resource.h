// What can be locked, in canonical form, and the one question that matters: do two overlap?
//
// Pure: nothing here reads a file, a clock or a process. realm/resolve.h finds out what the disk
// knows (symlinks, whether a name is a folder, whether a file `app/[slug]/page.tsx` exists) and
// then passes canonical relative paths to parse().
//
// Covering. A file covers its own name, a folder everything below it, a glob the names it matches,
// a logical key itself (or, in a namespace with globs, what its glob matches). Two resources
// overlap if both cover some name. One addition, because no path is both file and folder: a path
// also overlaps anything whose literal part is below it (`foo` with `foo/a` and `foo/*`, but not
// with `**/b.h`).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::key {

// Limits. Beyond one, the error is limit_exceeded with the number in the message.
inline constexpr std::size_t kKeyTextBytesMax = 4096;  // canonical text of one resource
inline constexpr std::size_t kSegmentBytesMax = 255;   // one name in a path
inline constexpr std::size_t kGlobStatesMax = 4096;    // automaton size of one pattern
inline constexpr std::size_t kBraceDepthMax = 4;
inline constexpr std::size_t kBraceAlternativesMax = 64;  // patterns that braces expand to
inline constexpr std::size_t kOverlapPairsMax = 1 << 20;  // state pairs visited by one overlap()

enum class Kind { kFile, kFolder, kGlob, kLogical, kLogicalGlob };

// What the realm's config decides about keys.
struct Rules {
  bool fold_case = false;                   // git's core.ignorecase
  std::vector<std::string> extra_prefixes;  // namespaces added by the config; free form after ':'
  std::vector<std::string> feature_purposes = {"pause"};  // known ones; others give a warning
  bool strict = false;                                    // warnings become errors
};

class Automaton;

// An immutable value. Copies share one body, so a copy costs no memory.
class Resource {
 public:
  Resource() = default;  // the empty file name; equal to nothing that parse() gives
  // Only copies: a moved-from value would have no body.
  Resource(const Resource&) = default;
  Resource& operator=(const Resource&) = default;
  ~Resource() = default;

  // "src/a.py", "src/", "./" (the whole root), "src/**/*.h", "api:GET /v1/users". Parsing it again
  // gives an equal resource (a file or folder whose own name has pattern characters, such as
  // `app/[slug]/page.tsx`: with Syntax::kLiteral).
  const std::string& text() const { return body_->text; }
  Kind kind() const { return body_->kind; }
  bool is_path() const { return kind() <= Kind::kGlob; }
  bool is_glob() const { return kind() == Kind::kGlob || kind() == Kind::kLogicalGlob; }

  // Where it is filed: "/" for path space, else the namespace ("flag"); then the leading segments
  // without any pattern character (the whole name for a file or folder). Two resources can overlap
  // only if they have the same space and one's literal segments are a prefix of the other's.
  const std::string& space() const { return body_->space; }
  const std::vector<std::string>& literal() const { return body_->literal; }

  friend bool operator==(const Resource& a, const Resource& b) {
    return a.body_ == b.body_ || (a.kind() == b.kind() && a.text() == b.text());
  }

 private:
  friend struct ResourceMaker;  // the parsers
  struct Body {
    std::string text;
    Kind kind = Kind::kFile;
    std::string space;
    std::vector<std::string> literal;
    std::string ending = {};                          // of every name: see surely_apart()
    std::shared_ptr<const Automaton> automaton = {};  // globs alone
  };
  static const std::shared_ptr<const Body>& nothing();
  std::shared_ptr<const Body> body_ = nothing();  // never null
};

struct Parsed {
  Resource resource;
  std::vector<std::string> warnings;  // e.g. an unknown feature purpose
};

enum class Syntax {
  kAuto,  // pattern characters make it a glob
  // A path whatever characters it has, never a glob or a logical key: so that a caller that has
  // file names can lock the file `db:migration-slot`.
  kLiteral,
  kGlob,  // a glob even without pattern characters, which is then the plain path
};

// True if `text` is written as a logical key: `prefix:rest`. `./notes:today.md` is a path.
bool looks_logical(std::string_view text);

// Any resource: a logical key or a path relative to the realm's root, '/'-separated. Paths are
// cleaned lexically ("a/./b//c" → "a/b/c"; ".." that leaves the root, an absolute path, a
// backslash, control characters, NUL, a trailing blank, invalid UTF-8 are invalid_resource; NFC
// applied). A trailing '/' makes a folder; "." and "./" are the root folder. Errors name the value,
// the rule and the corrected form.
Result<Parsed> parse(std::string_view text, const Rules& rules, Syntax syntax = Syntax::kAuto);

// Rebuilds a resource from its canonical text and kind, which come from our own store.
// store_corrupt: we cannot have written it.
Result<Resource> restore(std::string_view text, Kind kind);

// A name that both cover, or nullopt. For two folders it is the deeper one's text. For a path and
// something below it (the addition) it is the literal part below. limit_exceeded only for
// pathological patterns, beyond kOverlapPairsMax. Symmetric. Allocates no memory for files and
// folders that do not overlap.
Result<std::optional<std::string>> overlap(const Resource& a, const Resource& b);

// Do the characters that every name begins with, or those that it ends with, show that they do not
// overlap? Allocates nothing. False: ask overlap(), which does the same first.
bool surely_apart(const Resource& a, const Resource& b);

// Does `outer` cover every name that `inner` covers? "May the holder of `outer` write what `inner`
// names?" Exact for paths and folders. For globs it may say no although the answer is yes, if the
// question is too large; never the reverse.
bool covers(const Resource& outer, const Resource& inner);

// Is there one of `outer` that covers `inner`?
bool covered_by_any(const Resource& inner, const std::vector<Resource>& outer);
// Do they overlap? Also yes if overlap() cannot tell.
bool may_overlap(const Resource& a, const Resource& b);

// Does everything that overlaps `inner` overlap `outer` too? "Is a conflict with `inner` impossible
// while `outer` is held?" Stricter than covers() because of the addition: `a/*` covers the name
// `a/b`, yet `a/b/c` overlaps `a/b` and not `a/*`. Never says yes if the answer is no.
bool subsumes(const Resource& outer, const Resource& inner);

}  // namespace lockkeeper::key
