#include "mcp/json_rpc.h"

#include "base/strict_json.h"

namespace lockkeeper::mcp {
namespace {

Incoming broken(int code, std::string message, Json id = nullptr) {
  Incoming incoming;
  incoming.id = std::move(id);
  incoming.error = {code, std::move(message)};
  return incoming;
}

Incoming refused(const JsonFault& fault) {
  switch (fault.kind) {
    case JsonFault::Kind::kNotUtf8:
      return broken(code::kParseError, "the message is not UTF-8");
    case JsonFault::Kind::kNotJson:
      return broken(code::kParseError, "the message is not JSON");
    default:
      return broken(code::kInvalidRequest, fault.why);
  }
}

Incoming response_of(const Json& json) {
  Incoming incoming;
  incoming.kind = Incoming::Kind::kResponse;
  const auto id = json.find("id");
  if (id != json.end() && is_id(*id)) incoming.id = *id;
  if (json.contains("result")) {
    incoming.result = json.at("result");
    return incoming;
  }
  const Json& error = json.at("error");
  if (error.is_object()) {
    if (error.contains("code") && error["code"].is_number_integer()) {
      incoming.error.code = error["code"].get<int>();
    }
    if (is_text(error, "message")) incoming.error.message = error["message"].get<std::string>();
  }
  return incoming;
}

Incoming classify(const Json& json) {
  if (!json.is_object()) return broken(code::kInvalidRequest, "a message is an object");
  const auto id = json.find("id");
  const bool has_id = id != json.end();
  const Json known_id = has_id && is_id(*id) ? *id : Json(nullptr);
  if (!json.contains("jsonrpc") || json["jsonrpc"] != "2.0") {
    return broken(code::kInvalidRequest, "\"jsonrpc\" must be \"2.0\"", known_id);
  }
  const auto method = json.find("method");
  if (method == json.end() && (json.contains("result") || json.contains("error"))) {
    return response_of(json);
  }
  if (has_id && !is_id(*id)) {
    return broken(code::kInvalidRequest, "an id is a string or a whole number");
  }
  if (method == json.end()) {
    return broken(code::kInvalidRequest, "there is no \"method\"", known_id);
  }
  if (!method->is_string()) {
    return broken(code::kInvalidRequest, "\"method\" must be a string", known_id);
  }
  Incoming incoming;
  incoming.kind = has_id ? Incoming::Kind::kRequest : Incoming::Kind::kNotification;
  incoming.id = known_id;
  incoming.method = method->get<std::string>();
  if (const auto params = json.find("params"); params != json.end()) {
    if (!params->is_object() && has_id) {
      return broken(code::kInvalidParams, "\"params\" must be an object", known_id);
    }
    if (params->is_object()) incoming.params = *params;
  }
  return incoming;
}

Parsed one(Incoming incoming) {
  Parsed parsed;
  parsed.messages.push_back(std::move(incoming));
  return parsed;
}

}  // namespace

bool is_text(const Json& params, const char* name) {
  const auto found = params.find(name);
  return found != params.end() && found->is_string();
}

bool is_id(const Json& id) {
  return id.is_string() || id.is_number_integer();
}

Parsed parse(std::string_view text) {
  if (text.size() > kMessageBytesMax) {
    return one(broken(code::kInvalidRequest,
                      "a message has at most " + std::to_string(kMessageBytesMax) + " bytes"));
  }
  const auto json = parse_strictly<Json>(text, {kNestingMax, kKeysMax});
  if (!json) return one(refused(json.error()));
  if (!json->is_array()) return one(classify(*json));
  if (json->empty()) return one(broken(code::kInvalidRequest, "the batch is empty"));
  if (json->size() > kBatchMax) {
    return one(broken(code::kInvalidRequest,
                      "a batch has at most " + std::to_string(kBatchMax) + " messages"));
  }
  Parsed parsed;
  parsed.batch = true;
  for (const Json& each : *json) parsed.messages.push_back(classify(each));
  return parsed;
}

Json response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_response(const Json& id, const RpcError& error) {
  Json body{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  if (id.is_null()) return {{"jsonrpc", "2.0"}, {"error", std::move(body)}};
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification(const std::string& method, Json params) {
  Json json{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) json["params"] = std::move(params);
  return json;
}

Json request(const Json& id, const std::string& method, Json params) {
  Json json{{"jsonrpc", "2.0"}, {"id", id}};
  json.update(notification(method, std::move(params)));
  return json;
}

std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockkeeper::mcp
