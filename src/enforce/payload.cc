#include "enforce/payload.h"

#include <set>
#include <vector>

#include "base/text.h"
#include "enforce/event.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

constexpr std::size_t kIdBytesMax = 512;
constexpr const char* kPayloadHint = "run 'lockkeeper doctor'; it tries the hook of each client";

// Why well-formed JSON is refused; the parser can be stopped in no other way.
struct Refused {
  Error error;
};

// Watches the parser: its depth, and the keys of each open object.
class PayloadWatch {
 public:
  void operator()(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= static_cast<int>(kPayloadNestingMax)) {
      refuse(Code::kLimitExceeded, "the hook's payload is nested deeper than " +
                                       std::to_string(kPayloadNestingMax) + " levels");
    }
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const std::string& key = value.get_ref<const std::string&>();
      if (keys_.back().insert(key).second) return;
      refuse(Code::kInvalidInput, "the hook's payload gives " + quote(key) + " twice");
    }
  }

 private:
  [[noreturn]] static void refuse(Code code, std::string message) {
    throw Refused{{code, std::move(message), kPayloadHint}};
  }

  std::vector<std::set<std::string>> keys_;
};

std::unexpected<Error> bad_payload(std::string what) {
  return fail(Code::kInvalidInput, "the hook's payload " + std::move(what), kPayloadHint);
}

}  // namespace

Result<json> read_object(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax) {
    return fail(Code::kLimitExceeded,
                "the hook's payload has " + std::to_string(payload.size()) + " bytes, more than " +
                    std::to_string(kPayloadBytesMax),
                "split the edit into smaller ones");
  }
  if (payload.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return bad_payload("is empty");
  if (!is_valid_utf8(payload)) return bad_payload("is not UTF-8");
  if (payload.find('\0') != std::string_view::npos) {  // the parser would take it for the end
    return bad_payload("is not JSON: it has a NUL byte");
  }
  try {
    PayloadWatch watch;
    json object = json::parse(payload, [&](int depth, json::parse_event_t event, json& value) {
      watch(depth, event, value);
      return true;
    });
    if (!object.is_object()) return bad_payload("is not a JSON object");
    return object;
  } catch (const Refused& refused) {
    return fail(refused.error);
  } catch (const json::exception&) {
    return bad_payload("is not JSON: it begins with " + quote(payload, 40));
  }
}

const json* field(const json& object, Names names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found != object.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

bool has(const json& object, Names names) {
  return field(object, names) != nullptr;
}

std::unexpected<Error> missing(const char* name) {
  return bad_payload("has no " + quote(name));
}

std::unexpected<Error> wrong_type(const char* name, std::string_view wanted) {
  return fail(Code::kInvalidInput,
              quote(name) + " of the hook's payload is not " + std::string(wanted), kPayloadHint);
}

Result<std::string> text_field(const json& object, Names names) {
  const json* const found = field(object, names);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return wrong_type(*names.begin(), "a string");
  return found->get<std::string>();
}

Result<std::string> needed_text(const json& object, Names names) {
  LK_ASSIGN(std::string text, text_field(object, names));
  if (text.empty()) return missing(*names.begin());
  return text;
}

Result<std::string> id_field(const json& object, Names names) {
  LK_ASSIGN(std::string id, text_field(object, names));
  if (id.size() > kIdBytesMax) {
    return wrong_type(*names.begin(), "an id: it has " + std::to_string(id.size()) + " bytes");
  }
  if (const auto hidden = hidden_in(id)) {
    return wrong_type(*names.begin(), "an id: it has " + *hidden);
  }
  return id;
}

}  // namespace lockkeeper::enforce
