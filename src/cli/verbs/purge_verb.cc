// `purge`: maintenance by hand: ends expired leases, deletes old history, removes the store.
#include <nlohmann/json.hpp>

#include "cli/verbs/verbs.h"
#include "layout/remove_store.h"

namespace lockkeeper::cli {
namespace {

int remove_whole_store(VerbContext& context, OpenLocks& open, bool force) {
  Output& out = context.out();
  const std::string folder = open.site.realm().store_folder;
  const auto result = layout::remove_store(open.site.table(), force);
  if (!result) return out.failed(result.error());
  service::Json json = {{"purged", {"store"}}, {"store", folder}};
  if (!result->removed) {
    json = service::leases_json("leases", result->held);
    std::string text = folder + " is in use: ";
    text += std::to_string(result->held.size());
    text += result->held.size() == 1 ? " lease held, " : " leases held, ";
    text += std::to_string(result->waiters.size()) + " waiting";
    return out.failed({Code::kHeld, std::move(text),
                       "see: lockkeeper list; to remove it anyway: "
                       "lockkeeper purge --store --force"},
                      std::move(json));
  }
  out.object(json);
  out.text("removed " + folder);
  return 0;
}

}  // namespace

int purge_verb(VerbContext& context) {
  bool history = false, store = false, force = false;
  Arguments& arguments = context.arguments();
  arguments.flag("--history", history, "delete all history, not only what is beyond retention");
  arguments.flag("--store", store, "remove the store itself; refused while something is held");
  arguments.flag("--force", force, "with --store: remove it even if something is held");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (force && !store) {
    return out.failed({Code::kUsage, "--force needs --store", "add --store, or omit --force"});
  }
  auto open = context.open(std::vector<std::string>{});
  if (!open) return out.failed(open.error());
  if (store) return remove_whole_store(context, **open, force);
  const auto done = (*open)->locks.purge(history);
  if (!done) return out.failed(done.error());
  service::Json what = service::Json::array({"ended", "expired_history"});
  if (history) what = service::Json::array({"ended", "history"});
  out.object({{"purged", std::move(what)}, {"store", (*open)->site.realm().store_folder}});
  out.text(history ? "ended expired leases, deleted all history"
                   : "ended expired leases, deleted history beyond retention");
  return 0;
}

}  // namespace lockkeeper::cli
