#include "service/remarks.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/sessions.h"
#include "key/path.h"
#include "layout/registry.h"
#include "realm/children.h"
#include "realm/disk_path.h"
#include "realm/registry.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

constexpr std::string_view kPatternSigns = "*?[]{}\\";

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::string body_of(const key::Resource& resource) {
  return std::string(key::path_body(resource.text()));
}

// A pattern: the folder that its first sign is in.
std::string place_of(const key::Resource& resource) {
  std::string body = body_of(resource);
  if (!resource.is_glob()) return body;
  const std::size_t slash = body.rfind('/', body.find_first_of(kPatternSigns));
  return slash == std::string::npos ? "" : body.substr(0, slash);
}

// "src/" for "srcc/".
std::string nearest_on_disk(const realm::Realm& realm, const std::string& body) {
  const std::size_t slash = body.find_last_of('/', body.size() - 2);
  const std::string folder = slash == std::string::npos ? "" : body.substr(0, slash + 1);
  constexpr std::size_t kLeast = 5;  // in a.py and b.py, one letter is a whole name
  const auto names = realm::children_on_disk(realm.root)(folder);
  if (!names || body.size() - folder.size() < kLeast) return {};
  const std::vector<std::string_view> candidates(names->begin(), names->end());
  const auto found = nearest(body.substr(folder.size()), candidates);
  return found ? folder + *found : "";
}

// The resource as the realm around this one would name it; nullopt: it has no such name.
std::optional<key::Resource> named_from(const std::string& prefix, const key::Resource& inner) {
  if (!inner.is_path()) return std::nullopt;
  // A sign in the prefix would have to be escaped: the whole repository is near enough.
  const bool whole = inner.is_glob() && prefix.find_first_of(kPatternSigns) != std::string::npos;
  const std::string body = inner.text() == "./" || whole ? "" : body_of(inner);
  const key::Kind kind = body.empty() ? key::Kind::kFolder : inner.kind();
  const bool colon = prefix.substr(0, prefix.find('/')).find(':') != std::string::npos;
  auto resource = key::restore((colon ? "./" : "") + prefix + body, kind);
  if (!resource) return std::nullopt;
  return *resource;
}

// `inner` is a root below `outer`'s: "vendor/inner/".
std::string way_down(const realm::Realm& outer, const realm::Realm& inner) {
  return inner.root.substr(outer.root == "/" ? 1 : outer.root.size() + 1) + "/";
}

// nullopt: it has no table.
Result<std::optional<std::vector<OverlappingClaim>>> claims_there(
    const Site& site, const realm::Realm& there, std::span<const key::Resource> resources) {
  const auto store = realm::check_store(there);
  if (!store || *store != realm::StoreState::kPresent) return std::nullopt;
  std::vector<Error> mistakes;
  auto settings = layout::load_settings(site.runtime(), there, &mistakes);
  if (!settings) return std::nullopt;
  Site other(site.runtime(), there, std::move(*settings));
  LK_ASSIGN(std::vector<OverlappingClaim> held, overlapping_claims(other, resources));
  return held;
}

// What others hold of it in that realm: "vendor/ is held by ann". Empty: nothing.
std::string held_there(const Site& site, const realm::Realm& there, const core::Owner& owner,
                       core::Mode mode, std::span<const key::Resource> resources) {
  const auto held = claims_there(site, there, resources);
  if (!held) return "nobody can tell what is held there: " + held.error().message;
  if (!*held) return {};
  for (const OverlappingClaim& one : **held) {
    const core::Owner& holder = one.lease.owner;
    const bool own =
        holder == owner || core::is_part_of(holder, owner) || core::is_part_of(owner, holder);
    const bool shared = mode == core::Mode::kShared && one.claim.mode == core::Mode::kShared;
    if (own || shared) continue;
    return shown(spelled_in(one.lease, one.claim.resource.text())) + " is held by " +
           owner_text(holder);
  }
  return {};
}

// A realm around this one, or inside what is asked for. Its table is not this one's.
struct Nested {
  const realm::Realm realm;
  std::string held;  // what others hold there of it; or empty
  std::string sentence;
};

std::optional<realm::Realm> realm_around(const Site& site) {
  const realm::Realm& inner = site.realm();
  const auto outer = realm::realm_of(realm::parent_path(inner.root), site.runtime().env);
  if (!outer || outer->same_table(inner) || !outer->contains(inner.root)) return std::nullopt;
  return *outer;
}

std::vector<key::Resource> named_around(const realm::Realm& outer, const realm::Realm& inner,
                                        std::span<const key::Resource> resources) {
  std::vector<key::Resource> there;
  for (const key::Resource& resource : resources) {
    if (auto named = named_from(way_down(outer, inner), resource)) there.push_back(*named);
  }
  return there;
}

void add_outer(std::vector<Nested>& nested, const Site& site, const core::Owner& owner,
               core::Mode mode, std::span<const key::Resource> resources) {
  const auto outer = realm_around(site);
  if (!outer) return;
  const std::vector<key::Resource> there = named_around(*outer, site.realm(), resources);
  if (there.empty()) return;
  const std::string held = held_there(site, *outer, owner, mode, there);
  if (held.empty()) return;
  nested.push_back({*outer, held,
                    held + " in " + shown(outer->root) +
                        ", the repository around this one; the two do not exclude each other"});
}

void add_inner(std::vector<Nested>& nested, const Site& site, const core::Owner& owner,
               core::Mode mode, std::span<const key::Resource> resources) {
  const realm::Realm& outer = site.realm();
  const auto wide = [](const key::Resource& one) {
    return one.kind() == key::Kind::kFolder || one.kind() == key::Kind::kGlob;
  };
  if (std::ranges::none_of(resources, wide)) return;
  for (const realm::Realm& inner : realm::known_realms(site.runtime().env, outer.root)) {
    // An older store may lie in what is a part of this realm by now.
    const auto now = realm::realm_of(inner.root, site.runtime().env);
    if (inner.same_table(outer) || !now || !now->same_table(inner)) continue;
    const auto folder = key::restore(way_down(outer, inner), key::Kind::kFolder);
    if (!folder) continue;
    for (const key::Resource& resource : resources) {
      if (!wide(resource) || !key::may_overlap(resource, *folder)) continue;
      const auto root = key::restore("./", key::Kind::kFolder);
      const std::string held =
          root ? held_there(site, inner, owner, mode, std::span(&*root, 1)) : "";
      nested.push_back({inner, held,
                        shown(folder->text()) +
                            (inner.in_git ? " is a repository with locks of its own, which "
                                          : " has locks of its own, which ") +
                            shown(resource.text()) + " does not cover" +
                            (held.empty() ? "" : "; there, " + held)});
      break;
    }
  }
}

std::vector<Nested> nested_realms(const Site& site, const core::Owner& owner, core::Mode mode,
                                  std::span<const key::Resource> resources) {
  std::vector<Nested> nested;
  if (site.realm().in_memory || site.realm().machine) return nested;
  add_outer(nested, site, owner, mode, resources);
  add_inner(nested, site, owner, mode, resources);
  return nested;
}

// From a folder below the root, a name as `list` shows it means something else.
void add_root_name(Remarks& remarks, Site& site, const core::Owner& owner, const Wanted& wanted,
                   std::span<const std::vector<key::Resource>> words) {
  if (remarks.unmatched.empty() || wanted.base.kind != realm::Base::kCwd) return;
  const std::string& text = remarks.unmatched.front();
  const auto named = key::parse(text, site.key_rules(), key::Syntax::kLiteral);
  if (!named || !named->resource.is_path()) return;
  const key::Resource& meant = named->resource;
  if (!is_there(realm::join_path(site.realm().root, body_of(meant)))) return;
  const auto place = std::ranges::find(wanted.texts, text) - wanted.texts.begin();
  remarks.meant = meant.text();
  remarks.read_as = words[static_cast<std::size_t>(place)].front().text();
  const auto held = overlapping_claims(site, std::span(&meant, 1));
  if (!held) return;
  for (const OverlappingClaim& one : *held) {
    const core::Owner& holder = one.lease.owner;
    if (holder == owner || core::is_part_of(holder, owner)) continue;
    remarks.meant_holder = owner_text(holder);
    return;
  }
}

}  // namespace

void add_unmatched(Remarks& remarks, Site& site, const core::Owner& owner, const Wanted& wanted,
                   std::span<const std::vector<key::Resource>> words) {
  const realm::Realm& realm = site.realm();
  if (realm.in_memory || realm.machine) return;
  for (std::size_t i = 0; i < wanted.texts.size() && i < words.size(); ++i) {
    const std::string& text = wanted.texts[i];
    // In another worktree it may be there although it is not in this one.
    const std::string typed = text.starts_with('/') ? text : wanted.base.folder + "/" + text;
    const auto matches = [&](const key::Resource& one) {
      return !one.is_path() || is_there(realm::join_path(realm.root, place_of(one)));
    };
    if (is_there(typed) || std::ranges::any_of(words[i], matches)) continue;
    remarks.unmatched.push_back(text);
    const key::Resource& first = words[i].front();
    if (remarks.unmatched.size() == 1 && !first.is_glob()) {
      remarks.meant = nearest_on_disk(realm, body_of(first));
    }
  }
  add_root_name(remarks, site, owner, wanted, words);
}

void add_nested(Remarks& remarks, const Site& site, const core::Owner& owner, core::Mode mode,
                std::span<const key::Resource> resources) {
  for (Nested& one : nested_realms(site, owner, mode, resources)) {
    remarks.warnings.push_back(std::move(one.sentence));
  }
}

void add_inside(Remarks& remarks, Site& site, const core::Owner& owner, const core::Owner& starter,
                core::Mode mode, std::span<const key::Resource> resources) {
  if (core::wholes_of(owner).empty()) return;
  const auto held = overlapping_claims(site, resources);
  if (!held) return;
  std::set<std::string> told;
  for (const auto& [lease, claim, now, witness] : *held) {
    const core::Owner& holder = lease.owner;
    const bool strange =
        !lease.foreign && holder.agent != owner.agent && core::is_part_of(owner, holder);
    const bool shared = mode == core::Mode::kShared && claim.mode == core::Mode::kShared;
    const bool started =
        starter.agent == holder.agent && (starter == holder || core::is_part_of(starter, holder));
    if (!strange || shared || started || !told.insert(holder.agent).second) continue;
    remarks.warnings.push_back("you work inside " + shown(holder.agent) + "'s lease on " +
                               shown(spelled_in(lease, claim.resource.text())) +
                               ", because session " + shown(owner.session) +
                               " is a part of session " + shown(holder.session));
  }
}

std::string own_outer_lease(const Site& site, const core::Owner& owner,
                            std::span<const key::Resource> resources) {
  if (site.realm().in_memory || site.realm().machine) return {};
  const auto outer = realm_around(site);
  if (!outer) return {};
  const auto held = claims_there(site, *outer, named_around(*outer, site.realm(), resources));
  if (!held || !*held) return {};
  for (const OverlappingClaim& one : **held) {
    if (one.lease.owner != owner) continue;
    return "your lease on " + shown(one.claim.resource.text()) + " is in " + shown(outer->root) +
           ", the repository around this one; to release it: lockkeeper release --lease " +
           one.lease.id.text() + " --realm " + shell_quote(outer->root);
  }
  return {};
}

Result<void> check_plain_neighbours(const Site& site, const core::Owner& owner,
                                    std::span<const core::Claim> claims) {
  if (site.realm().in_git || claims.empty()) return {};
  std::vector<key::Resource> resources;
  for (const core::Claim& claim : claims) resources.push_back(claim.resource);
  for (const Nested& one : nested_realms(site, owner, claims.front().mode, resources)) {
    if (one.realm.in_git || one.held.empty()) continue;
    return fail(Code::kHeld,
                one.held + " in " + shown(one.realm.root) + ", which has locks of its own",
                "see who holds what there: lockkeeper list --realm " + shell_quote(one.realm.root));
  }
  return {};
}

}  // namespace lockkeeper::service
