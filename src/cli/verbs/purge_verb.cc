// `purge`: maintenance by hand: ends expired leases, deletes old history, removes the store.
#include <nlohmann/json.hpp>

#include "base/text.h"
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
                       "see: lockkeeper list; to remove it anyway: "
                       "lockkeeper purge --store --force"},
                      std::move(json));
  }
  out.object(json);
  out.text("removed " + folder);
  return 0;
}

}  // namespace

Result<int> purge_verb(VerbContext& context) {
  bool history = false, store = false, force = false;
  Arguments& arguments = context.arguments();
  arguments.flag("--history", history, "delete all history, not only what is beyond retention");
  arguments.flag("--store", store, "remove the store itself; refused while something is held");
  arguments.flag("--force", force, "with --store: remove it even if something is held");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (force && !store) {
    return fail(Code::kUsage, "--force needs --store", "add --store, or omit --force");
  }
  LK_ASSIGN(auto open, context.open(std::vector<std::string>{}));
  if (store) return remove_whole_store(context, *open, force);
  LK_CHECK(open->locks.purge(history));
  service::Json what = service::Json::array({"ended", "expired_history"});
  if (history) what = service::Json::array({"ended", "history"});
  out.object({{"purged", std::move(what)}, {"store", open->site.realm().store_folder}});
  out.text(history ? "ended expired leases, deleted all history"
                   : "ended expired leases, deleted history beyond retention");
  return 0;
}

}  // namespace lockkeeper::cli
