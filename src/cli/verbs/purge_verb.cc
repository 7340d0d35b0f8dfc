// `purge`: maintenance by hand: ends expired leases, deletes old history, removes the store.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/question.h"
#include "cli/verbs/verbs.h"
#include "layout/remove_store.h"

namespace lockkeeper::cli {
namespace {

Result<int> remove_whole_store(VerbContext& context, OpenLocks& open, bool force) {
  Output& out = context.out();
  const std::string folder = open.site.realm().store_folder;
  LK_ASSIGN(const auto result, layout::remove_store(open.site.table(), force));
  service::Json json = {{"purged", {"store"}}, {"store", folder}};
  if (!result.removed) {
    json = service::leases_json("leases", result.held);
    return out.failed({Code::kHeld,
                       folder + " is in use: " + counted(result.held.size(), "lease") + " held, " +
                           std::to_string(result.waiters.size()) + " waiting",
                       "see: lockkeeper list" + context.repeated_flags() +
                           "; to remove it anyway: "
                           "lockkeeper purge --remove-store --force" +
                           context.repeated_flags()},
                      std::move(json));
  }
  out.object(json);
  out.text("removed " + folder);
  return 0;
}

// The history is the only record of what happened: deleting it, alone or with the store, is never
// an accident.
Result<void> confirm(VerbContext& context, const std::string& option, const std::string& what) {
  const Error refused{Code::kUsage, option + " deletes the record of everything that happened",
                      "to delete it without being asked: lockkeeper purge " + option + " --yes" +
                          context.repeated_flags()};
  if (!can_ask(context)) return fail(refused);
  if (says_yes(context, "Delete " + what + "?")) return {};
  return fail(Code::kFailed, "nothing was deleted", "");
}

}  // namespace

Result<int> purge_verb(VerbContext& context) {
  bool history = false, store = false, force = false, yes = false;
  Arguments& arguments = context.arguments();
  arguments.flag("--history", history, "delete all history, not only what is beyond retention");
  arguments.flag("--remove-store", store,
                 "remove the store itself; refused while something is held");
  arguments.flag("--force", force, "with --remove-store: even if something is held, unasked");
  arguments.flag("--yes", yes, "with --history or --remove-store: do not ask");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (force && !store) {
    return fail(Code::kUsage, "--force needs --remove-store",
                "add --remove-store, or omit --force");
  }
  context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(std::vector<std::string>{}));
  const realm::Realm& realm = open->site.realm();
  if (store) {
    const std::string what = "the store " + realm.store_folder + " with its history";
    if (!yes && !force) LK_CHECK(confirm(context, "--remove-store", what));
    return remove_whole_store(context, *open, force);
  }
  LK_ASSIGN(const realm::StoreState state, realm::check_store(realm));
  if (state == realm::StoreState::kAbsent && open->site.server() == nullptr) {
    out.object({{"purged", service::Json::array()}, {"store", realm.store_folder}});
    out.text("nothing to purge: nothing was ever locked here");
    return 0;
  }
  if (history && !yes) LK_CHECK(confirm(context, "--history", "all history of " + realm.root));
  LK_CHECK(open->locks.purge(history));
  service::Json what = service::Json::array({"ended", "expired_history"});
  if (history) what = service::Json::array({"ended", "history"});
  out.object({{"purged", std::move(what)}, {"store", open->site.realm().store_folder}});
  out.text(history ? "ended expired leases, deleted all history"
                   : "ended expired leases, deleted history beyond retention");
  return 0;
}

}  // namespace lockkeeper::cli
