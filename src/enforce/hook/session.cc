#include "enforce/hook/session.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/sessions.h"
#include "key/path.h"
#include "key/unicode.h"
#include "layout/registry.h"
#include "realm/config.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"
#include "realm/identity.h"
#include "realm/resolve.h"
#include "realm/store_url.h"
#include "realm/worktrees.h"
#include "snapshot/site/realm_keeper.h"

namespace lockkeeper::enforce::hook {
namespace {

// Where the client was started, which its current folder may leave. Clients set several of these
// for each other's hooks; all mean the same.
constexpr const char* kProjectVariables[] = {"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR",
                                             "COPILOT_PROJECT_DIR", "CURSOR_PROJECT_DIR"};

constexpr std::size_t kWorktreesMax = 64;  // that one hook looks at

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

std::string project_folder(const realm::Environment& env) {
  for (const char* const name : kProjectVariables) {
    const auto folder = realm::variable(env, name);
    if (folder && is_absolute(*folder)) return *folder;
  }
  return {};
}

std::vector<ToolRule> tool_rules(const realm::Settings& settings) {
  std::vector<ToolRule> rules;
  for (const realm::HookToolRule& rule : settings.hook_tools) {
    rules.push_back({rule.tool, rule.paths, rule.does});
  }
  return rules;
}

// What is typed at a command line may be corrected. The name of a file that is there is what it is.
Error without_wrong_advice(Error error, const std::string& typed) {
  if (error.code != Code::kInvalidResource) return error;
  std::string_view name = typed;
  while (name.ends_with('/')) name.remove_suffix(1);
  const bool backslash = name.find('\\') != std::string_view::npos;
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  const bool blank = key::trim_end(name).size() != name.size();
  if (!backslash && !control && !blank) return error;
  error.message = quote(typed) + " cannot be locked: its name " +
                  (control     ? "has a control character"
                   : backslash ? "has a backslash"
                               : "ends in a blank");
  error.hint =
      "rename the file, or name it under [hook] ignore in lockkeeper.toml to leave it unguarded";
  return error;
}

// Gemini CLI names its session to hooks alone. Its shells and MCP servers know its process, and
// they are the same agent.
core::Owner owner_of(const World& world, const Event& event) {
  const auto named = realm::variable(world.runtime->env, "LOCKKEEPER_AGENT");
  const bool by_process = event.client == Client::kGemini && !world.process_session.empty();
  std::string session = by_process ? world.process_session : event.session;
  if (!event.subagent.empty()) session += "/" + event.subagent;
  return {named ? *named : std::string(agent_name(event.client)), std::move(session)};
}

// Its own, and that of the `run` that its client was started by.
std::vector<core::Owner> identities_of(const World& world, const Event& event) {
  std::vector<core::Owner> all{owner_of(world, event)};
  const realm::Environment& env = world.runtime->env;
  const auto session = realm::variable(env, "LOCKKEEPER_SESSION");
  const auto agent = realm::variable(env, "LOCKKEEPER_AGENT");
  if (agent && session) all.push_back({*agent, *session});
  return all;
}

}  // namespace

std::string Target::path() const {
  return std::string(key::path_body(resources.front().text()));
}

Place::Place(const service::Runtime& runtime, realm::Realm realm, realm::Settings settings,
             std::vector<Error> mistakes, const core::Owner& owner, service::ParentLease parent)
    : mistakes_(std::move(mistakes)),
      site_(runtime, std::move(realm), std::move(settings)),
      locks_(site_, owner, std::move(parent)) {}

bool Place::is_settings_file(const std::string& absolute) const {
  return absolute == realm::join_path(worktree(), realm::kRepositoryConfigName) ||
         absolute == realm::join_path(realm().store_folder, realm::kLocalConfigName);
}

bool Place::has_table() const {
  if (site_.server() != nullptr) return true;
  // What cannot be told is found out by whoever opens it.
  const auto state = realm::check_store(realm());
  return !state || *state == realm::StoreState::kPresent;
}

bool Place::blocks_after(const Error& error) const {
  const bool silent = error.code == Code::kStoreUnavailable || error.code == Code::kUnknown;
  const bool offline = site_.server() != nullptr && silent;
  return offline ? settings().hook_block_offline.value : settings().hook_block_on_failure.value;
}

snapshot::Keeper* Place::keeper() {
  if (keeper_) return keeper_.get();
  site_.make_folder();
  keeper_ = snapshot::keeper_of(realm(), settings());
  return keeper_.get();
}

void Place::note_kept(const Result<void>& kept) {
  if (!kept && !unkept_) unkept_ = kept.error();
}

std::int64_t Place::keeping_ms(std::int64_t now_mono_ms) {
  if (keeps_since_mono_ms_ == 0) keeps_since_mono_ms_ = now_mono_ms;
  return now_mono_ms - keeps_since_mono_ms_;
}

Session::Session(const World& world, const Event& event)
    : Session(world, event, identities_of(world, event)) {}

Session::Session(const World& world, const Event& event, std::vector<core::Owner> identities)
    : world_(world),
      event_(event),
      owner_(identities.front()),
      identities_(std::move(identities)),
      folder_(is_absolute(event.cwd) ? event.cwd : world.cwd),
      home_folder_(project_folder(world.runtime->env)) {
  if (home_folder_.empty()) home_folder_ = folder_;
}

Result<void> Session::check() const {
  LK_CHECK(realm::check_agent_name(owner_.agent, "LOCKKEEPER_AGENT"));
  LK_CHECK(realm::check_session_name(event_.session, "session_id"));
  if (event_.session.find('/') == std::string::npos &&
      event_.subagent.find('/') == std::string::npos) {
    return realm::check_session_name(owner_.session, "session_id");
  }
  return fail(Code::kInvalidInput, "session_id " + quote(owner_.session, 60) + " contains a '/'",
              "the payload is not what this client sends");
}

Result<Place*> Session::place_of(const realm::Realm& realm) {
  const auto known = places_.find(realm.root);
  if (known != places_.end()) return known->second.get();
  realm::Realm chosen = realm;
  const service::Runtime& runtime = *world_.runtime;
  LK_CHECK(realm::choose_store(chosen, "", runtime.env));
  std::vector<Error> mistakes;
  LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime, chosen, &mistakes));
  LK_ASSIGN(service::ParentLease under, service::parent_lease_from(runtime.env, chosen));
  auto place = std::make_unique<Place>(runtime, std::move(chosen), std::move(settings),
                                       std::move(mistakes), owner_, std::move(under));
  // A hub knows this agent by its person, too; what is read there is compared with these.
  owner_ = place->site().known_as(owner_);
  for (core::Owner& each : identities_) each = place->site().known_as(each);
  return places_.emplace(realm.root, std::move(place)).first->second.get();
}

Result<Place*> Session::place_at(const std::string& root) {
  auto realm = realm::realm_of(root, world_.runtime->env);
  if (!realm && realm.error().code == Code::kNotFound) return nullptr;
  if (!realm) return fail(std::move(realm.error()));
  return place_of(*realm);
}

Result<Place*> Session::home() {
  return place_at(home_folder_);
}

service::Names Session::names_of(const Place& place) {
  service::Names names;
  const auto here = home();
  if (here && *here != nullptr && (*here)->worktree() == place.worktree()) return names;
  names.place = place.worktree() + "/";
  if (!here || *here == nullptr) return names;
  const std::string above = (*here)->worktree() + "/";
  if (names.place.starts_with(above)) names.place.erase(0, above.size());
  return names;
}

Result<Touch> Session::touch_of(const ToolCall& call) {
  LK_ASSIGN(Place* const place, home());
  const std::vector<ToolRule> rules =
      place == nullptr ? std::vector<ToolRule>() : tool_rules(place->settings());
  return enforce::touch_of(event_.client, call, rules);
}

Result<Sorted> Session::sort(const Touch& touch) {
  Sorted sorted;
  for (const std::string& typed : touch.paths) {
    const std::string absolute = is_absolute(typed) ? typed : realm::join_path(folder_, typed);
    LK_ASSIGN(Place* const place, place_at(absolute));
    if (place == nullptr) {
      sorted.outside.push_back(typed);
      continue;
    }
    // Whoever corrects the settings must not be kept from it by their mistake.
    const bool wrong = !place->mistakes().empty();
    if (wrong && place->is_settings_file(absolute)) continue;
    // Some of what is ignored cannot be locked at all, such as git's own files.
    const std::string root = place->worktree() + "/";
    if (absolute.starts_with(root) &&
        realm::hook_ignores(place->settings(), absolute.substr(root.size()))) {
      continue;
    }
    realm::Resolver resolver(place->realm(), place->settings().key_rules(place->realm()),
                             {realm::Base::kCwd, folder_}, world_.runtime->env);
    auto all = resolver.resolve_all(absolute, key::Syntax::kLiteral);
    if (!all) return fail(without_wrong_advice(std::move(all.error()), typed));
    Target target{.typed = typed, .resources = {}};
    for (const key::Parsed& parsed : *all) target.resources.push_back(parsed.resource);
    target.replaced = std::ranges::find(touch.replaced, typed) != touch.replaced.end();
    if (realm::hook_ignores(place->settings(), target.path())) continue;
    if (wrong && place->is_settings_file(realm::join_path(place->worktree(), target.path()))) {
      continue;
    }
    const realm::HookPolicy policy =
        realm::hook_policy_for(place->settings(), target.resources.front());
    if (policy == realm::HookPolicy::kOff && !wrong) continue;
    auto there = std::ranges::find(sorted.places, place, &Targets::place);
    if (there == sorted.places.end()) there = sorted.places.insert(there, {place, {}});
    there->files.push_back(std::move(target));
  }
  return sorted;
}

std::int64_t wall_ms_of(const Session& session, std::int64_t mono_ms) {
  const Now now = session.now();
  return now.wall_ms - (now.mono_ms - mono_ms);
}

std::int64_t begun_wall_ms(const Session& session, const std::vector<core::RunningCall>& calls) {
  std::int64_t begun_mono_ms = session.now().mono_ms;
  for (const core::RunningCall& call : calls) {
    begun_mono_ms = std::min(begun_mono_ms, call.begun_mono_ms);
  }
  return wall_ms_of(session, begun_mono_ms);
}

std::int64_t begun_wall_ms(const Session& session, Place& place,
                           const std::vector<core::RunningCall>& calls) {
  constexpr std::int64_t kOnTheWayMs = 1'000;
  const std::int64_t begun_ms = begun_wall_ms(session, calls);
  return place.site().server() == nullptr ? begun_ms : begun_ms - kOnTheWayMs;
}

std::vector<Place*> other_places(Session& session, Place& home) {
  std::vector<Place*> places;
  std::vector<std::string> roots = realm::worktree_roots(home.worktree(), home.realm().common_dir);
  if (roots.size() > kWorktreesMax) roots.resize(kWorktreesMax);
  const auto is_mine = [&](const core::Owner& owner) {
    const core::Owner& me = session.owner();
    return owner == me || core::is_part_of(owner, me) || core::is_part_of(me, owner);
  };
  std::set<std::string> claimed;
  if (roots.size() > 1) {
    service::ListCommand all;
    all.scan_layouts = false;
    const auto list = home.locks().list(all);
    for (const auto& each : list ? list->leases : std::vector<service::ListedLease>()) {
      if (is_mine(each.lease.owner)) claimed.insert(each.lease.terms.worktree);
    }
  }
  for (const std::string& root : roots) {
    if (root == home.worktree()) continue;
    bool mine = claimed.contains(root);
    if (!mine) {
      const auto look = home.locks().look(root);
      mine = look && std::ranges::any_of(look->traces, is_mine, &core::Trace::owner);
    }
    const auto place = mine ? session.place_at(root) : Result<Place*>(nullptr);
    if (place && *place != nullptr) places.push_back(*place);
  }
  return places;
}

service::AcquireCommand edit_command(const Session& session, const Place& place) {
  service::AcquireCommand command;
  command.attach_pid = session.world().client_pid;
  const std::int64_t longest_ms = place.settings().lease_longest_ms.value;
  if (command.attach_pid && longest_ms != kNoEnd) command.ttl_ms = longest_ms;
  return command;
}

}  // namespace lockkeeper::enforce::hook
