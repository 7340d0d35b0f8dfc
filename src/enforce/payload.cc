#include "enforce/payload.h"

#include <utility>

#include "base/strict_json.h"
#include "base/text.h"
#include "enforce/event.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

constexpr std::size_t kIdBytesMax = 512;
constexpr const char* kPayloadHint = "run 'lockkeeper doctor'; it tries the hook of each client";

std::unexpected<Error> bad_payload(std::string what) {
  return fail(Code::kInvalidInput, "the hook's payload " + std::move(what), kPayloadHint);
}

std::unexpected<Error> refused_payload(const JsonFault& fault) {
  switch (fault.kind) {
    case JsonFault::Kind::kNotUtf8:
      return bad_payload("is not UTF-8");
    case JsonFault::Kind::kNotJson:
      return bad_payload("is not JSON: " + fault.why);
    case JsonFault::Kind::kKeyTwice:
      return bad_payload("gives " + quote(fault.key) + " twice");
    default:
      return fail(Code::kLimitExceeded, "the hook's payload is " + fault.why, kPayloadHint);
  }
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
  auto object = parse_strictly<json>(payload, {.nesting = kPayloadNestingMax});
  if (!object) return refused_payload(object.error());
  if (!object->is_object()) return bad_payload("is not a JSON object");
  return std::move(*object);
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
