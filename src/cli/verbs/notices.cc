#include "cli/verbs/notices.h"

#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "base/text.h"
#include "dialect/unjoined.h"
#include "service/messages.h"

namespace lockkeeper::cli {

namespace {

void tell(Output& out, const std::vector<core::LostLease>& losses, service::Json& json) {
  for (const core::LostLease& lost : losses) {
    json["lost"].push_back(service::lost_json(lost));
    out.warning(service::lost_text(lost));
  }
}

}  // namespace

void expect_notices(VerbContext& context, OpenLocks& open) {
  const bool all = context.out().json() || !context.out().quiet();
  open.locks.tell_along({.losses = true, .messages = all, .waiting = all});
}

bool tell_notices(VerbContext& context, OpenLocks& open, service::Json& json) {
  Output& out = context.out();
  const auto came = open.locks.notices();
  if (!came) {
    out.warning("messages could not be read: " + came.error().message);
    return false;
  }
  tell(out, came->lost, json);
  for (const core::Waiter& waiter : came->waiting) {
    json["waiting"].push_back(service::waiting_json(waiter));
    out.note(service::waiting_text(waiter, context.now_wall_ms()));
  }
  for (const core::Message& message : came->messages) {
    json["messages"].push_back(service::message_json(message));
    out.note(service::message_text(message, context.now_wall_ms()));
  }
  if (came->more_messages > 0) {
    out.note("and " + std::to_string(came->more_messages) +
             " more messages: lockkeeper message list" + context.repeated_flags());
  }
  return !came->lost.empty();
}

void tell_losses(VerbContext& context, OpenLocks& open, service::Json& json) {
  const auto losses = open.locks.take_lost_notices();
  if (!losses)
    return context.out().warning("what was lost is not known: " + losses.error().message);
  tell(context.out(), *losses, json);
}

void tell_remarks(VerbContext& context, const OpenLocks& open, const service::Wanted& wanted,
                  service::Json& json, bool names) {
  const auto resolved = open.locks.resolve(wanted);
  // If not, the request itself has told what is wrong.
  if (resolved) tell_remarks(context, open, wanted, *resolved, json, names);
}

void tell_remarks(VerbContext& context, const OpenLocks& open, const service::Wanted& wanted,
                  const service::Resolved& resolved, service::Json& json, bool names) {
  const service::Remarks remarks = open.locks.remarks(wanted, resolved, names);
  Output& out = context.out();
  for (const std::string& sentence : remarks.warnings) {
    json["warnings"].push_back(sentence);
    out.warning(sentence);
  }
  if (remarks.unmatched.empty()) return;
  json["unmatched"] = remarks.unmatched;
  constexpr std::size_t kShown = 3;
  std::string text = "not on disk yet: " + shown_list(remarks.unmatched, kShown);
  if (!remarks.read_as.empty()) {
    text += "; from this folder that is " + shown(remarks.read_as);
  }
  if (!remarks.meant.empty()) {
    text += "; did you mean " + shown(names_of(context, open, wanted).word(remarks.meant));
    if (!remarks.meant_holder.empty()) text += ", which is held by " + remarks.meant_holder;
    text += "?";
  }
  out.note(text);
}

service::Names names_of(const VerbContext& context, const OpenLocks& open,
                        const service::Wanted& wanted) {
  const realm::Realm& realm = open.site.realm();
  service::Names names = service::names_from(wanted.base.folder, realm, context.runtime().env);
  if (wanted.base.realm_named) {  // relative paths begin at its root, outside of it
    names.place.clear();
    if (!realm.contains(wanted.base.folder)) names.root.clear();
  }
  names.set_typed(open.locks.typed(wanted));
  return names;
}

void tell_other_tools(VerbContext& context, const OpenLocks& open) {
  const realm::Realm& realm = open.site.realm();
  const auto state = realm::check_store(realm);
  if (!state || *state != realm::StoreState::kAbsent) return;
  const service::Runtime& runtime = context.runtime();
  for (const auto& one :
       dialect::find_unjoined({realm, open.site.settings(), runtime.env, *runtime.clock})) {
    context.out().note(dialect::unjoined_text(one));
  }
}

}  // namespace lockkeeper::cli
