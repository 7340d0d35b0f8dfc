#include "key/logical.h"

#include <gtest/gtest.h>

#include <vector>

#include "key/key_testing.h"

namespace lockkeeper::key {

namespace {

struct Row {
  std::string given;
  std::string expected;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(outcome(row.given), row.expected);
}

// Only the end of a refusal: the corrected form is what people copy.
void expect_corrected(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string got = outcome(row.given);
    EXPECT_TRUE(got.starts_with("invalid_resource: '" + row.given + "': ")) << got;
    EXPECT_TRUE(got.ends_with("; write '" + row.expected + "'")) << got;
    EXPECT_TRUE(parse(row.expected, {}).has_value()) << "the corrected form is itself refused";
  }
}

std::vector<std::string> warnings(std::string_view text, const Rules& rules = {}) {
  auto parsed = parse(text, rules);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? parsed->warnings : std::vector<std::string>{};
}

}  // namespace

TEST(Logical, EveryDocumentedExampleIsCanonical) {
  for (const char* key : {"api:GET /v1/users", "db:migration-slot", "db:schema:users",
                          "event:user.created", "flag:billing/*", "env:shared-fixtures",
                          "contract:openapi/v1.yaml", "feature:FEAT-123:pause", "task:T-12"}) {
    EXPECT_EQ(outcome(key), key);
  }
}

TEST(Logical, UnknownPrefixIsNotPermittedAndListsTheKnown) {
  const auto refused = parse("mcp:feature_registry_tools", {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kOperationNotPermitted);
  EXPECT_EQ(refused.error().message,
            "'mcp:feature_registry_tools': unknown prefix 'mcp:'; known are api: contract: db: "
            "env: event: feature: flag: task:; a file of that name is written "
            "'./mcp:feature_registry_tools'");
  for (const char* other : {"bridge:x", "cli:x", "skill:x", "config:a/b", "impl:x", "unknown:x"}) {
    EXPECT_EQ(parse(other, {}).error().code, Code::kOperationNotPermitted) << other;
  }
}

TEST(Logical, AddedPrefixesAreFreeForm) {
  Rules rules;
  rules.extra_prefixes = {"mcp"};
  EXPECT_EQ(outcome("mcp:Any thing * [x", rules), "mcp:Any thing * [x");
  EXPECT_EQ(must_parse("mcp:a*", rules).kind(), Kind::kLogical);
  EXPECT_TRUE(outcome("mcp:", rules).starts_with("invalid_resource: 'mcp:': nothing follows"));
  EXPECT_TRUE(outcome("mcp:a ", rules).ends_with("write 'mcp:a'"));
  EXPECT_TRUE(outcome("mcp:a\tb", rules).starts_with("invalid_resource"));
  EXPECT_NE(parse("cli:x", rules).error().message.find("mcp:"), std::string::npos);
}

TEST(Logical, Api) {
  expect_rows(
      {{"api:get /v1/users", "api:GET /v1/users"},
       {"api:GET    /v1/users", "api:GET /v1/users"},
       {"api: Post /v1/users", "api:POST /v1/users"},
       {"api:GET /v1//users/", "api:GET /v1/users"},
       {"api:GET /v1/./a/../users", "api:GET /v1/users"},
       {"api:GET /", "api:GET /"},
       {"api:GET //", "api:GET /"},
       {"api:GET /users/{id}", "api:GET /users/{id}"},
       {"api:GET /users/:id", "api:GET /users/:id"},
       {"api:GET /Users", "api:GET /Users"},
       {"api:GET /v1/*",
        "invalid_resource: 'api:GET /v1/*': api: keys have no patterns; name each route"},
       {"api:GET /../x", "invalid_resource: 'api:GET /../x': '..' leaves the root of the routes"}});
  expect_corrected({{"api:guardrails", "api:GET /guardrails"},
                    {"api:work_queue", "api:GET /work_queue"},
                    {"api:audit:capability-gap-emitter", "api:GET /audit/capability-gap-emitter"},
                    {"api:/v1/users", "api:GET /v1/users"},
                    {"api:post/v1/users", "api:POST /v1/users"},
                    {"api:GET v1/users", "api:GET /v1/users"},
                    {"api:GET /users?page=2", "api:GET /users"},
                    {"api:GET /a b", "api:GET /a-b"},
                    {"api:G3T /x", "api:GET /v1/users"},
                    {"api:GET /x ", "api:GET /x"},
                    {"api:", "api:GET /v1/users"}});
  EXPECT_EQ(warnings("api:FOO /x").size(), 1U);
  EXPECT_TRUE(warnings("api:DELETE /x").empty());
}

TEST(Logical, Db) {
  expect_rows({{"db:Migration-Slot", "db:migration-slot"}, {"db:schema:Users", "db:schema:users"}});
  expect_corrected({{"db:users", "db:schema:users"},
                    {"db:migrations", "db:migration-slot"},
                    {"db:migration_slot", "db:migration-slot"},
                    {"db:schema:public.users", "db:schema:public_users"},
                    {"db:schema:user-roles", "db:schema:user_roles"},
                    {"db:schema:1st", "db:schema:t_1st"},
                    {"db:schema:", "db:schema:users"},
                    {"db:schema:us*", "db:schema:us"},
                    {"db:*", "db:migration-slot"}});
}

TEST(Logical, Event) {
  expect_rows({{"event:User.Created", "event:user.created"},
               {"event:user_account.soft-deleted", "event:user_account.soft-deleted"},
               {"event:user.*", "event:user.*"},
               {"event:user.{created,deleted}", "event:user.{created,deleted}"},
               {"event:**.created", "event:**.created"}});
  expect_corrected({{"event:a..b", "event:a.b"},
                    {"event:.a", "event:a"},
                    {"event:user.", "event:user.**"},
                    {"event:user created", "event:user-created"},
                    {"event:user/created", "event:user-created"},
                    {"event:user.-x", "event:user.x"}});
}

TEST(Logical, Flag) {
  expect_rows({{"flag:Billing/New-UI", "flag:billing/new-ui"},
               {"flag:ci-integration-job", "flag:ci-integration-job"},
               {"flag:a/b_c.d", "flag:a/b_c.d"},
               {"flag:[a]b", "flag:ab"},
               {"flag:billing/[A-C]*", "flag:billing/[a-c]*"}});
  expect_corrected({{"flag:billing/", "flag:billing/**"},
                    {"flag:/billing", "flag:billing"},
                    {"flag:a//b", "flag:a/b"},
                    {"flag:dark mode", "flag:dark-mode"},
                    {"flag:a\\*", "flag:a"},
                    {"flag:bill ing/*", "flag:bill-ing/*"}});
  EXPECT_EQ(outcome("flag:x/-*"), "invalid_resource: 'flag:x/-*': no name can match this pattern");
}

TEST(Logical, Env) {
  expect_rows({{"env:TUNNEL_UUID", "env:TUNNEL_UUID"},
               {"env:tmp/shared", "env:tmp/shared"},
               {"env:python3", "env:python3"},
               {"env:port-forwarder", "env:port-forwarder"}});
  expect_corrected(
      {{"env:shared fixtures", "env:shared-fixtures"}, {"env:-x", "env:x"}, {"env:a*", "env:a"}});
  for (const char* port : {"env:5432", "env:port-5432", "env:PORT_5432", "env:port5432",
                           "env:port:5432", "env:localhost:8080", "env:5432/tcp", "env:tcp-80"}) {
    const std::string got = outcome(port);
    EXPECT_TRUE(got.starts_with("invalid_resource")) << got;
    EXPECT_NE(got.find("lockkeeper ports"), std::string::npos) << got;
  }
}

TEST(Logical, Contract) {
  expect_rows({{"contract:openapi//v1.yaml", "contract:openapi/v1.yaml"},
               {"contract:./a/../b", "contract:b"},
               {"contract:review-findings.v2", "contract:review-findings.v2"},
               {"contract:openapi/**", "contract:openapi/**"},
               {"contract:..",
                "invalid_resource: 'contract:..': '..' leaves the realm's root; only what is below "
                "it can be locked"}});
  expect_corrected({{"contract:/abs/x", "contract:abs/x"},
                    {"contract:openapi/", "contract:openapi/**"},
                    {"contract:a\\b", "contract:a/b"},
                    {"contract:x ", "contract:x"},
                    {"contract:a**b", "contract:a*b"},
                    {"contract:.", "contract:**"}});
}

TEST(Logical, Feature) {
  expect_rows({{"feature:FEAT-123:Pause", "feature:FEAT-123:pause"},
               {"feature:a:b.c_d:docs", "feature:a:b.c_d:docs"},
               {"feature:x:train-engine", "feature:x:train-engine"}});
  expect_corrected({{"feature:a b:docs", "feature:a-b:docs"},
                    {"feature:a::docs", "feature:a:docs"},
                    {"feature:x:pa use", "feature:x:pa-use"}});
}

// What is missing is left to its author: `pause` would pause the feature.
TEST(Logical, FeatureWithoutAPurposeOrAnId) {
  for (const auto& [given, written] :
       {Row{"feature:quick-task", "feature:quick-task:<purpose>"},
        Row{"feature:quick task", "feature:quick-task:<purpose>"},
        Row{"feature:x:", "feature:x:<purpose>"}, Row{"feature:x:!", "feature:x:<purpose>"},
        Row{"feature::pause", "feature:<id>:pause"}, Row{"feature::", "feature:<id>:<purpose>"},
        Row{"feature:", "feature:FEAT-123:<purpose>"}}) {
    const std::string got = outcome(given);
    EXPECT_TRUE(got.starts_with("invalid_resource: '" + given + "': ")) << got;
    EXPECT_TRUE(got.ends_with("; write '" + written + "'")) << got;
  }
}

TEST(Logical, UnknownPurposeWarnsAndIsAnErrorWhenStrict) {
  EXPECT_TRUE(warnings("feature:x:pause").empty());
  const auto told = warnings("feature:x:docs");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front(), "'feature:x:docs': unknown purpose 'docs'; known are pause");
  Rules rules;
  rules.feature_purposes = {"docs"};
  EXPECT_TRUE(warnings("feature:x:docs", rules).empty());
  EXPECT_TRUE(warnings("feature:x:pause", rules).empty());  // reserved whatever the config says
  rules.strict = true;
  EXPECT_EQ(parse("feature:x:build", rules).error().code, Code::kInvalidResource);
  EXPECT_EQ(parse("feature:x:build", rules).error().message,
            "'feature:x:build': unknown purpose 'build'; known are pause docs");
  const auto refused = parse("api:FETCH /x", rules);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("keys.strict"), std::string::npos) << refused.error().hint;
}

TEST(Logical, Task) {
  expect_rows({{"task:T-1.2_x", "task:T-1.2_x"},
               {"task:..",
                "invalid_resource: 'task:..': a task's id is letters, digits, '.', '_' "
                "and '-'"}});
  expect_corrected({{"task:a b", "task:a-b"}, {"task:a/b", "task:a-b"}, {"task:a*", "task:a"}});
  EXPECT_EQ(parse("task:" + std::string(256, 'a'), {}).error().code, Code::kLimitExceeded);
}

}  // namespace lockkeeper::key
