#include "realm/resolve.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/parse.h"
#include "base/text.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::realm {
namespace {

// Such as /etc: nobody's project.
bool is_system_folder(const std::string& folder) {
  return folder.rfind('/') == 0;
}

constexpr std::string_view kEscapable = "*?[]{},!^-\\";

// A backslash that does not escape a pattern character comes from another system.
bool has_foreign_backslash(std::string_view text, key::Syntax syntax) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') continue;
    if (syntax == key::Syntax::kLiteral || i + 1 == text.size()) return true;
    if (kEscapable.find(text[++i]) == std::string_view::npos) return true;
  }
  return false;
}

std::string with_slashes(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, '\\', '/');
  return result;
}

// A literal path as the beginning of a pattern.
std::string escaped(std::string_view path) {
  std::string result;
  for (const char c : path) {
    if (std::string_view("*?[]{}\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

bool first_name_has_colon(std::string_view text) {
  return text.substr(0, text.find('/')).find(':') != std::string_view::npos;
}

// Puts "./" in front of a path that could be read as a logical key.
std::string as_path(std::string_view text) {
  return text.find(':') == std::string_view::npos ? std::string(text) : "./" + std::string(text);
}

Result<void> check_text(std::string_view text) {
  const std::string example = "name a path such as src/a.py, a folder as src/, or a key as api:…";
  if (text.empty()) {
    return fail(Code::kInvalidResource, "\"\" is empty: a resource needs a name", example);
  }
  if (text.size() > kTypedBytesMax) {
    return fail(Code::kLimitExceeded,
                quote(text, 40) + ": " + std::to_string(text.size()) +
                    " bytes; a resource is written in at most " + std::to_string(kTypedBytesMax),
                example);
  }
  if (text.find('\0') != std::string_view::npos) {
    return fail(Code::kInvalidResource, quote(text) + ": a name cannot contain NUL", example);
  }
  if (!is_valid_utf8(text)) {
    return fail(Code::kInvalidResource, quote(text) + ": not UTF-8",
                "rename the file, or lock its folder instead");
  }
  return {};
}

Patterns patterns_for(key::Syntax syntax) {
  return syntax == key::Syntax::kLiteral ? Patterns::kNone : Patterns::kAlways;
}

struct Spelled {
  std::string name;      // what the text spells if its characters are taken as they are
  bool pattern = false;  // some of them, not escaped, make it a pattern
};

Spelled spelled(std::string_view text) {
  Spelled result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size() && kEscapable.contains(text[i + 1]);
    if (escapes) ++i;
    result.name += text[i];
    result.pattern |= !escapes && std::string_view("*?[{").contains(text[i]);
  }
  return result;
}

// Without "." and double slashes; nullopt if it has "..", which goes up from where a symlink led.
std::optional<std::string> normal_form(const std::string& base, std::string_view text) {
  std::string path = text.starts_with('/') ? "/" : base;
  for (const std::string& name : words_in(text, "/")) {
    if (name == "..") return std::nullopt;
    if (name != ".") path = join_path(path, name);
  }
  return path;
}

// `path` without `root` and the '/' between them; "" for the root itself.
std::string below(const std::string& root, const std::string& path) {
  if (path.size() == root.size()) return {};
  return path.substr(root == "/" ? 1 : root.size() + 1);
}

}  // namespace

Resolver::Resolver(Realm realm, key::Rules rules, Base base, Environment env,
                   ResolveOptions options)
    : realm_(std::move(realm)),
      rules_(std::move(rules)),
      base_(std::move(base)),
      env_(std::move(env)),
      options_(options) {}

Result<std::vector<key::Parsed>> Resolver::resolve_all(std::string_view text, key::Syntax syntax) {
  std::vector<key::Parsed> all;
  walked_.reset();
  LK_ASSIGN(key::Parsed first, resolve(text, syntax));
  const std::optional<DiskPath> place = std::move(walked_);
  const bool path = first.resource.is_path();
  all.push_back(std::move(first));
  // The text decides: a pattern of one name, as in "[q]", is not a glob any more.
  const Spelled typed = spelled(text);
  if (path && typed.pattern && syntax == key::Syntax::kAuto) {
    LK_ASSIGN(key::Parsed plain, resolve(typed.name, key::Syntax::kLiteral));
    const bool covered = key::covers(all.front().resource, plain.resource);
    if (!covered) all.push_back(std::move(plain));
  }
  if (!path || !place) return all;
  LK_ASSIGN(std::optional<key::Parsed> as_is,
            as_typed(*place, options_.convert_backslash ? with_slashes(text) : std::string(text),
                     syntax));
  if (as_is) all.push_back(std::move(*as_is));
  return all;
}

// The name as it was typed, where a symlink on the way leads elsewhere: it may be older than the
// symlink.
Result<std::optional<key::Parsed>> Resolver::as_typed(const DiskPath& place,
                                                      const std::string& text, key::Syntax syntax) {
  if (place.link.empty()) return std::nullopt;
  LK_ASSIGN(const std::string base, base_folder());
  const std::optional<std::string> path = normal_form(base, text);
  if (!path || !realm_.contains(*path) || realm_.machine) return std::nullopt;
  const std::string rest = below(realm_.root, *path);
  if (rest.empty()) return std::nullopt;
  const bool folder = place.type == DiskPath::Type::kFolder || place.folder_written;
  LK_ASSIGN(key::Parsed parsed,
            key::parse(as_path(rest) + (folder && place.pattern.empty() ? "/" : ""), rules_,
                       place.pattern.empty() ? key::Syntax::kLiteral : syntax));
  return parsed;
}

Result<key::Parsed> Resolver::resolve(std::string_view text, key::Syntax syntax) {
  LK_CHECK(check_text(text));
  if (realm_.in_memory) {
    const std::size_t name = text.find_first_not_of('/');  // its root is "/"
    return key::parse(name == std::string_view::npos ? "./" : text.substr(name), rules_, syntax);
  }
  if (syntax != key::Syntax::kLiteral && first_name_has_colon(text)) {
    return key::parse(text, rules_, syntax);  // a logical key, or refused with its "./" form
  }
  std::string path(text);
  if (options_.convert_backslash) {
    path = with_slashes(path);
  } else if (has_foreign_backslash(path, syntax)) {
    const std::string corrected = key::in_quotes(with_slashes(path));
    return fail(Code::kInvalidResource,
                key::in_quotes(path) + ": a path is written with '/', not '\\'; write " + corrected,
                "use " + corrected);
  }
  return resolve_path(path, syntax);
}

Result<key::Parsed> Resolver::resolve_path(const std::string& text, key::Syntax syntax) {
  LK_ASSIGN(const DiskPath place, walk(text, syntax));
  if (!walked_) walked_ = place;
  if (!place.pattern.empty()) return resolve_pattern(place, text, syntax);
  LK_ASSIGN(const Named named, name(place, text));
  const std::string& rest = named.rest;
  if (place.type == DiskPath::Type::kOther && place.folder_written) {
    std::string corrected = text;
    while (corrected.ends_with('/') || corrected.ends_with("/.")) corrected.pop_back();
    return fail(Code::kInvalidResource, quote(text) + ": a file, but written like a folder",
                "write " + quote(corrected));
  }
  const bool folder = place.type == DiskPath::Type::kFolder || place.folder_written;
  const std::string canonical = rest.empty() ? "./" : as_path(rest) + (folder ? "/" : "");
  return key::parse(canonical, rules_, key::Syntax::kLiteral);
}

Result<key::Parsed> Resolver::resolve_pattern(const DiskPath& place, const std::string& text,
                                              key::Syntax syntax) {
  LK_ASSIGN(const Named named, name(place, text));
  const std::string lead = named.rest.empty() ? "" : escaped(named.rest) + "/";
  // kGlob if the only escapes are ours: key warns about those that a user may not have meant.
  const bool escapes_typed = place.pattern.find('\\') != std::string::npos;
  auto parsed = key::parse(as_path(lead + place.pattern), rules_,
                           escapes_typed ? syntax : key::Syntax::kGlob);
  if (!parsed || parsed->resource.is_glob()) return parsed;
  // Only escapes, so a plain path after all. Its last names have not been looked up yet.
  auto plain = resolve_path(join_path(named.root, parsed->resource.text()), key::Syntax::kLiteral);
  if (plain) plain->warnings = std::move(parsed->warnings);
  return plain;
}

Result<DiskPath> Resolver::walk(const std::string& text, key::Syntax syntax) {
  const Patterns patterns = patterns_for(syntax);
  if (text.front() != '/') {
    LK_ASSIGN(const std::string base, base_folder());
    return walk_disk(base, text, patterns);
  }
  // The root is physical, so an absolute path that begins with it needs no walk down to it.
  const bool below_root = realm_.root != "/" && realm_.contains(text);
  if (!below_root || text.size() <= realm_.root.size() + 1) return walk_disk("/", text, patterns);
  const auto start = text.find_first_not_of('/', realm_.root.size());
  if (start == std::string::npos) return walk_disk("/", text, patterns);
  return walk_disk(realm_.root, std::string_view(text).substr(start), patterns);
}

Result<std::string> Resolver::base_folder() {
  if (!base_folder_.empty()) return base_folder_;
  base_folder_ = realm_.root;
  if (base_.kind == Base::kRoot) return base_folder_;
  char physical[PATH_MAX];
  // What the kernel calls the current folder has no symlinks; else each part is looked at.
  const bool usable =
      base_.folder.starts_with('/') && base_.folder.find('\0') == std::string::npos &&
      ((::getcwd(physical, sizeof physical) != nullptr && base_.folder == physical) ||
       ::realpath(base_.folder.c_str(), physical) != nullptr);
  if (!usable) {
    base_folder_.clear();
    return fail(Code::kInvalidInput, "the current folder " + quote(base_.folder) + " is gone",
                "cd to a folder that exists, or write absolute paths");
  }
  // From outside a named realm (`--realm`) a relative path could only be refused, so it is relative
  // to the root. If the path itself led to the realm, it stays as typed: `sub/x` beside the
  // submodule is `x` in it.
  const std::string folder(physical);
  const auto in_another_worktree = [&] {
    const auto other = realm_of(folder, env_);
    return other && other->same_table(realm_);
  };
  from_outside_ = base_.realm_named && !realm_.contains(folder) && !in_another_worktree();
  if (!from_outside_) base_folder_ = folder;
  return base_folder_;
}

Result<bool> Resolver::split_below_root(const std::string& folder) {
  // From the root down, so that each folder is checked once however many paths are in it.
  for (std::size_t end = realm_.root.size();;) {
    if (end >= folder.size()) return false;
    end = std::min(folder.find('/', end + 1), folder.size());
    const std::string part = folder.substr(0, end);
    if (part.ends_with("/.git")) return false;  // what is in there is this worktree's
    auto known = splits_.find(part);
    if (known == splits_.end()) {
      LK_ASSIGN(const bool begins, begins_realm(part, realm_));
      known = splits_.emplace(part, begins).first;
    }
    if (known->second) return true;
  }
}

Result<Resolver::Named> Resolver::name(const DiskPath& place, std::string_view typed) {
  const std::string& store = realm_.store_folder;
  if (place.path.starts_with(store) &&
      (place.path.size() == store.size() || place.path[store.size()] == '/')) {
    return fail(Code::kInvalidResource, quote(typed) + ": Lockkeeper's own store cannot be locked",
                "name what you are going to change");
  }
  if (realm_.machine) return Named{realm_.root, below(realm_.root, place.path)};
  if (realm_.contains(place.path)) {
    LK_ASSIGN(const bool split, split_below_root(place.existing_folder));
    if (!split) return Named{realm_.root, below(realm_.root, place.path)};
  }
  auto other = realm_of(place.path, env_);
  if (!other) {
    if (other.error().code == Code::kNotFound) return fail(outside(place, typed));
    return fail(std::move(other.error()));
  }
  if (!other->same_table(realm_)) return fail(crossing_error(typed, realm_, *other));
  if (!other->contains(place.path)) return fail(outside(place, typed));
  return Named{other->root, below(other->root, place.path)};
}

Error Resolver::outside(const DiskPath& place, std::string_view typed) const {
  std::string how = quote(typed);
  if (!place.link.empty()) {
    how += ": the symlink " + quote(place.link) + " leads to " + quote(place.path) + ", which";
  }
  std::string hint =
      "name a path below it, or the folder that it is in: --realm " +
      (is_system_folder(place.existing_folder) ? "DIR" : shell_quote(place.existing_folder));
  // "/src/a.py", where there is no /src: the slash stands for the realm's root.
  if (typed.starts_with('/') && place.existing_folder == "/" && !hidden_in(typed)) {
    hint = "paths that begin with / are the machine's; in this realm it is " +
           shell_quote(realm_.root + std::string(typed));
  }
  std::string message = how + " is outside the realm's root " + realm_.root;
  if (from_outside_ && !typed.starts_with('/')) {
    message += ", where relative paths begin: the current folder is not in this realm";
  }
  return Error{Code::kInvalidResource, message, hint};
}

}  // namespace lockkeeper::realm
