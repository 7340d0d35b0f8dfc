#include "install/jsonc.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"

namespace lockkeeper::install {
namespace {

Jsonc read(const std::string& text) {
  auto read = Jsonc::parse(text, "settings.json");
  EXPECT_TRUE(read) << (read ? "" : read.error().message) << "\n" << text;
  return read ? *read : *Jsonc::parse("{}", "");
}

std::string refused(const std::string& text) {
  const auto read = Jsonc::parse(text, "settings.json");
  if (read) return "read";
  EXPECT_EQ(read.error().code, Code::kInvalidConfig);
  EXPECT_FALSE(read.error().hint.empty());
  return read.error().message;
}

std::string after_set(const std::string& text, const JsoncPath& path, const Json& value) {
  Jsonc document = read(text);
  const auto done = document.set(path, value);
  return done ? document.text() : done.error().message;
}

std::string after_append(const std::string& text, const JsoncPath& path, const Json& value) {
  Jsonc document = read(text);
  const auto done = document.append(path, value);
  return done ? document.text() : done.error().message;
}

std::string after_remove(const std::string& text, const JsoncPath& path) {
  Jsonc document = read(text);
  const auto done = document.remove(path);
  return done ? (*done ? document.text() : "none") : done.error().message;
}

constexpr std::size_t kFirst = 0;
constexpr std::size_t kSecond = 1;
constexpr std::size_t kThird = 2;

TEST(Jsonc, ReadsCommentsAndTrailingCommas) {
  const Jsonc document = read("\xEF\xBB\xBF// top\n{\n \"a\": [1, /* two */ 2,], // end\n}\n");
  EXPECT_EQ(document.value(document.root()), Json::parse(R"({"a":[1,2]})"));
  EXPECT_EQ(document.value(*document.find({"a", kSecond})), 2);
  EXPECT_EQ(document.find({"a", kThird}), nullptr);
  EXPECT_EQ(document.find({"b"}), nullptr);
}

TEST(Jsonc, SaysWhereAFileIsWrong) {
  EXPECT_EQ(refused("{\n  \"a\": 1\n  \"b\": 2\n}"),
            "settings.json:3:3: not JSON: ',' or '}' is missing");
  EXPECT_EQ(refused("{\"ä\": tru}"), "settings.json:1:7: not JSON: not a value");
  EXPECT_EQ(refused("\xEF\xBB\xBF{,}"),
            "settings.json:1:2: not JSON: a key in double quotes is missing");
  EXPECT_EQ(refused("{\"a\": 1, \"\\u0061\": 2}"),
            "settings.json:1:10: not JSON: the key \"a\" is there twice");
  EXPECT_EQ(refused(""), "settings.json:1:1: not JSON: a value is missing at the end");
  EXPECT_EQ(refused("{} {}"), "settings.json:1:4: not JSON: text after the end of the document");
  EXPECT_EQ(refused("{} /* x"), "settings.json:1:4: not JSON: a comment without an end");
  EXPECT_EQ(refused("[\"a\n\"]"), "settings.json:1:2: not JSON: a string without an end");
  EXPECT_EQ(refused("[\"\\x\"]"), "settings.json:1:2: not JSON: a bad string");
  EXPECT_EQ(refused("[\"\\"), "settings.json:1:2: not JSON: a string without an end");
  EXPECT_EQ(refused("[01]"), "settings.json:1:2: not JSON: not a value");
  EXPECT_EQ(refused("[\xff]"), "settings.json:1:2: not JSON: a byte that is not UTF-8");
  EXPECT_EQ(refused("[,]"), "settings.json:1:2: not JSON: not a value");
  EXPECT_EQ(refused(std::string(200, '[')), "settings.json:1:102: not JSON: nested too deeply");
  EXPECT_EQ(refused("{'a': 1}"), "settings.json:1:2: not JSON: a key in double quotes is missing");
}

TEST(Jsonc, AddsAMemberInTheStyleOfTheFile) {
  EXPECT_EQ(after_set("{\n    \"a\": 1 // one\n}\n", {"b", "c"}, 2),
            "{\n    \"a\": 1, // one\n    \"b\": {\n        \"c\": 2\n    }\n}\n");
  EXPECT_EQ(after_set("{\r\n\t\"a\": {\r\n\t}\r\n}", {"a", "b"}, {1}),
            "{\r\n\t\"a\": {\r\n\t\t\"b\": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}");
  EXPECT_EQ(after_set("{\n  \"a\": 1,\n}", {"b"}, true), "{\n  \"a\": 1,\n  \"b\": true,\n}");
  EXPECT_EQ(after_set("{\"a\":1}", {"b"}, "x"), "{\"a\":1,\"b\":\"x\"}");
  EXPECT_EQ(after_set("{}", {"b"}, "x"), "{\n  \"b\": \"x\"\n}");
  EXPECT_EQ(after_set("{ // nothing yet\n}\n", {"b"}, "x"),
            "{ // nothing yet\n  \"b\": \"x\"\n}\n");
  EXPECT_EQ(after_set("\xEF\xBB\xBF{}\n", {"b"}, 1), "\xEF\xBB\xBF{\n  \"b\": 1\n}\n");
  EXPECT_EQ(after_set("{\n  \"a\": {},\n  // later\n  \"z\": 1\n}", {"a", "b"}, 1),
            "{\n  \"a\": {\n    \"b\": 1\n  },\n  // later\n  \"z\": 1\n}");
}

TEST(Jsonc, ReplacesAValueAlone) {
  EXPECT_EQ(after_set("{ /* x */ \"a\" : 1 , // c\n \"b\": 2 }", {"a"}, "new"),
            "{ /* x */ \"a\" : \"new\" , // c\n \"b\": 2 }");
  const std::string same = "{ \"a\": [ 1,2 ] }";
  EXPECT_EQ(after_set(same, {"a"}, {1, 2}), same) << "an equal value is not written again";
}

TEST(Jsonc, AppendsToAnArray) {
  EXPECT_EQ(after_append("{\n  \"a\": [1, 2]\n}", {"a"}, 3), "{\n  \"a\": [1, 2, 3]\n}");
  EXPECT_EQ(after_append("{\n  \"a\": [\n    1\n  ]\n}", {"a"}, {{"k", 1}}),
            "{\n  \"a\": [\n    1,\n    {\n      \"k\": 1\n    }\n  ]\n}");
  EXPECT_EQ(after_append("{\n  \"a\": [{\n    \"k\": 1\n  }]\n}", {"a"}, {{"k", 2}}),
            "{\n  \"a\": [{\n    \"k\": 1\n  }, {\n    \"k\": 2\n  }]\n}");
  EXPECT_EQ(after_append("{}", {"a", "b"}, 3),
            "{\n  \"a\": {\n    \"b\": [\n      3\n    ]\n  }\n}");
}

TEST(Jsonc, HasNoPlaceInAValueOfAnotherKind) {
  EXPECT_EQ(after_append("{\n \"a\": {}}", {"a"}, 3), "settings.json:2:7: a is not an array");
  EXPECT_EQ(after_set("{\"a\": [{\"x y\": 1}]}", {"a", kFirst, "x y", "b"}, 3),
            "settings.json:1:16: a[0].\"x y\" is not an object");
  EXPECT_EQ(after_set("[]", {"a"}, 3), "settings.json:1:1: the document is not an object");
}

TEST(Jsonc, RemovesAnElementWithItsComma) {
  EXPECT_EQ(after_remove("[1, 2, 3]", {kFirst}), "[2, 3]");
  EXPECT_EQ(after_remove("[1, 2, 3]", {kSecond}), "[1, 3]");
  EXPECT_EQ(after_remove("[1, 2, 3]", {kThird}), "[1, 2]");
  EXPECT_EQ(after_remove("[1, 2,]", {kSecond}), "[1,]");
  EXPECT_EQ(after_remove("{ \"a\": 1 }", {"a"}), "{}");
  EXPECT_EQ(after_remove("{\n  // keep\n  \"a\": 1,\n  \"b\": 2 // keep too\n}", {"b"}),
            "{\n  // keep\n  \"a\": 1 // keep too\n}");
  EXPECT_EQ(after_remove("{\n  // keep\n  \"a\": 1, \"b\": 2 }", {"a"}),
            "{\n  // keep\n   \"b\": 2 }");
  EXPECT_EQ(after_remove("[1, // one\n 2]", {kSecond}), "[1 // one\n ]");
  EXPECT_EQ(after_remove("{\"a\":1}", {"b"}), "none");
}

// Random documents with random blanks and comments.
class RandomDocument {
 public:
  explicit RandomDocument(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    newline_ = random_below(random_, 4) == 0 ? "\r\n" : "\n";
    lines_ = random_below(random_, 5) != 0;
    std::string out = random_below(random_, 8) == 0 ? "\xEF\xBB\xBF" : "";
    return out + blanks() + container(true, 0) + blanks();
  }
  // A path to some container; its last step is where a value can be added.
  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }

 private:
  std::string blanks() {
    std::string out;
    for (auto count = below(4); count > 1; --count) {
      switch (lines_ ? below(6) : below(2)) {
        case 0:
          out += ' ';
          break;
        case 1:
          out += "/* , ] // */";
          break;
        case 2:
          out += "\t";
          break;
        case 3:
          out += "// \" } ," + newline_;
          break;
        default:
          out += newline_ + std::string(below(5), ' ');
          break;
      }
    }
    return out;
  }
  std::string container(bool object, std::uint64_t depth) {
    const auto count = below(4);
    std::string out = object ? "{" : "[";
    if (count > 0) out += blanks();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (object) out += "\"k" + std::to_string(i) + "\"" + blanks() + ":" + blanks();
      out += value(depth + 1) + blanks();
      if (i + 1 < count || below(4) == 0) out += "," + blanks();
    }
    return out + (object ? "}" : "]");
  }
  std::string value(std::uint64_t depth) {
    switch (below(depth > 4 ? 3 : 6)) {
      case 0:
        return "-1.5e3";
      case 1:
        return R"("te\"xt // \\")";
      case 2:
        return "null";
      default:
        return container(below(2) == 0, depth);
    }
  }

  SeededRandom random_;
  std::string newline_;
  bool lines_ = true;
};

std::vector<JsoncPath> containers_of(const JsoncNode& node, const JsoncPath& path) {
  std::vector<JsoncPath> found;
  if (!node.is_object() && !node.is_array()) return found;
  found.push_back(path);
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    JsoncPath inner = path;
    if (node.is_object()) {
      inner.emplace_back(node.children[i].key);
    } else {
      inner.emplace_back(i);
    }
    for (JsoncPath& each : containers_of(node.children[i], inner)) found.push_back(std::move(each));
  }
  return found;
}

Json& model_at(Json& model, const JsoncPath& path) {
  Json* at = &model;
  for (const JsoncStep& step : path) {
    at = std::holds_alternative<std::string>(step) ? &at->at(std::get<std::string>(step))
                                                   : &at->at(std::get<std::size_t>(step));
  }
  return *at;
}

TEST(Jsonc, WhatIsInsertedAndRemovedLeavesTheSameBytes) {
  const Json put = {{"matcher", "Edit"}, {"hooks", {{{"command", "x"}}}}};
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    RandomDocument random(seed);
    const std::string text = random.text();
    Jsonc document = read(text);
    const auto places = containers_of(document.root(), {});
    const JsoncPath& place = places[random.below(places.size())];
    Json model = document.value(document.root());
    const JsoncNode into = *document.find(place);
    JsoncPath path = place;
    if (into.is_object()) {
      path.emplace_back("ours");
      ASSERT_TRUE(document.set(path, put)) << "seed " << seed << "\n" << text;
      model_at(model, place)["ours"] = put;
    } else {
      path.emplace_back(into.children.size());
      ASSERT_TRUE(document.append(place, put)) << "seed " << seed << "\n" << text;
      model_at(model, place).push_back(put);
    }
    ASSERT_EQ(document.value(document.root()), model) << "seed " << seed << "\n" << text;
    const auto removed = document.remove(path);
    ASSERT_TRUE(removed && *removed) << "seed " << seed << "\n" << text;
    ASSERT_EQ(document.text(), text) << "seed " << seed;
  }
}

TEST(Jsonc, AnyElementCanBeRemoved) {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    RandomDocument random(seed);
    const std::string text = random.text();
    Jsonc document = read(text);
    const auto places = containers_of(document.root(), {});
    const JsoncPath& place = places[random.below(places.size())];
    const JsoncNode from = *document.find(place);
    if (from.children.empty()) continue;
    const auto index = random.below(from.children.size());
    Json model = document.value(document.root());
    JsoncPath path = place;
    if (from.is_object()) {
      path.emplace_back(from.children[index].key);
      model_at(model, place).erase(from.children[index].key);
    } else {
      path.emplace_back(std::size_t{index});
      model_at(model, place).erase(index);
    }
    const auto removed = document.remove(path);
    ASSERT_TRUE(removed) << "seed " << seed << ": " << removed.error().message << "\n" << text;
    ASSERT_EQ(document.value(document.root()), model) << "seed " << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace lockkeeper::install
