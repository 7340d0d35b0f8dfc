// Giving back, keeping, looking, breaking.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/history.h"
#include "layout/mirror.h"
#include "service/locks.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

std::unexpected<Error> nothing_named(std::string_view verb) {
  return fail(Code::kUsage, std::string(verb) + " needs something to act on",
              "name a resource, or give --lease ID or --all");
}

// `foo` was locked before it was a folder, or the other way round: the same path for who releases.
std::optional<key::Resource> other_spelling(const key::Resource& resource) {
  if (resource.kind() == key::Kind::kFile) {
    auto folder = key::restore(resource.text() + "/", key::Kind::kFolder);
    if (folder) return *folder;
  }
  if (resource.kind() == key::Kind::kFolder && resource.text() != "./") {
    auto file =
        key::restore(resource.text().substr(0, resource.text().size() - 1), key::Kind::kFile);
    if (file) return *file;
  }
  return std::nullopt;
}

// The spelling under which the owner holds it, else as it was named.
Result<key::Resource> as_held(core::Table& table, const core::Owner& owner,
                              const key::Resource& resource) {
  const std::optional<key::Resource> other = other_spelling(resource);
  if (!other) return resource;
  LK_ASSIGN(const std::vector<core::LeaseId> exact, table.holders_of(resource));
  if (!exact.empty()) return resource;
  LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(*other));
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    if (lease != nullptr && lease->owner == owner) return *other;
  }
  return resource;
}

Result<void> expect_lease(core::Table& table, const core::LeaseId& id) {
  LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
  if (lease != nullptr) return {};
  LK_ASSIGN(const std::optional<core::LostLease> lost, table.lost(id));
  if (lost) {
    return fail(Code::kLost, "lease " + id.text() + " was lost before (" + lost->cause + ")",
                "nothing is left to release");
  }
  return fail(Code::kNotFound, "there is no lease " + id.text(), "see: lockkeeper list");
}

Result<std::vector<core::LeaseId>> own_holders(core::Table& table, const core::Owner& owner,
                                               const key::Resource& resource) {
  std::vector<core::LeaseId> own;
  for (const std::optional<key::Resource>& spelling :
       {std::optional<key::Resource>(resource), other_spelling(resource)}) {
    if (!spelling) continue;
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(*spelling));
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
      if (lease != nullptr && lease->owner == owner) own.push_back(id);
    }
  }
  return own;
}

// Takes the ids of other tools' locks out of the list.
Result<std::vector<core::LeaseId>> take_foreign(core::Table& table,
                                                std::vector<core::LeaseId>& ids) {
  std::vector<core::LeaseId> own, others;
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    (lease != nullptr && lease->foreign ? others : own).push_back(id);
  }
  ids = std::move(own);
  return others;
}

void append(core::ReleaseReply& to, core::ReleaseReply from) {
  to.released.insert(to.released.end(), from.released.begin(), from.released.end());
  to.not_held.insert(to.not_held.end(), from.not_held.begin(), from.not_held.end());
  to.not_owner.insert(to.not_owner.end(), from.not_owner.begin(), from.not_owner.end());
}

}  // namespace

Locks::Locks(layout::LockTable& table, core::Owner owner, Under under)
    : table_(table), owner_(std::move(owner)), under_(std::move(under)) {}

Result<kv::Version> Locks::write(const layout::LockTable::Work& work,
                                 const std::function<void()>& committed) {
  if (!along_) return table_.write(work, committed);
  core::Told now;
  const auto with_messages = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const bool again, work(table));
    now = {};
    if (!again) {
      LK_ASSIGN(now, core::take_untold(table.state(), owner_));
    }
    return again;
  };
  return table_.write(with_messages, [&] {
    if (committed) committed();
    for (core::Message& message : now.messages) told_.messages.push_back(std::move(message));
    told_.more = now.more;
  });
}

layout::LockTable::Write Locks::writer() {
  return [this](const layout::LockTable::Work& work, const std::function<void()>& committed) {
    return write(work, committed);
  };
}

Result<bool> Locks::read(const layout::LockTable::Look& look) {
  if (!along_) return table_.read(look);
  return table_.read([&](core::Table& table) -> Result<void> {
    LK_CHECK(look(table));
    LK_ASSIGN(untold_, core::has_untold(table.state(), owner_));
    return {};
  });
}

Result<core::Told> Locks::messages() {
  if (untold_) {
    LK_CHECK(write([](core::Table&) -> Result<bool> { return false; }));
    untold_ = false;
  }
  return std::exchange(told_, {});
}

Result<Locks::Resolved> Locks::resolve(const Wanted& wanted) const {
  Resolved resolved;
  const key::Rules rules = table_.settings().key_rules(table_.realm());
  realm::Resolver resolver(table_.realm(), rules, wanted.base, table_.runtime().env,
                           {wanted.convert_backslash});
  for (const std::string& text : wanted.texts) {
    LK_ASSIGN(key::Parsed parsed, resolver.resolve(text, wanted.syntax));
    resolved.resources.push_back(std::move(parsed.resource));
    for (std::string& warning : parsed.warnings) resolved.warnings.push_back(std::move(warning));
  }
  resolved.resources.insert(resolved.resources.end(), wanted.resources.begin(),
                            wanted.resources.end());
  return resolved;
}

Result<std::vector<core::LeaseId>> Locks::parse_ids(const std::vector<std::string>& texts) const {
  std::vector<core::LeaseId> ids;
  for (const std::string& text : texts) {
    const std::optional<core::LeaseId> id = core::LeaseId::from_text(text);
    if (!id) {
      return fail(Code::kNotFound, quote(text) + " is not the id of a lease",
                  "ids are 32 hexadecimal digits; see: lockkeeper list");
    }
    ids.push_back(*id);
  }
  return ids;
}

Result<core::ReleaseReply> Locks::release(const ReleaseCommand& command) {
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(const std::vector<core::LeaseId> named, parse_ids(command.lease_ids));
  const bool by_id = !named.empty() || !command.task.empty() || command.all;
  if (resolved.resources.empty() && !by_id) return nothing_named("release");
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  core::ReleaseReply total;
  if (by_id) LK_CHECK(release_by_id(command, named, total));
  if (!resolved.resources.empty()) {
    LK_CHECK(release_by_name(resolved.resources, total, mirrored ? &mirror : nullptr));
    if (mirrored) static_cast<void>(mirror.refresh_all(owner_));
  }
  // It is released; what shows it is removed by who comes next, if not now (I9).
  if (mirrored) static_cast<void>(mirror.clean());
  return total;
}

Result<void> Locks::release_by_id(const ReleaseCommand& command,
                                  const std::vector<core::LeaseId>& named,
                                  core::ReleaseReply& total) {
  core::ReleaseReply now;
  bool first = true;
  const auto work = [&](core::Table& table) -> Result<bool> {
    for (const core::LeaseId& id : named) {
      if (first) LK_CHECK(expect_lease(table, id));
    }
    std::vector<core::LeaseId> ids = named;
    if (command.all || !command.task.empty()) {
      LK_ASSIGN(const std::vector<core::LeaseId> own, table.state().leases_of(owner_));
      for (const core::LeaseId& id : own) {
        LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
        if (command.all || (lease != nullptr && lease->terms.task == command.task))
          ids.push_back(id);
      }
    }
    LK_ASSIGN(now, table.release_leases(owner_, ids));
    return now.again;
  };
  const auto committed = [&] {
    append(total, std::move(now));
    first = false;
  };
  LK_CHECK(write(work, committed));
  return {};
}

Result<void> Locks::release_by_name(const std::vector<key::Resource>& resources,
                                    core::ReleaseReply& total, layout::Mirror* mirror) {
  core::ReleaseReply now;
  std::size_t done = 0;  // resources settled by earlier commits
  const auto work = [&](core::Table& table) -> Result<bool> {
    std::vector<key::Resource> rest;
    for (std::size_t i = done; i < resources.size(); ++i) {
      LK_ASSIGN(key::Resource held, as_held(table, owner_, resources[i]));
      rest.push_back(std::move(held));
    }
    LK_ASSIGN(now, table.release(owner_, rest));
    if (mirror != nullptr) LK_CHECK(mirror->trim(table, owner_));
    return now.again;
  };
  const auto committed = [&] {
    done += now.released.size() + now.not_held.size() + now.not_owner.size();
    append(total, std::move(now));
  };
  LK_CHECK(write(work, committed));
  return {};
}

Result<std::vector<core::Lease>> Locks::renew(const RenewCommand& command) {
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(const std::vector<core::LeaseId> named, parse_ids(command.lease_ids));
  if (resolved.resources.empty() && named.empty() && !command.all) return nothing_named("renew");
  std::optional<std::int64_t> ttl_ms;
  if (command.ttl_ms) {
    LK_ASSIGN(ttl_ms, realm::lease_ttl(table_.settings(), command.ttl_ms));
  }
  std::vector<core::Lease> renewed;
  LK_CHECK(write([&](core::Table& table) -> Result<bool> {
    std::vector<core::LeaseId> ids = named;
    if (command.all) {
      LK_ASSIGN(ids, table.state().leases_of(owner_));
    }
    for (const key::Resource& resource : resolved.resources) {
      LK_ASSIGN(const std::vector<core::LeaseId> own, own_holders(table, owner_, resource));
      if (own.empty()) {
        LK_ASSIGN(const std::vector<core::LostLease> lost, table.take_lost_notices(owner_));
        for (const core::LostLease& one : lost) {
          if (std::find(one.resources.begin(), one.resources.end(), resource.text()) !=
              one.resources.end()) {
            return fail(Code::kLost, lost_text(one), "stop changing it and ask for it again");
          }
        }
        return fail(Code::kNotFound, owner_.agent + " holds no lease on " + resource.text(),
                    "see: lockkeeper list --agent " + shell_quote(owner_.agent));
      }
      ids.insert(ids.end(), own.begin(), own.end());
    }
    LK_ASSIGN(renewed, table.renew(owner_, ids, ttl_ms, {}));
    return false;
  }));
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open());
  if (mirrored) {
    // Renewed it is; a file that could not be made younger is, by the next renewal.
    const auto refreshed = mirror.refresh(renewed);
    if (!refreshed && refreshed.error().code != Code::kStoreBusy) return fail(refreshed.error());
  }
  return renewed;
}

Result<core::CheckReply> Locks::check(const CheckCommand& command) {
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  if (resolved.resources.empty()) return nothing_named("check");
  core::AcquireRequest request;
  request.owner = owner_;
  request.under = under_.lease;
  request.under_fence = under_.fence;
  for (key::Resource& resource : resolved.resources) {
    request.claims.push_back({std::move(resource), command.wanted.mode, 0});
  }
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open());
  if (mirrored) LK_CHECK(mirror.scan(request.claims));
  for (bool verified = false;; verified = true) {
    core::CheckReply reply;
    LK_ASSIGN(const bool there, read([&](core::Table& table) -> Result<void> {
                LK_ASSIGN(reply, table.check(request, command.fence));
                return mirrored ? mirror.overlay(&table, request, reply) : Result<void>();
              }));
    if (!there) reply.free = true;
    if (!there && mirrored) LK_CHECK(mirror.overlay(nullptr, request, reply));
    if (!mirrored || !there || reply.free || verified) return reply;
    LK_ASSIGN(const bool changed, mirror.verify(reply.conflicts));
    if (!changed) return reply;
  }
}

Result<std::vector<core::Lease>> Locks::break_leases(const BreakCommand& command) {
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(const std::vector<core::LeaseId> named, parse_ids(command.lease_ids));
  if (resolved.resources.empty() && named.empty() && command.agent.empty()) {
    return nothing_named("break");
  }
  if (command.reason.empty()) {
    return fail(Code::kUsage, "break needs a reason: it goes on record", "add --reason TEXT");
  }
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  // A lock that nobody has looked at yet can be meant, too. What cannot be read is not in the way.
  if (mirrored) static_cast<void>(mirror.tick());
  std::vector<core::Lease> broken;
  std::vector<core::LeaseId> of_agent;
  if (!command.agent.empty()) {
    LK_ASSIGN(const ListReply all, list({command.agent, {}, {}}));
    for (const ListedLease& listed : all.leases) of_agent.push_back(listed.lease.id);
  }
  std::vector<core::Lease> now;
  std::vector<core::LeaseId> others;  // of other tools
  const auto work = [&](core::Table& table) -> Result<bool> {
    std::vector<core::LeaseId> ids = named;
    ids.insert(ids.end(), of_agent.begin(), of_agent.end());
    for (const key::Resource& resource : resolved.resources) {
      LK_ASSIGN(const std::vector<core::LeaseId> holders, table.holders_of(resource));
      ids.insert(ids.end(), holders.begin(), holders.end());
    }
    LK_ASSIGN(others, take_foreign(table, ids));
    if (command.foreign) return false;
    const core::BreakRequest how{owner_, command.reason, command.only_expired, command.only_dead,
                                 command.cause};
    LK_ASSIGN(now, table.break_leases(how, ids));
    // Ids that are gone are passed over, so asking again with the same list goes on where it was.
    return !now.empty() && now.size() < ids.size();
  };
  const auto committed = [&] { broken.insert(broken.end(), now.begin(), now.end()); };
  LK_CHECK(table_.write(work, committed));
  if (command.foreign) {
    LK_ASSIGN(broken, break_foreign(command, others));
  } else if (broken.empty() && !others.empty()) {
    return fail(Code::kOperationNotPermitted, "that lock is another tool's: nothing was broken",
                "to remove it from the disk, on record, add --foreign");
  }
  if (mirrored) static_cast<void>(mirror.clean());
  if (broken.empty()) {
    return fail(Code::kNotFound, "no lease matches: nothing was broken",
                "break takes the key exactly as held; see: lockkeeper list");
  }
  return broken;
}

Result<std::vector<core::LostLease>> Locks::take_lost_notices() {
  std::vector<core::LostLease> lost;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(lost, table.take_lost_notices(owner_));
    return false;
  }));
  return lost;
}

Result<bool> Locks::is_current(const core::LeaseId& id, std::uint64_t fence) {
  bool current = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    if (lease == nullptr || lease->fence() != fence) return {};
    LK_ASSIGN(const core::Condition now, condition(table.state(), *lease));
    current = !now.over;
    return {};
  }));
  return current;
}

Result<void> Locks::purge(bool history) {
  LK_ASSIGN(const bool there, table_.read([](core::Table&) -> Result<void> { return {}; }));
  if (!there) return {};
  constexpr std::size_t kAtOnce = 1'000;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const bool again, table.maintain(kAtOnce));
    if (!history) return again;
    LK_ASSIGN(const bool more, core::forget_history(table.state(), kAtOnce));
    return again || more;
  }));
  return {};
}

Result<Under> under_from(const realm::Environment& env) {
  const std::optional<std::string> lease = realm::variable(env, "LOCKKEEPER_LEASE");
  const std::optional<std::string> fence = realm::variable(env, "LOCKKEEPER_FENCE");
  if (!lease && !fence) return Under{};
  const std::optional<core::LeaseId> id = lease ? core::LeaseId::from_text(*lease) : std::nullopt;
  Under under;
  if (id) under.lease = *id;
  const std::string digits = fence.value_or("");
  for (const char c : digits) {
    if (c < '0' || c > '9' || digits.size() > 16)
      return fail(Code::kInvalidInput,
                  "LOCKKEEPER_FENCE is " + quote(digits) + ", which is not a fence",
                  "unset LOCKKEEPER_LEASE and LOCKKEEPER_FENCE, or run under: lockkeeper run");
    under.fence = under.fence * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!id || digits.empty()) {
    return fail(Code::kInvalidInput,
                "LOCKKEEPER_LEASE is " + quote(lease.value_or("")) + " and LOCKKEEPER_FENCE is " +
                    quote(digits) + ": they come together, as `lockkeeper run` sets them",
                "unset both, or run under: lockkeeper run");
  }
  return under;
}

}  // namespace lockkeeper::service
