#include "plan/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/random.h"
#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// "LINE:COLUMN message (hint)" of each.
std::vector<std::string> told(std::string_view text, const json* schema = nullptr) {
  const auto document = yaml::parse_document(text);
  EXPECT_TRUE(document.has_value()) << text;
  if (!document) return {};
  std::vector<std::string> all;
  for (const Finding& each :
       schema == nullptr ? check_structure(*document) : check_structure(*document, *schema)) {
    all.push_back(std::to_string(each.place.line) + ":" + std::to_string(each.place.column) + " " +
                  each.message + (each.hint.empty() ? "" : " (" + each.hint + ")"));
  }
  return all;
}

std::vector<std::string> by(const char* schema, std::string_view text) {
  const json parsed = json::parse(schema);
  return told(text, &parsed);
}

std::string good() {
  return plan_text({{.id = "wp-a"}, {.id = "wp-b"}});
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = good();
  text.replace(text.find(from), from.size(), to);
  return text;
}

// The oracle: a third-party validator of the whole draft.
class Judge {
 public:
  Judge() {
    const json text = json::parse(work_packages_schema());
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema_);
  }
  bool accepts(const json& document) {
    return valijson::Validator().validate(
        schema_, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
  }

 private:
  valijson::Schema schema_;
};

json full_plan() {
  return json::parse(R"({
    "schema_version": 1, "feature": {"id": "f", "plan_revision": 1, "title": "t"},
    "contracts": {"revision": 1, "openapi": {"primary": "a", "files": ["a", "b"]}},
    "defaults": {"priority": 5, "lock_ttl_minutes": 60},
    "packages": [{
      "package_id": "wp-a", "task_type": "implement", "description": "d", "depends_on": ["wp-b"],
      "priority": 1, "locks": {"files": ["x"], "keys": ["task:1"], "ttl_minutes": 5},
      "scope": {"write_allow": ["x"], "read_allow": ["**"], "deny": []},
      "worktree": {"name": "w"}, "timeout_minutes": 10, "retry_budget": 0, "min_trust_level": 2,
      "verification": {"tier_required": "A", "steps": [
         {"name": "n", "kind": "command", "command": "make", "env": {"A": "b"}}]},
      "outputs": {"result_keys": ["k"]}, "command": ["make", "all"]}]})");
}

// Changes, removes or adds a value somewhere in the document.
void mutate(json& at, Random& random) {
  static const std::vector<json> kValues = {nullptr,
                                            true,
                                            0,
                                            1,
                                            -1,
                                            11,
                                            500,
                                            1.5,
                                            "",
                                            "x",
                                            "wp-a",
                                            "Wp A",
                                            "A",
                                            "manual",
                                            json::array(),
                                            json::array({"x", "x"}),
                                            json::array({1}),
                                            json::object(),
                                            json{{"name", "x"}},
                                            std::string(600, 'y')};
  const json& value = kValues[random_below(random, kValues.size())];
  if (at.empty() || !at.is_structured() || random_below(random, 5) == 0) {
    at = value;
    return;
  }
  auto child = at.begin();
  std::advance(child, static_cast<std::ptrdiff_t>(random_below(random, at.size())));
  switch (random_below(random, 6)) {
    case 0:
      at.erase(child);
      return;
    case 1:
      if (at.is_object()) {
        at["extra"] = value;
      } else {
        at.push_back(value);
      }
      return;
    default:
      mutate(*child, random);
  }
}

}  // namespace

TEST(Schema, TheShippedTextIsJson) {
  EXPECT_TRUE(json::accept(work_packages_schema()));
}

TEST(Schema, APlanInOrder) {
  EXPECT_THAT(told(good()), IsEmpty());
}

TEST(Schema, WhatIsMissingIsOneFindingWhereItBelongs) {
  EXPECT_THAT(told(changed("  task_type: implement\n  description: d\n", "")),
              ElementsAre("5:3 wp-a has no task_type, description"));
  EXPECT_THAT(told("packages: []"),
              ElementsAre("1:1 the file has no schema_version, feature, contracts",
                          "1:11 packages is an empty list; it needs at least 1"));
}

TEST(Schema, UnknownKeysStandAtTheirOwnLine) {
  EXPECT_THAT(told(changed("  priority: 5\n", "  prority: 5\n  priority: 5\n")),
              ElementsAre("11:3 wp-a has the unknown key \"prority\" (did you mean priority?)"));
  EXPECT_THAT(told(changed("package_id: wp-a", "id: wp-a")),
              ElementsAre("5:3 wp-a has no package_id",
                          "5:3 wp-a has the unknown key \"id\" (did you mean package_id?)"));
  EXPECT_THAT(told(changed("{name: w}", "{<<: {a: b}, name: w}")),
              ElementsAre("12:14 wp-a.worktree has the unknown key \"<<\" (merge keys are not "
                          "supported: write out the values)"));
}

TEST(Schema, ValuesSayWhatBelongsThere) {
  EXPECT_THAT(told(changed("schema_version: 1", "schema_version: '1.0'")),
              ElementsAre("1:17 schema_version is \"1.0\"; it must be 1"));
  EXPECT_THAT(told(changed("priority: 5", "priority: high")),
              ElementsAre("11:13 wp-a.priority is \"high\"; it must be a whole number"));
  EXPECT_THAT(told(changed("priority: 5", "priority: 11")),
              ElementsAre("11:13 wp-a.priority is 11; the maximum is 10"));
  EXPECT_THAT(told(changed("priority: 5", "priority: 0")),
              ElementsAre("11:13 wp-a.priority is 0; the minimum is 1"));
  EXPECT_THAT(told(changed("tier_required: A", "tier_required: Z")),
              ElementsAre("16:33 wp-a.verification.tier_required is \"Z\"; it must be one of "
                          "\"A\", \"B\", \"C\", \"D\""));
  EXPECT_THAT(told(changed("package_id: wp-a", "package_id: Wp A")),
              ElementsAre("5:15 \"Wp A\".package_id is \"Wp A\"; it must match "
                          "^[a-z][a-z0-9_-]{0,63}$"));
  EXPECT_THAT(told(changed("{name: w}", "[w]")),
              ElementsAre("12:13 wp-a.worktree is a list; it must be a map"));
  EXPECT_THAT(told(changed("files: []", "files: [a, b, a]")),
              ElementsAre("3:63 contracts.openapi.files[2] repeats \"a\""));
  EXPECT_THAT(told("packages: 7\nschema_version: 1\nfeature: {id: f, plan_revision: 1}\n"
                   "contracts: {revision: 1, openapi: {primary: a, files: []}}"),
              ElementsAre("1:11 packages is 7; it must be a list"));
}

TEST(Schema, EveryKeyword) {
  EXPECT_THAT(by(R"({"anyOf": [{"type": "string"}, {"type": "array"}]})", "{}"),
              ElementsAre("1:1 the file is a map; it must be a string or a list"));
  EXPECT_THAT(by(R"({"anyOf": [{"type": "string"}, {"type": "array"}]})", "[]"), IsEmpty());
  EXPECT_THAT(by(R"({"allOf": [{"minItems": 2}, {"maxItems": 1}]})", "[1]"),
              ElementsAre("1:1 the file has 1 elements; at least 2 are needed"));
  EXPECT_THAT(by(R"({"maxItems": 1})", "[1, 2]"),
              ElementsAre("1:1 the file has 2 elements; at most 1 are allowed"));
  EXPECT_THAT(by(R"({"uniqueItems": true})", "[a, 1, '1', a]"),
              ElementsAre("1:13 [3] repeats \"a\""));
  EXPECT_THAT(by(R"({"items": {"maxLength": 2}})", "[äöü, äö]"),
              ElementsAre("1:2 [0] is \"äöü\", 3 characters long; at most 2 are allowed"));
  EXPECT_THAT(by(R"({"minLength": 1})", "''"), ElementsAre("1:1 the file is an empty string"));
  EXPECT_THAT(by(R"({"additionalProperties": {"type": "string"}})", "{a: b, c: 1}"),
              ElementsAre("1:11 c is 1; it must be a string"));
  EXPECT_THAT(by(R"({"pattern": "^a$"})", "\"a\\nb\""), testing::SizeIs(1));
}

TEST(Schema, FindingsAreLimited) {
  std::string text = "packages: [";
  for (int i = 0; i < 5'000; ++i) text += "7,";
  EXPECT_EQ(told(text + "]").size(), kStructureFindingsMax);
}

TEST(Schema, LongListsAreQuick) {
  std::string text = "[";
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + ",";
  EXPECT_THAT(by(R"({"uniqueItems": true})", text + "]"), IsEmpty());
}

TEST(Schema, AgreesWithAnotherValidatorOnRandomPlans) {
  constexpr std::uint64_t kSeed = 11;
  SeededRandom random(kSeed);
  Judge judge;
  ASSERT_TRUE(judge.accepts(full_plan()));
  int refused = 0;
  for (int round = 0; round < 3'000; ++round) {
    json document = full_plan();
    for (std::uint64_t i = random_below(random, 3); i > 0; --i) mutate(document, random);
    const auto parsed = yaml::parse_document(document.dump());
    ASSERT_TRUE(parsed.has_value()) << document.dump();
    const bool accepted = check_structure(*parsed).empty();
    ASSERT_EQ(accepted, judge.accepts(document))
        << "seed " << kSeed << " round " << round << ": " << document.dump();
    refused += accepted ? 0 : 1;
  }
  EXPECT_GT(refused, 1'000);
}

}  // namespace lockkeeper::plan
