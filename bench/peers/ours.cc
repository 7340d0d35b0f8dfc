#include "bench/peers/ours.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "bench/must.h"
#include "wiring/embedded_store.h"
#include "wiring/lock_service.h"

namespace lockkeeper::bench {
namespace {

constexpr int kLeasesPerAgent = 5'000;  // below the quota
constexpr int kLeasesPerCommit = 1'000;
constexpr std::int64_t kLeaseMs = 3'600'000;

Result<void> take(core::Table& table, const core::AcquireRequest& wanted, Place::Fill fill) {
  if (fill == Place::Fill::kChecked) {
    LK_ASSIGN(const core::AcquireReply reply, table.acquire(wanted));
    LOCKKEEPER_ASSERT(reply.outcome == core::Outcome::kGranted);
    return {};
  }
  const core::Context& context = table.state().context();
  core::Lease lease;
  lease.id = core::make_id(wanted.owner, context.ticket);
  lease.owner = wanted.owner;
  lease.claims = wanted.claims;
  lease.terms.ttl_ms = wanted.terms.ttl_ms;
  lease.deadline_mono_ms = context.now.mono_ms + wanted.terms.ttl_ms;
  lease.due_mono_ms = lease.deadline_mono_ms;
  lease.acquired_wall_ms = context.now.wall_ms;
  lease.expires_wall_ms = context.now.wall_ms + wanted.terms.ttl_ms;
  lease.epoch = context.epoch.id;
  lease.fence_offset = context.epoch.fence_offset;
  return table.state().add_lease(lease);
}

class TableClient final : public Client {
 public:
  TableClient(const std::string& folder, Kept kept)
      : place_(folder, kept), agent_("client" + std::to_string(::getpid())) {}
  void pair(const std::string& path) override {
    table_pair(place_.table(), ask_for({path}, agent_));
  }

 private:
  Place place_;
  const std::string agent_;
};

class VerbsClient final : public Client {
 public:
  VerbsClient(const std::string& folder, Kept kept)
      : place_(folder, kept), locks_(place_.site(), {"verbs" + std::to_string(::getpid()), ""}) {}
  void pair(const std::string& path) override { verbs_pair(locks_, path); }

 private:
  Place place_;
  service::Locks locks_;
};

template <class Kind>
class Ours final : public Peer {
 public:
  Ours(std::string name, std::string folder, Kept kept)
      : Peer(std::move(name), kept == Kept::kFull ? "full" : "process", ""),
        folder_(std::move(folder)),
        kept_(kept) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<Kind>(folder_, kept_); }

 private:
  const std::string folder_;
  const Kept kept_;
};

template <class Kind>
Made make(const Setup& setup, const std::string& name, Kept kept, const std::string& where) {
  const std::string folder = setup.fresh(where);
  Place(folder, kept).hold_paths(setup.held);
  return std::make_unique<Ours<Kind>>(name, folder, kept);
}

}  // namespace

std::string state_folder_for(const std::string& folder) {
  return folder + ".state";
}

Place::Place(std::string folder, Kept kept, Open open) : folder_(std::move(folder)) {
  const bool full = kept == Kept::kFull;
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/lockkeeper.toml")
      << "[store]\ndurability = \"" << (full ? "full" : "process") << "\"\n";
  runtime_.clock = &clock_;
  runtime_.random = &random_;
  runtime_.env = [this](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "XDG_STATE_HOME") return state_folder_for(folder_);
    return std::nullopt;
  };
  runtime_.layout_kinds = wiring::layout_kinds();
  runtime_.open_store = [this](const layout::StoreRequest& request) {
    return wiring::open_embedded(runtime_, request);
  };
  if (open) {
    runtime_.open_store =
        [open](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return open();
    };
    runtime_.is_hub = true;
    runtime_.sharing = [](const realm::Realm&) { return layout::Sharing{1, 1}; };
  }
  realm::FindRealm find;
  find.explicit_dir = folder_;
  find.env = runtime_.env;
  const realm::Realm realm = must(realm::find_realm(find));
  LOCKKEEPER_ASSERT(realm.root == std::filesystem::canonical(folder_));
  realm::Settings settings;
  settings.durability.value = full ? realm::Durability::kFull : realm::Durability::kProcess;
  runtime_.make_service = wiring::make_service;
  site_ = std::make_unique<service::Site>(runtime_, realm, settings);
}

void Place::hold(const std::string& prefix, int count, const std::function<std::string(int)>& text,
                 Fill fill) {
  int next = 0;
  const std::uint64_t tickets = table().new_ticket();
  const auto some = [&](core::Table& rows) -> Result<bool> {
    for (int i = 0; i < kLeasesPerCommit && next < count; ++i, ++next) {
      core::Context context = rows.state().context();
      context.ticket = tickets + static_cast<std::uint64_t>(next);
      core::Table table(rows.state().txn(), context);
      const std::string agent = prefix + std::to_string(next / kLeasesPerAgent);
      LK_CHECK(take(table, ask_for({text(next)}, agent), fill));
    }
    return next < count;
  };
  must(table().write(some));
}

void Place::hold_paths(int count) {
  hold("held", count, held_path);
}

core::AcquireRequest ask_for(const std::vector<std::string>& texts, const std::string& agent) {
  core::AcquireRequest wanted;
  wanted.owner = {agent, ""};
  for (const std::string& text : texts) {
    wanted.claims.push_back({must(key::parse(text, {})).resource, core::Mode::kExclusive, 0});
  }
  wanted.terms.ttl_ms = kLeaseMs;
  return wanted;
}

void table_pair(layout::LockTable& table, const core::AcquireRequest& wanted) {
  core::LeaseId id;
  must(table.write([&](core::Table& rows) -> Result<bool> {
    LK_ASSIGN(const core::AcquireReply reply, rows.acquire(wanted));
    LOCKKEEPER_ASSERT(reply.outcome == core::Outcome::kGranted || reply.again);
    id = reply.lease.id;
    return reply.again;
  }));
  must(table.write([&](core::Table& rows) -> Result<bool> {
    LK_ASSIGN(const core::ReleaseReply reply, rows.release_leases(wanted.owner, {id}));
    return reply.again;
  }));
}

void verbs_pair(service::Locks& locks, const std::string& path) {
  service::AcquireCommand acquire;
  acquire.wanted.texts = {path};
  const service::AcquireResult got = must(locks.acquire(acquire));
  LOCKKEEPER_ASSERT(got.outcome == core::Outcome::kGranted);
  service::ReleaseCommand release;
  release.wanted = acquire.wanted;
  LOCKKEEPER_ASSERT(must(locks.release(release)).released.size() == 1);
}

Made make_ours(const Setup& setup, Kept kept) {
  return make<TableClient>(setup, kOursName, kept, "ours");
}

Made make_ours_verbs(const Setup& setup, Kept kept) {
  return make<VerbsClient>(setup, "lockkeeper, paths resolved on disk", kept, "ours-verbs");
}

}  // namespace lockkeeper::bench
