#include "hub/lfs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/parse.h"
#include "base/sha256.h"
#include "base/text.h"
#include "git/reader.h"
#include "service/report.h"

namespace lockkeeper::hub {
namespace {

constexpr std::uint64_t kPageMost = 1'000;
constexpr std::size_t kIdDigits = 32;    // of the lease
constexpr std::size_t kPathDigits = 16;  // of the path's digest
constexpr const char* kPlainAgent = "git-lfs";

// A lease may have many files, and each lock needs an id of its own.
std::string lock_id(const core::Lease& lease, const std::string& path) {
  return lease.id.text() + sha256_hex(path).substr(0, kPathDigits);
}

// Whose agent it is: what the client's settings send with each request, or the person's own.
std::string agent_of(const Visit& visit) {
  for (const char* const name : {"Lockkeeper-Agent", "X-Lockkeeper-Agent"}) {
    const std::string* const value = visit.request.header(name);
    if (value != nullptr && !value->empty()) return *value;
  }
  return kPlainAgent;
}

// "backend@alice, until 2026-01-17 16:30 UTC"
std::string owner_name(const core::Lease& lease) {
  if (lease.expires_wall_ms == kNoEnd) return lease.owner.agent;
  constexpr std::size_t kDate = 10, kTime = 11, kMinutes = 5;
  const std::string end = format_time(lease.expires_wall_ms);
  return lease.owner.agent + ", until " + end.substr(0, kDate) + " " + end.substr(kTime, kMinutes) +
         " UTC";
}

// Without a repository nothing is tracked: then only files that are named are shown.
Result<std::vector<std::string>> tracked_files(const realm::Realm& realm) {
  if (!realm.in_git) return std::vector<std::string>();
  git::Options options;
  options.reads_files = false;
  LK_ASSIGN(const git::Reader reader, git::Reader::open(realm.root, options));
  // What is committed, where there is no index.
  const std::vector<std::string> words =
      realm.bare ? std::vector<std::string>{"ls-tree", "-r", "--name-only", "-z", "HEAD"}
                 : std::vector<std::string>{"ls-files", "-z"};
  LK_ASSIGN(const std::string listed, reader.ask(words));
  return git::split_at_nul(listed);
}

Answer with_message(const Error& error) {
  std::string message = error.message;
  if (!error.hint.empty()) message += " (" + error.hint + ")";
  return {http_status(error.code), {{"message", std::move(message)}}};
}

}  // namespace

void Lfs::handle(const Visit& visit) {
  const auto reply = [&](const Answer& answer) {
    visit.reply->whole(answer.status, {{"Content-Type", "application/vnd.git-lfs+json"}},
                       service::dump(answer.json) + "\n");
  };
  const std::vector<std::string>& names = visit.target.names;
  // A realm may have that name, too: the last one counts.
  const auto last = std::ranges::find(names.rbegin(), names.rend(), "locks");
  const auto after = static_cast<std::size_t>(last - names.rbegin()) + 1;
  const std::size_t at = names.size() - std::min(after, names.size());
  const std::string realm_name = at < 2 ? "" : join(std::span(names).subspan(1, at - 1), "/");
  const auto answered = [&]() -> Result<Answer> {
    const auto none = fail(Code::kNotFound, "only locks are served here, at /lfs/REALM/locks",
                           "leave the objects where they are: set lfs.url for locking alone");
    if (realm_name.empty()) return none;
    LK_ASSIGN(HubRealm* const realm, realms_.find(realm_name, visit.person));
    LK_ASSIGN(const auto seat, Seat::take(desk_, *realm, visit.person, {agent_of(visit), ""}));
    const bool posts = visit.request.method == "POST";
    if (after == 1 && visit.request.method == "GET") return list(*seat, visit);
    if (after == 1 && posts) return create(*seat, visit);
    if (after == 2 && posts && names.back() == "verify") return verify(*seat, visit);
    if (after == 3 && posts && names.back() == "unlock") {
      return unlock(*seat, visit, names[names.size() - 2]);
    }
    return none;
  }();
  reply(answered ? *answered : with_message(answered.error()));
}

Json Lfs::json_of(const FileLock& lock) {
  return {{"id", lock.id},
          {"path", lock.path},
          {"locked_at", format_time(lock.lease.acquired_wall_ms)},
          {"owner", {{"name", owner_name(lock.lease)}}}};
}

// Every file that somebody holds: those named by a lease, and the tracked ones below its folders
// and patterns. A shared lease keeps others from changing it, too.
Result<std::vector<Lfs::FileLock>> Lfs::all(Seat& seat) {
  LK_ASSIGN(const service::ListReply reply, seat.locks.list({}));
  std::vector<FileLock> found;
  std::set<std::string> ids;
  std::vector<std::pair<const core::Lease*, const key::Resource*>> wide;
  for (const service::ListedLease& listed : reply.leases) {
    for (const core::Claim& claim : listed.lease.claims) {
      if (claim.resource.kind() == key::Kind::kFile) {
        const std::string path = claim.resource.text();
        found.push_back({lock_id(listed.lease, path), path, listed.lease, true});
        ids.insert(found.back().id);
      } else if (claim.resource.is_path()) {
        wide.emplace_back(&listed.lease, &claim.resource);
      }
    }
  }
  if (wide.empty()) return found;
  LK_ASSIGN(const std::vector<std::string> tracked, tracked_files(seat.realm.site.realm()));
  const key::Rules rules = seat.realm.site.key_rules();
  for (const std::string& path : tracked) {
    const auto file = key::parse(path, rules, key::Syntax::kLiteral);
    if (!file) continue;  // no lease can be about such a name
    for (const auto& [lease, resource] : wide) {
      if (!key::may_overlap(*resource, file->resource)) continue;
      const std::string id = lock_id(*lease, path);
      if (ids.insert(id).second) found.push_back({id, path, *lease, false});
    }
  }
  return found;
}

Result<Lfs::Page> Lfs::page(std::vector<FileLock> locks, const std::string& cursor,
                            std::uint64_t limit) {
  const auto begin =
      cursor.empty() ? std::optional<std::size_t>(0) : number_in<std::size_t>(cursor);
  if (!begin) {
    return fail(Code::kInvalidInput, "the cursor " + quote(cursor) + " is not one of ours",
                "begin again without it");
  }
  const std::size_t most = limit == 0 ? kPageMost : std::min(limit, kPageMost);
  Page page;
  const std::size_t from = std::min(*begin, locks.size());
  const std::size_t to = std::min(from + most, locks.size());
  for (std::size_t i = from; i < to; ++i) page.locks.push_back(std::move(locks[i]));
  if (to < locks.size()) page.next = std::to_string(to);
  return page;
}

Result<Answer> Lfs::create(Seat& seat, const Visit& visit) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const std::string path = body.text("path").value_or("");
  service::AcquireCommand command;
  command.wanted = Seat::wanted({path});
  command.wanted.syntax = key::Syntax::kLiteral;
  command.terms.reason = "git lfs lock";
  const realm::Settings& settings = seat.realm.site.settings();
  const std::int64_t longest = settings.lease_longest_ms.value;
  if (longest != kNoEnd || settings.lease_endless.value) command.ttl_ms = longest;
  LK_ASSIGN(const service::AcquireResult result, seat.locks.acquire(command));
  if (result.outcome == core::Outcome::kGranted) {
    const std::string& name = result.lease.claims.front().resource.text();
    return Answer{201,
                  {{"lock", json_of({lock_id(result.lease, name), name, result.lease, true})}}};
  }
  const bool own = result.outcome == core::Outcome::kRenewed;
  if (!own && result.conflicts.empty()) return fail(Code::kHeld, path + " is held", "try again");
  const core::Lease& held = own ? result.lease : result.conflicts.front().holder;
  return Answer{409,
                {{"lock", json_of({lock_id(held, path), path, held, own})},
                 {"message", own ? "you have locked it already"
                                 : service::refusal(result, service::HintContext{}).message}}};
}

Result<Answer> Lfs::list(Seat& seat, const Visit& visit) {
  LK_ASSIGN(std::vector<FileLock> found, all(seat));
  const std::string path = visit.target.value("path");
  const std::string id = visit.target.value("id");
  std::erase_if(found, [&](const FileLock& lock) {
    return (!path.empty() && lock.path != path) || (!id.empty() && lock.id != id);
  });
  // One lock for each path: more would be "ambiguous" to the client. A lease on the file is first.
  if (!path.empty() && found.size() > 1) found.resize(1);
  const auto limit = number_in<std::uint64_t>(visit.target.value("limit")).value_or(0);
  LK_ASSIGN(const Page part, page(std::move(found), visit.target.value("cursor"), limit));
  Json json{{"locks", Json::array()}};
  for (const FileLock& lock : part.locks) json["locks"].push_back(json_of(lock));
  if (!part.next.empty()) json["next_cursor"] = part.next;
  return Answer{200, std::move(json)};
}

// What is another's must not be pushed. Without an agent's name, all of the person's is its own.
Result<Answer> Lfs::verify(Seat& seat, const Visit& visit) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const std::string cursor = body.text("cursor").value_or("");
  const auto limit = body.number("limit").value_or(0);
  LK_ASSIGN(std::vector<FileLock> found, all(seat));
  LK_ASSIGN(const Page part, page(std::move(found), cursor, limit));
  const bool whole_person = agent_of(visit) == kPlainAgent && !visit.person.name.empty();
  Json json{{"ours", Json::array()}, {"theirs", Json::array()}};
  for (const FileLock& lock : part.locks) {
    const core::Owner& owner = lock.lease.owner;
    const bool ours =
        !lock.lease.foreign &&
        (whole_person ? visit.person.owns(owner) : owner.agent == seat.locks.owner().agent);
    json[ours ? "ours" : "theirs"].push_back(json_of(lock));
  }
  if (!part.next.empty()) json["next_cursor"] = part.next;
  return Answer{200, std::move(json)};
}

Result<Answer> Lfs::unlock(Seat& seat, const Visit& visit, const std::string& id) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const bool force = body.flag("force");
  LK_ASSIGN(const std::vector<FileLock> found, all(seat));
  const auto lock = std::ranges::find(found, id, &FileLock::id);
  if (lock == found.end() || id.size() != kIdDigits + kPathDigits) {
    return fail(Code::kNotFound, "there is no lock " + quote(id), "see: git lfs locks");
  }
  Answer done{200, {{"lock", json_of(*lock)}}};
  if (!force) {
    if (!lock->exact) {
      return fail(Code::kOperationNotPermitted,
                  lock->path + " is held as a part of a larger lease of " + lock->lease.owner.agent,
                  "release that: lockkeeper release --lease " + lock->lease.id.text());
    }
    service::ReleaseCommand command;
    command.wanted = Seat::wanted({lock->path});
    command.wanted.syntax = key::Syntax::kLiteral;
    LK_ASSIGN(const core::ReleaseReply reply, seat.locks.release(command));
    if (const auto error = service::release_error(reply, false)) return fail(*error);
    return done;
  }
  service::BreakCommand command;
  command.lease_ids = {lock->lease.id.text()};
  command.reason = "git lfs unlock --force";
  LK_CHECK(seat.locks.break_leases(command));
  return done;
}

}  // namespace lockkeeper::hub
