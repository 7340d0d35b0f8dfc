#include "guard/scene.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/sessions.h"
#include "guard/stale.h"
#include "guard/taken_back.h"
#include "key/path.h"
#include "layout/registry.h"
#include "realm/disk_path.h"
#include "realm/store_url.h"
#include "service/messages.h"

namespace lockkeeper::guard {
namespace {

constexpr std::size_t kCheckedAtOnce = 1'000;
constexpr std::size_t kToldAtOnce = 100;

bool is_nothing(const std::string& id) {
  return id.find_first_not_of('0') == std::string::npos;
}

// A name that cannot be locked is judged as its folder's next best name: a lock on the folder still
// covers it.
std::optional<key::Resource> resource_of(const std::string& path, const key::Rules& rules) {
  if (auto parsed = key::parse(path, rules, key::Syntax::kLiteral)) return parsed->resource;
  std::string plain;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    plain += byte < 0x20 || byte >= 0x7f || c == '\\' ? '_' : c;
  }
  while (plain.ends_with(' ')) plain.back() = '_';
  if (auto parsed = key::parse(plain, rules, key::Syntax::kLiteral)) return parsed->resource;
  return std::nullopt;
}

// When the file got its content; `otherwise` if it is gone.
std::int64_t changed_at(const std::string& file, std::int64_t otherwise) {
  struct stat info{};
  if (::lstat(file.c_str(), &info) != 0) return otherwise;
  return std::int64_t{info.st_mtim.tv_sec} * 1'000 + info.st_mtim.tv_nsec / 1'000'000;
}

}  // namespace

Scene::Scene(const World& world, const Repository& repository, Party party, realm::Realm realm,
             realm::Settings settings, service::ParentLease parent)
    : repository_(repository),
      party_(std::move(party)),
      site_(*world.runtime, std::move(realm), std::move(settings)),
      parent_(std::move(parent)),
      locks_(site_, party_.owner, parent_),
      notebook_(Notebook::open(site_.realm())) {
  party_.owner = locks_.owner();  // as a hub knows it
  for (core::Owner& each : party_.also) each = site_.known_as(each);
}

Result<std::unique_ptr<Scene>> Scene::open(const World& world, const Repository& repository) {
  const service::Runtime& runtime = *world.runtime;
  auto realm = realm::realm_of(repository.folder, runtime.env);
  if (!realm && realm.error().code == Code::kNotFound) return nullptr;
  if (!realm) return fail(std::move(realm.error()));
  if (realm->bare || !realm->in_git) return nullptr;
  LK_CHECK(realm::choose_store(*realm, "", runtime.env));
  LK_ASSIGN(const realm::StoreState store, realm::check_store(*realm));
  auto loaded = layout::load_settings(runtime, *realm);
  const bool nowhere = store == realm::StoreState::kAbsent && loaded && !loaded->server;
  if (nowhere) return nullptr;  // neither here nor on a hub
  LK_ASSIGN(realm::Settings settings, std::move(loaded));
  Party party;
  if (world.party) {
    party = *world.party;
  } else {
    LK_ASSIGN(party, find_party(world.who));
  }
  // Variables that make no sense are no reason to fail: a commit needs no lease.
  auto parent = service::parent_lease_from(runtime.env, *realm);
  std::unique_ptr<Scene> scene(new Scene(world, repository, std::move(party), std::move(*realm),
                                         std::move(settings),
                                         parent ? *parent : service::ParentLease()));
  if (scene->policy() == realm::GitPolicy::kOff) return nullptr;
  // Whoever has lost that lease commits on its own.
  if (!scene->lost_lease().empty()) {
    scene->locks_ = service::Locks(scene->site_, scene->party_.owner);
  }
  return scene;
}

realm::GitPolicy Scene::policy() const {
  const realm::Settings& settings = site_.settings();
  return party_.person ? settings.git_people.value : settings.git_policy.value;
}

bool Scene::blocks_on_failure() const {
  const realm::Settings& settings = site_.settings();
  const bool blocks =
      settings.server ? settings.hook_block_offline.value : settings.hook_block_on_failure.value;
  return policy() == realm::GitPolicy::kBlock && blocks;
}

std::string Scene::lost_lease() {
  if (parent_.lease == core::LeaseId()) return {};
  const auto current = locks_.is_current(parent_.lease, parent_.fence);
  if (!current || *current) return {};
  return "made by " + service::owner_text(party_.owner) + " after its lock was lost";
}

std::vector<CommittedPath> Scene::committed(const std::vector<git::Difference>& differences) const {
  const key::Rules rules = site_.key_rules();
  const std::int64_t now = now_wall_ms();
  std::vector<CommittedPath> paths;
  for (const git::Difference& each : differences) {
    const auto resource = resource_of(each.path, rules);
    if (!resource) continue;
    CommittedPath path{.path = each.path,
                       .resource = *resource,
                       .name = std::string(key::path_body(resource->text())),
                       .head_id = is_nothing(each.old_id) ? std::string() : each.old_id,
                       .new_id = is_nothing(each.id) ? std::string() : each.id};
    path.changed_wall_ms = changed_at(realm::join_path(worktree(), each.path), now);
    paths.push_back(std::move(path));
  }
  return paths;
}

// A copy of what the commit before has anywhere is a copy of that.
void Scene::drop_old_copies(const std::string& parent, const std::vector<CommittedPath>& paths,
                            std::vector<Finding>& findings) const {
  const auto is_copy = [](const Finding& one) { return !one.copy_of.empty(); };
  if (std::ranges::none_of(findings, is_copy)) return;
  const auto reader = reader_of(repository_);
  const auto tree = reader ? reader->ask({"ls-tree", "-r", "-z", parent, "--"})
                           : Result<std::string>(std::string());
  if (!tree) return;  // they count
  std::erase_if(findings, [&](const Finding& one) {
    const auto path = std::ranges::find(paths, one.path, &CommittedPath::path);
    return is_copy(one) && path != paths.end() && tree->contains(" blob " + path->new_id + "\t");
  });
}

Result<std::vector<Finding>> Scene::judge_paths(const std::vector<CommittedPath>& paths,
                                                const std::string& made_on, const Party* maker) {
  const bool made = !made_on.empty();
  const Party& party = maker == nullptr ? party_ : *maker;
  Around around;
  around.worktree = worktree();
  LK_ASSIGN(service::LookReply seen, locks_.look(worktree()));
  around.traces = std::move(seen.traces);
  around.gone = std::move(seen.gone);
  if (!made) drop_committed_since(*this, paths, around.traces);
  LK_ASSIGN(std::vector<core::Trace> back, taken_back(*this, paths));
  std::ranges::move(back, std::back_inserter(around.traces));
  for (std::span<const CommittedPath> rest = paths; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kCheckedAtOnce));
    rest = rest.subspan(some.size());
    service::CheckCommand command;  // of all worktrees
    for (const CommittedPath& path : some) command.wanted.resources.push_back(path.resource);
    LK_ASSIGN(core::CheckReply reply, locks_.check(command));
    std::ranges::move(reply.conflicts, std::back_inserter(around.in_the_way));
  }
  const bool others = std::ranges::any_of(around.traces, [&](const core::Trace& trace) {
    return !party.has(trace.owner) || !trace.earlier.empty();
  });
  if (others) {
    service::ListCommand everybody;
    everybody.scan_layouts = false;
    LK_ASSIGN(const service::ListReply listed, locks_.list(everybody));
    for (const service::ListedLease& each : listed.leases) {
      if (!each.lease.foreign && party.has(each.lease.owner)) around.own.push_back(each.lease);
    }
  }
  std::vector<Finding> findings = judge(party, paths, around);
  drop_old_copies(made ? made_on : "HEAD", paths, findings);
  return findings;
}

void Scene::tell(const std::string& what, const std::string& cause, const std::string& doing,
                 std::span<const Finding> findings) {
  while (!findings.empty()) {
    const auto some = findings.first(std::min(findings.size(), kToldAtOnce));
    findings = findings.subspan(some.size());
    tell_some(what, cause, doing, some);
  }
}

void Scene::tell_some(const std::string& what, const std::string& cause, const std::string& doing,
                      std::span<const Finding> findings) {
  core::ReportRequest request;
  request.worktree = worktree();
  std::vector<std::pair<std::string, const Finding*>> words;
  for (const Finding& finding : findings) {
    request.notes.push_back({what, {finding.path}, finding.holder, cause});
    std::string word = what;
    for (const std::string* const part :
         {&cause, &finding.path, &finding.holder.agent, &finding.holder.session}) {
      word.append(" ").append(*part);
    }
    request.once.push_back(word);
    words.emplace_back(std::move(word), &finding);
  }
  const auto reply = locks_.report(request);
  if (!reply) return;
  for (const auto& [word, finding] : words) {
    const bool news = std::ranges::find(reply->news, word) != reply->news.end();
    if (!news || finding->foreign || finding->holder.agent.empty()) continue;
    service::SendCommand send;
    send.to = finding->holder;
    send.type = what == "refused" ? "request" : "alert";
    const bool held = finding->why == Finding::Why::kHeld || finding->why == Finding::Why::kEdited;
    send.text = doing + " " + finding->path +
                (finding->copy_of.empty() ? "" : ", a copy of " + finding->copy_of) +
                (held ? ", which you hold" : ", which you have changed and not committed");
    if (what == "refused") send.text += "; that was refused";
    static_cast<void>(service::Messages(site_, party_.owner).send(send));
  }
}

}  // namespace lockkeeper::guard
