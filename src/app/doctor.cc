#include "app/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/etcd_doctor.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/check_list.h"
#include "cli/verbs/client_checks.h"
#include "core/audit.h"
#include "core/browse.h"
#include "core/rebuild.h"
#include "dialect/unjoined.h"
#include "kv/lmdb/doctor.h"
#include "kv/lmdb/lmdb_store.h"
#include "layout/check.h"
#include "layout/leftovers.h"
#include "layout/make_store.h"
#include "layout/registry.h"
#include "snapshot/site/realm_keeper.h"
#include "wiring/embedded_store.h"
#include "wiring/etcd/etcd_store.h"

namespace lockkeeper::app {
namespace {

// The doctor checks rows, not processes.
class NoProber final : public core::Prober {
 public:
  core::Alive probe(const core::Attachment&) const override { return core::Alive::kUnknown; }
};

using cli::Repair;

class Doctor {
 public:
  explicit Doctor(cli::VerbContext& context)
      : context_(context), out_(context.out()), list_(context.out()) {}

  int examine(Repair how) {
    if (wiring::is_etcd(context_.common().store.value_or(""))) {
      list_.json()["store"] = wiring::shown_etcd(*context_.common().store);
      check_etcd(*context_.common().store, context_.runtime().env, how, list_);
      return finish();
    }
    const auto realm = look_at_realm();
    if (!realm) return finish();
    look_at_settings(*realm);
    look_at_identity();
    const bool remote = asks_hub(*realm);
    if (!remote || how != Repair::kNo) check_store(*realm, how);
    if (remote) {
      look_at_hub();
    } else {
      if (!list_.first()) look_at_leases();
      if (!list_.first()) look_at_layouts();
    }
    if (how == Repair::kNo) check_served_etcd(context_.runtime().env, list_);
    look_at_snapshots(*realm);
    look_for_other_tools(*realm);
    interrupted_ = cli::check_clients(context_, *realm, list_);
    return finish();
  }

 private:
  void good(const std::string& what, const std::string& text) { list_.good(what, text); }
  void note(const std::string& what, const std::string& text) { list_.note(what, text); }
  void bad(const std::string& what, const Error& error) { list_.bad(what, error); }

  int finish() {
    service::Json& json = list_.json();
    json["healthy"] = !list_.first().has_value();
    if (!list_.first() || interrupted_ != 0) {
      out_.object(json);
      return interrupted_;
    }
    if (out_.json()) return out_.failed(*list_.first(), json);
    return exit_status(list_.first()->code);
  }

  std::optional<realm::Realm> look_at_realm() {
    auto realm = context_.realm({});
    if (!realm) {
      bad("realm", realm.error());
      return std::nullopt;
    }
    good("realm", realm->root + (realm->in_git ? " (git)" : ""));
    list_.json()["realm"] = realm->root;
    list_.json()["store"] = realm->store_folder;
    return std::move(*realm);
  }

  void look_at_settings(const realm::Realm& realm) {
    auto settings = layout::load_settings(context_.runtime(), realm);
    if (!settings) return bad("settings", settings.error());
    durability_ = settings->durability.value;
    settings_ = *settings;
    good("settings", settings->files.empty() ? "defaults, no file" : join(settings->files, ", "));
  }

  void look_at_identity() {
    const auto found = context_.identity(false);
    if (!found) return bad("identity", found.error());
    const realm::Identity& who = *found;
    const std::string session =
        who.session.empty() ? "no session" : "session " + who.session + " from " + who.session_from;
    good("identity", who.agent + " from " + who.agent_from + ", " + session);
  }

  bool asks_hub(const realm::Realm& realm) const {
    std::vector<Error> mistakes;  // told before
    const auto settings = layout::load_settings(context_.runtime(), realm, &mistakes);
    return settings && settings->server;
  }

  void look_at_hub() {
    auto open = context_.open(std::vector<std::string>{});
    if (!open) return bad("hub", open.error());
    const realm::Server& hub = *(*open)->site.server();
    const auto list = (*open)->locks.list({});
    if (!list) return bad("hub", list.error());
    const auto urls = realm::parse_server_urls(hub.url);
    const bool several = urls && urls->size() > 1;
    good("hub", (several ? "one of " + join(realm::texts_of(*urls), ", ") : hub.url) +
                    " answers, realm " + hub.name + ", from " + hub.from);
    if (several) look_at_addresses(hub.url);
  }

  // Any of them will do; one that does not answer is missed only when another one fails.
  void look_at_addresses(const std::string& url) {
    const auto logins = realm::read_logins(context_.runtime().env);
    if (!logins) return bad("hub", logins.error());
    realm::Login login;
    const auto known = std::ranges::find(*logins, url, &realm::Login::url);
    if (known != logins->end()) login = *known;
    login.url = url;
    for (const realm::TriedHub& one : context_.environment().try_hubs(login)) {
      if (!one.person) note("hub", one.person.error().message);
    }
  }

  void check_store(const realm::Realm& realm, Repair how) {
    const auto state = realm::check_store(realm);
    if (!state) return bad("store", state.error());
    if (*state == realm::StoreState::kAbsent && !look_at_absent(realm, how != Repair::kNo)) {
      if (!list_.first()) look_at_permissions(realm.store_folder);
      return;
    }
    auto options = wiring::embedded_options(context_.runtime(), {realm, durability_, false});
    if (!options) return bad("store", options.error());
    if (how != Repair::kNo && !repair_store(*options, how)) return;
    look_at_files(*options);
    if (!list_.first()) look_at_rows(*options);
    if (!list_.first()) look_at_permissions(realm.store_folder);
  }

  // Looking works there, so that nothing else would tell.
  void look_at_permissions(const std::string& folder) {
    auto kept = find_unwritable(folder);
    if (!kept) kept = find_unwritable(folder + "/data.mdb");
    if (!kept) return;
    Error error = errno_error(kept->error, kept->path);
    error.message += ": locks can be seen, but not taken";
    error.hint = "make it writable for this user, or run as the user it belongs to";
    bad("store", error);
  }

  // An agent is told once that nothing can be kept, a person nowhere else.
  void look_at_snapshots(const realm::Realm& realm) {
    const bool wanted = settings_ && settings_->snapshots_enabled.value && !realm.in_memory;
    if (!wanted || realm.bare) return;
    const auto possible = snapshot::Vault::check(snapshot::place_of(realm, *settings_));
    if (possible) return;
    Error error = possible.error();
    error.message = "what agents change cannot be kept for lockkeeper recover: " + error.message;
    bad("snapshots", error);
  }

  // Whatever looks at it finds nothing.
  bool is_sound(const kv::LmdbOptions& options) const {
    const auto report = kv::inspect(options);
    if (!report || !report->exists || !report->healthy) return false;
    const auto problems = audit(options);
    return problems && problems->empty();
  }

  Result<std::vector<std::string>> audit(const kv::LmdbOptions& options) const {
    LK_ASSIGN(const std::unique_ptr<kv::LmdbStore> store, kv::LmdbStore::open(options));
    LK_ASSIGN(const std::unique_ptr<kv::Txn> txn, store->begin(kv::Access::kRead));
    return core::audit(*txn, table_context(store->epoch()));
  }

  // There is no folder: was there ever a store? False: there is nothing to check.
  bool look_at_absent(const realm::Realm& realm, bool repair) {
    const auto opened = wiring::open_embedded(context_.runtime(), {realm, durability_, false});
    if (!opened && opened.error().code == Code::kNotFound) {
      good("store", "none yet: nothing is locked");
      return false;
    }
    if (!opened && !repair) {
      Error error = opened.error();
      error.hint = "run: lockkeeper doctor --repair";
      bad("store", error);
      return false;
    }
    const auto made = layout::create_store_folder(realm);
    if (!made) bad("store", made.error());
    return made.has_value();
  }

  void look_at_files(const kv::LmdbOptions& options) {
    auto report = kv::inspect(options);
    if (!report) return bad("store", report.error());
    for (const kv::Finding& finding : report->findings) {
      if (finding.broken) {
        const std::string next =
            finding.hint.empty() ? "run: lockkeeper doctor --repair" : finding.hint;
        bad("store", {Code::kStoreCorrupt, finding.what, next});
      } else {
        note("store", finding.what);
      }
    }
    if (!report->exists) return good("store", "none yet: nothing is locked");
    if (!report->healthy) return;
    good("store", counted(report->rows, "row") + " in " +
                      std::to_string(report->file_bytes / 1024) + " KiB, epoch " +
                      std::to_string(report->epoch_id) +
                      " (the next begins with a boot, restore or repair), durability " +
                      (report->durability == kv::Durability::kFull ? "full" : "process"));
  }

  void look_at_rows(const kv::LmdbOptions& options) {
    const auto problems = audit(options);
    if (!problems && problems.error().code == Code::kNotFound) return;
    if (!problems) return bad("table", problems.error());
    if (problems->empty()) return good("table", "every row agrees with the others");
    for (const std::string& problem : *problems) {
      bad("table", {Code::kStoreCorrupt, problem, "run: lockkeeper doctor --repair"});
    }
  }

  // A lease keeps the name that it was given. If the rules write that name differently now, whoever
  // asks for it does not meet the lease.
  void look_at_leases() {
    auto open = context_.open(std::vector<std::string>{});
    if (!open) return bad("leases", open.error());
    const key::Rules rules = (*open)->site.key_rules();
    std::string from;
    do {
      const auto read = (*open)->site.table().read([&](core::Table& table) -> Result<void> {
        LK_ASSIGN(const core::LeasePage page, core::lease_page(table.state(), from));
        for (const core::Lease& lease : page.leases) look_at_names(lease, rules);
        from = page.next;
        return {};
      });
      if (!read) return bad("leases", read.error());
    } while (!from.empty());
  }

  void look_at_names(const core::Lease& lease, const key::Rules& rules) {
    for (const core::Claim& claim : lease.claims) {
      const key::Resource& held = claim.resource;
      const auto now = key::parse(held.text(), rules,
                                  held.is_glob() ? key::Syntax::kGlob : key::Syntax::kLiteral);
      if (!held.is_path() || !now || now->resource.text() == held.text()) continue;
      bad("leases", {Code::kInvalidConfig,
                     shown(held.text()) + ", held by " + service::owner_text(lease.owner) +
                         ", is now called " + shown(now->resource.text()) +
                         ": the lease does not exclude whoever asks for that",
                     "core.ignorecase was changed meanwhile; its owner asks for it again after: "
                     "lockkeeper release --lease " +
                         lease.id.text()});
    }
  }

  // A lock file that shows our lease must have the identity in the table; otherwise we would take
  // it for another tool's.
  void look_at_layouts() {
    auto open = context_.open(std::vector<std::string>{});
    if (!open) return bad("layouts", open.error());
    const auto unreadable = layout::unreadable_layouts((*open)->site.table());
    if (!unreadable) return bad("layouts", unreadable.error());
    for (const Error& error : *unreadable) bad("layouts", error);
    if (!unreadable->empty()) return;
    const auto found = layout::check_layouts((*open)->site.table());
    if (!found) return bad("layouts", found.error());
    look_for_left_artefacts((*open)->site.table());
    if (!*found) return;
    for (const layout::LayoutDisagreement& one : **found) {
      bad("layouts", {Code::kStoreCorrupt, one.message,
                      "run: lockkeeper layout list; it writes our lock again, or records theirs"});
    }
    if ((*found)->empty())
      good("layouts", "the lock files that show our leases agree with the table");
  }

  void look_for_left_artefacts(layout::LockTable& table) {
    const auto left = layout::find_left_artefacts(table);
    if (!left) return bad("layouts", left.error());
    for (const layout::LeftArtefact& one : *left) {
      bad("layouts",
          {Code::kStoreCorrupt,
           quote(one.path) + " was left by lease " + one.lease.text() + " of " +
               quote(one.owner.agent) + ", which has ended: it blocks everybody",
           one.certain ? "run: lockkeeper layout list; it removes the file"
                       : "if no other tool made it: lockkeeper break --foreign --reason leftover " +
                             shell_quote(one.path)});
    }
  }

  // Not a problem of this realm, but whoever wonders why a lock did not count looks here.
  void look_for_other_tools(const realm::Realm& realm) {
    const service::Runtime& runtime = context_.runtime();
    const auto settings = layout::load_settings(runtime, realm);
    if (!settings) return;
    for (const auto& one :
         dialect::find_unjoined({realm, *settings, runtime.env, *runtime.clock})) {
      note("other tools", dialect::unjoined_text(one));
    }
  }

  core::Context table_context(const kv::Epoch& epoch) const {
    static const NoProber kProber;
    core::Context table;
    table.now = context_.runtime().clock->now();
    table.epoch = epoch;
    table.prober = &kProber;
    return table;
  }

  // The holders cannot be told: who they were is lost as well.
  void tell_forgotten(const kv::RepairReport& repaired) {
    if (repaired.kept_rows == 0) {
      return note("repair", "everything that was held is forgotten: ask for it again");
    }
    const bool some = repaired.damaged_rows > 0 || repaired.unreadable_pages > 0 ||
                      repaired.kept_rows < repaired.recorded_rows;
    if (!some) return;
    note("repair", "what could not be read is forgotten; see what you still hold: lockkeeper list");
  }

  // In one step: nobody sees the new store before its leases are in the new epoch.
  bool repair_store(kv::LmdbOptions options, Repair how) {
    const bool sound = is_sound(options);
    if (how == Repair::kIfNeeded && sound) {
      good("repair", "nothing to repair; to rebuild a sound store all the same, add --force");
      return true;
    }
    Result<core::RebuildReport> rebuilt = core::RebuildReport();
    options.on_repair = [&](kv::Txn& txn, const kv::Epoch& epoch) -> Result<void> {
      rebuilt = core::rebuild(txn, table_context(epoch));
      if (!rebuilt) return fail(rebuilt.error());
      return {};
    };
    auto repaired = kv::repair(options);
    if (!repaired) {
      bad("repair", repaired.error());
      return false;
    }
    good("repair", std::to_string(repaired->kept_rows) + " rows kept, " +
                       std::to_string(repaired->damaged_rows) + " damaged, " +
                       std::to_string(rebuilt->leases) + " leases and " +
                       std::to_string(rebuilt->waiters) + " waiters whole, " +
                       std::to_string(rebuilt->waiters_dropped) + " waiters must ask again");
    for (const std::string& file : repaired->kept_files) good("repair", "kept aside: " + file);
    for (const std::string& lock : rebuilt->locks_lost) {
      note("repair", "no longer locked, its holder could not be read: " + lock);
    }
    if (!sound) tell_forgotten(*repaired);
    list_.json()["repair"] = {{"rows_kept", repaired->kept_rows},
                              {"rows_damaged", repaired->damaged_rows},
                              {"leases", rebuilt->leases},
                              {"waiters", rebuilt->waiters},
                              {"waiters_dropped", rebuilt->waiters_dropped},
                              {"locks_lost", rebuilt->locks_lost},
                              {"kept_files", repaired->kept_files}};
    return true;
  }

  cli::VerbContext& context_;
  cli::Output& out_;
  realm::Durability durability_ = realm::Durability::kFull;
  std::optional<realm::Settings> settings_;
  cli::CheckList list_;
  int interrupted_ = 0;  // the exit status after a signal
};

}  // namespace

int doctor(cli::VerbContext& context, cli::Repair how) {
  return Doctor(context).examine(how);
}

}  // namespace lockkeeper::app
