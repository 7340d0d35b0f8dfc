#include <map>
#include <string_view>

#include "base/text.h"
#include "service/wire/codec.h"
#include "service/wire/wire.h"

namespace lockkeeper::service::wire {
namespace {

Json error_reply(const Error& error, const Clock& clock) {
  return {{"error", to_json(error, clock)}};
}

using Handler = Json (*)(Service&, const Json&, const Clock&);

template <typename Call, typename Answer>
Json handle(Service& service, const Json& json, const Clock& clock,
            Result<Answer> (Service::*method)(const Call&)) {
  auto call = from_json<Call>(json, clock);
  if (!call) return error_reply(call.error(), clock);
  auto answer = (service.*method)(*call);
  if (!answer) return error_reply(answer.error(), clock);
  return {{"reply", to_json(*answer, clock)}};
}

template <auto method>
Json handler(Service& service, const Json& json, const Clock& clock) {
  return handle(service, json, clock, method);
}

const std::map<std::string_view, Handler>& handlers() {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"open", handler<&Service::open>},
      {"acquire", handler<&Service::acquire>},
      {"acquire_together", handler<&Service::acquire_together>},
      {"await", handler<&Service::await>},
      {"leave", handler<&Service::leave>},
      {"release", handler<&Service::release>},
      {"renew", handler<&Service::renew>},
      {"check", handler<&Service::check>},
      {"list", handler<&Service::list>},
      {"break", handler<&Service::break_leases>},
      {"adopt", handler<&Service::adopt>},
      {"report", handler<&Service::report>},
      {"unseen", handler<&Service::unseen>},
      {"look", handler<&Service::look>},
      {"forget", handler<&Service::forget>},
      {"send", handler<&Service::send>},
      {"messages", handler<&Service::messages>},
      {"notices", handler<&Service::notices>},
      {"events", handler<&Service::events>},
      {"purge", handler<&Service::purge>},
  };
  return kHandlers;
}

}  // namespace

std::string serve(Service& service, const std::string& request, const Clock& clock) {
  const auto json = json_of(request);
  if (!json) return line_of(error_reply(json.error(), clock));
  const auto name = json->find("call");
  const bool named = name != json->end() && name->is_string();
  const auto found = handlers().find(named ? name->get_ref<const std::string&>() : "");
  if (found == handlers().end()) {
    Error error{Code::kInvalidInput, "there is no such call", "see the list of calls"};
    if (named) error.message = "there is no call " + quote(name->get<std::string>());
    return line_of(error_reply(error, clock));
  }
  return line_of(found->second(service, json->value("with", Json()), clock));
}

}  // namespace lockkeeper::service::wire
