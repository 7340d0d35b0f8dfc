// overlap(), covers() and subsumes(). Files and folders are compared as text; everything with a
// pattern goes through the automata. Nothing is ever decided by comparing prefixes of patterns.
#include <algorithm>
#include <utility>

#include "key/automaton.h"
#include "key/logical.h"
#include "key/maker.h"
#include "key/path.h"
#include "key/resource.h"

namespace lockkeeper::key {

namespace {

using Names = std::vector<std::string>;

bool is_prefix(const Names& prefix, const Names& of) {
  return prefix.size() <= of.size() && std::equal(prefix.begin(), prefix.end(), of.begin());
}

// "a/b" for the file and for the folder; "" for the root.
std::string_view bare(const Resource& path) {
  std::string_view body = path_body(path.text());
  if (body.ends_with('/')) body.remove_suffix(1);
  return body;
}

// Is `path` the same as `above`, or below it?
bool at_or_below(std::string_view above, std::string_view path) {
  if (above.empty()) return true;
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

const Resource* deeper_path(const Resource& a, const Resource& b) {
  const std::string_view x = bare(a);
  const std::string_view y = bare(b);
  if (x == y) return a.kind() == Kind::kFile ? &a : &b;
  if (at_or_below(x, y)) return &b;
  if (at_or_below(y, x)) return &a;
  return nullptr;
}

std::string name_text(const Resource& in_space_of, const Names& name) {
  if (in_space_of.is_path()) return path_text(name, false);
  std::string text = in_space_of.space() + ":";
  for (const std::string& segment : name) {
    text += segment;
    text += separator_of_space(in_space_of.space());
  }
  text.pop_back();
  return text;
}

// Builds a missing automaton for this one question; `keep` then owns it.
const Automaton& automaton_of(const Resource& resource, std::optional<Automaton>& keep) {
  if (const Automaton* own = ResourceMaker::automaton(resource)) return *own;
  return keep.emplace(Automaton::of_path(resource.literal(), resource.kind() == Kind::kFolder));
}

Result<std::optional<std::string>> overlap_by_name(const Resource& a, const Resource& b) {
  std::optional<Automaton> keep_a;
  std::optional<Automaton> keep_b;
  auto name = Automaton::common_name(automaton_of(a, keep_a), automaton_of(b, keep_b),
                                     names_of_space(a.space()));
  if (!name) {
    name.error().message = "'" + a.text() + "' and '" + b.text() + "': " + name.error().message;
    return fail(std::move(name.error()));
  }
  if (!*name) return std::nullopt;
  return name_text(a, **name);
}

// A glob against a resource that is not a glob.
Result<std::optional<std::string>> overlap_with_glob(const Resource& glob, const Resource& other) {
  if (other.kind() != Kind::kFolder) {
    if (ResourceMaker::automaton(glob)->matches(other.literal())) return other.text();
  } else {
    auto name = overlap_by_name(glob, other);
    if (!name || *name) return name;
  }
  // The addition: no path is both file and folder.
  if (other.is_path() && is_prefix(other.literal(), glob.literal())) {
    return path_text(glob.literal(), false);
  }
  return std::nullopt;
}

// The same characters at the end, as far as both have some?
bool ends_fit(std::string_view a, std::string_view b) {
  return a.ends_with(b) || b.ends_with(a);
}

// Everything below a literal folder, written as a glob: `a/b/**`.
bool is_subtree(const Resource& glob) {
  const std::string_view body = path_body(glob.text());
  const auto separators = static_cast<std::size_t>(std::ranges::count(body, '/'));
  return separators == glob.literal().size() && (body == "**" || body.ends_with("/**"));
}

}  // namespace

bool surely_apart(const Resource& a, const Resource& b) {
  if (a.space() != b.space()) return true;
  if (!a.is_glob() && !b.is_glob()) return false;
  const bool b_below = is_prefix(a.literal(), b.literal());
  if (!b_below && !is_prefix(b.literal(), a.literal())) return true;
  if (a.is_glob() && b.is_glob()) {
    return !ends_fit(ResourceMaker::ending(a), ResourceMaker::ending(b));
  }
  const Resource& glob = a.is_glob() ? a : b;
  const Resource& other = a.is_glob() ? b : a;
  // A file above the pattern's literal part overlaps it whatever it ends with.
  if (other.kind() != Kind::kFile || is_prefix(other.literal(), glob.literal())) return false;
  return !other.text().ends_with(ResourceMaker::ending(glob));
}

Result<std::optional<std::string>> overlap(const Resource& a, const Resource& b) {
  if (a.space() != b.space()) return std::nullopt;
  if (!a.is_glob() && !b.is_glob()) {
    if (!a.is_path()) {
      if (a.text() != b.text()) return std::nullopt;
      return a.text();
    }
    const Resource* deeper = deeper_path(a, b);
    if (deeper == nullptr) return std::nullopt;
    return deeper->text();
  }
  if (surely_apart(a, b)) return std::nullopt;
  if (a.is_glob() && b.is_glob()) return overlap_by_name(a, b);
  return a.is_glob() ? overlap_with_glob(a, b) : overlap_with_glob(b, a);
}

bool covers(const Resource& outer, const Resource& inner) {
  if (outer == inner) return true;
  if (outer.space() != inner.space()) return false;
  if (outer.kind() == Kind::kFolder && is_prefix(outer.literal(), inner.literal())) {
    // A file of the folder's own name is not below it.
    return inner.kind() != Kind::kFile || inner.literal().size() > outer.literal().size();
  }
  if (!outer.is_glob() && !inner.is_glob()) return false;
  if (inner.kind() == Kind::kFile || inner.kind() == Kind::kLogical) {
    return ResourceMaker::automaton(outer)->matches(inner.literal());
  }
  std::optional<Automaton> keep_outer;
  std::optional<Automaton> keep_inner;
  return Automaton::includes(automaton_of(outer, keep_outer), automaton_of(inner, keep_inner),
                             names_of_space(outer.space()));
}

bool covered_by_any(const Resource& inner, const std::vector<Resource>& outer) {
  return std::ranges::any_of(outer, [&](const Resource& each) { return covers(each, inner); });
}

bool may_overlap(const Resource& a, const Resource& b) {
  const auto witness = overlap(a, b);
  return !witness || witness->has_value();
}

bool subsumes(const Resource& outer, const Resource& inner) {
  if (outer == inner) return true;
  if (!outer.is_path() || !inner.is_path()) return covers(outer, inner);
  if (outer.kind() != Kind::kFolder && !(outer.is_glob() && is_subtree(outer))) return false;
  if (!is_prefix(outer.literal(), inner.literal())) return false;
  return inner.kind() != Kind::kFile || inner.literal().size() > outer.literal().size();
}

}  // namespace lockkeeper::key
