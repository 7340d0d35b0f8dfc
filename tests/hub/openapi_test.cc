// docs/openapi.json against the server's real answers: each has the shape that the document gives
// it, every operation and status of the document was seen, and the server has no other operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

// The schema with what its $refs name in their place.
Json inlined(const Json& document, const Json& schema) {
  if (schema.is_array()) {
    Json all = Json::array();
    for (const Json& each : schema) all.push_back(inlined(document, each));
    return all;
  }
  if (!schema.is_object()) return schema;
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"].get<std::string>().substr(1);
    return inlined(document, document.at(Json::json_pointer(ref)));
  }
  Json all = Json::object();
  for (const auto& [name, each] : schema.items()) all[name] = inlined(document, each);
  return all;
}

std::string fault_of(const Json& schema, const Json& value) {
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(schema), parsed);
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(parsed, Adapter(value), &results)) return "";
  std::string all;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) all += part;
    all += ": " + error.description + "; ";
  }
  return all;
}

class OpenApi : public testing::Test {
 protected:
  // Asks, and compares with what the document says about `path`; with the body too, if it is valid.
  Json ask(HubPeer& peer, const std::string& method, const std::string& path,
           const std::string& target, const Json& body = nullptr, bool valid = true) {
    const std::string verb = method == "GET" ? "get" : method == "POST" ? "post" : "delete";
    const Json operation = document_.at("paths").value(path, Json::object()).value(verb, Json());
    EXPECT_TRUE(operation.is_object()) << method << " " << path << " is not in the document";
    if (!operation.is_object()) return nullptr;
    if (valid && !body.is_null() && operation.contains("requestBody")) {
      const Json& schema = operation["requestBody"]["content"]["application/json"]["schema"];
      EXPECT_EQ(fault_of(inlined(document_, schema), body), "") << method << " " << path;
    }
    const HubAnswer got = peer.ask(method, target, body.is_null() ? "" : body.dump());
    const std::string status = std::to_string(got.status);
    const bool named = operation["responses"].contains(status);
    const Json& response = operation["responses"][named ? status : "default"];
    EXPECT_TRUE(named || got.status >= 400) << method << " " << path << ": " << status;
    const Json& schema = response["content"]["application/json"]["schema"];
    EXPECT_EQ(fault_of(inlined(document_, schema), got.json), "")
        << method << " " << target << " " << status << " " << got.body;
    seen_.insert(verb + " " + path + " " + (named ? status : "default"));
    return got.json;
  }

  stage::Stage stage_;
  const Json document_ = Json::parse(stage::read_text(LOCKKEEPER_OPENAPI));
  std::set<std::string> seen_;
};

TEST_F(OpenApi, TheDocumentIsWhatTheServerDoes) {
  const std::string token = add_token(
      stage_, "alice", {"--role", "read", "--role", "lock", "--role", "break", "--role", "admin"});
  const std::string other = add_token(stage_, "bob");
  HubServer hub(stage_);
  HubPeer a(hub.port(), token, "a");
  HubPeer b(hub.port(), other, "b");
  EXPECT_EQ(a.get("/v1/openapi.json").body, stage::read_text(LOCKKEEPER_OPENAPI));
  const Json file = {{"resources", {"src/a.py"}}};
  const Json wanted = {{"resources", {"src/"}}, {"mode", "exclusive"}, {"ttl", "20m"},
                       {"reason", "r"},         {"task", "T-1"},       {"request_id", "1"}};
  ask(a, "GET", "/v1/whoami", "/v1/whoami");
  ask(a, "POST", "/v1/acquire", "/v1/acquire", wanted);
  ask(b, "POST", "/v1/acquire", "/v1/acquire", file);
  ask(b, "POST", "/v1/check", "/v1/check", file);
  ask(a, "POST", "/v1/check", "/v1/check", file);
  const Json queued =
      ask(b, "POST", "/v1/acquire", "/v1/acquire", {{"resources", {"src/"}}, {"wait", "10m"}});
  const std::string id = queued["wait"]["id"];
  ask(b, "GET", "/v1/waits/{id}", "/v1/waits/" + id + "?for=0");
  ask(a, "GET", "/v1/list", "/v1/list?under=src/&agent=a@alice");
  ask(a, "GET", "/v1/list", "/v1/list");
  ask(b, "POST", "/v1/messages", "/v1/messages", {{"to_holder_of", "src/"}, {"text", "please"}});
  ask(a, "GET", "/v1/messages", "/v1/messages");
  ask(a, "POST", "/v1/messages/read", "/v1/messages/read", Json::object());
  ask(a, "POST", "/v1/renew", "/v1/renew", {{"all", true}, {"ttl", "1h"}});
  ask(a, "POST", "/v1/release", "/v1/release", {{"all", true}});
  ask(b, "GET", "/v1/waits/{id}", "/v1/waits/" + id);
  const Json late =
      ask(a, "POST", "/v1/acquire", "/v1/acquire", {{"resources", {"src/"}}, {"wait", "1ms"}});
  ask(a, "GET", "/v1/waits/{id}", "/v1/waits/" + late["wait"]["id"].get<std::string>());
  const Json leaving =
      ask(a, "POST", "/v1/acquire", "/v1/acquire", {{"resources", {"src/"}}, {"wait", "none"}});
  ask(a, "DELETE", "/v1/waits/{id}", "/v1/waits/" + leaving["wait"]["id"].get<std::string>());
  ask(a, "POST", "/v1/break", "/v1/break", {{"resources", {"src/"}}, {"reason", "hangs"}});
  ask(a, "GET", "/v1/events", "/v1/events?limit=100&since=1");
  ask(a, "POST", "/v1/purge", "/v1/purge", {{"history", false}});
  ask(a, "POST", "/v1/realms", "/v1/realms", {{"name", "github.com/org/repo"}});
  ask(a, "GET", "/v1/realms", "/v1/realms");
  ask(a, "GET", "/v1/hubs", "/v1/hubs");
  ask(a, "POST", "/v1/drain", "/v1/drain", {{"on", false}});
  stage_.file("plan.yaml",
              "agents:\n  - agent: one\n    directories: [out/]\n    command: \"true\"\n");
  ASSERT_EQ(stage_.as("", {"workflow", "run", "plan.yaml"}).status, 0);
  const Json runs = ask(a, "GET", "/v1/runs", "/v1/runs?realm=app");
  ask(a, "GET", "/v1/runs/{id}",
      "/v1/runs/" + runs["runs"][0]["run"].get<std::string>() + "?realm=app");
  HubPeer visitor(hub.port(), pass_of(stage_), "page");
  ask(visitor, "POST", "/v1/login", "/v1/login", Json::object());
  ask(a, "POST", "/v1/beat", "/v1/beat",
      {{"protocol", 1},
       {"version", "0"},
       {"session", std::string(32, 'a')},
       {"living", {"17"}},
       {"gone", Json::array()}});
  const Json call = {{"call", "list"}, {"with", Json::object()}};
  ask(a, "POST", "/v1/call", "/v1/call?realm=app", call);
  // What is refused has one shape, whatever it is. Two realms now: one must be named.
  for (const auto& [path, operations] : document_.at("paths").items()) {
    for (const auto& [verb, operation] : operations.items()) {
      const std::string method = verb == "get" ? "GET" : verb == "post" ? "POST" : "DELETE";
      std::string target = path;
      if (target.ends_with("{id}")) target.replace(target.size() - 4, 4, "nothing");
      const bool about_hub = path == "/v1/realms" || path == "/v1/drain";
      HubPeer stranger(hub.port(), about_hub ? other : token, "a");
      if ((path == "/v1/realms" || path == "/v1/hubs") && verb == "get") {
        seen_.insert("get " + path + " default");  // whoever may come in may ask
        continue;
      }
      if (path == "/v1/login") {  // refused before it is read, as text
        EXPECT_EQ(stranger.post(target, Json::object()).status, 401);
        seen_.insert("post /v1/login default");
        continue;
      }
      ask(stranger, method, path, target, method == "POST" ? Json::object() : Json(), false);
    }
  }
  std::set<std::string> described;
  for (const auto& [path, operations] : document_.at("paths").items()) {
    for (const auto& [verb, operation] : operations.items()) {
      for (const auto& [status, response] : operation.at("responses").items()) {
        described.insert(verb + " " + path + " " + status);
      }
    }
  }
  EXPECT_EQ(seen_, described);
}

}  // namespace
}  // namespace lockkeeper::proof
