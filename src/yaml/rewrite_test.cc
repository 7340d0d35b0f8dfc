#include "yaml/rewrite.h"

#include <gtest/gtest.h>

#include <functional>

namespace lockkeeper::yaml {
namespace {

Node parsed(std::string_view text) {
  const auto node = parse_document(text);
  EXPECT_TRUE(node) << text << "\n" << (node ? "" : node.error().message);
  return node.value_or(Node());
}

Node& at(Node& map, std::string_view key) {
  return const_cast<Node&>(*map.find(key));
}

Node text(std::string value) {
  Node node;
  node.kind = Node::Kind::kText;
  node.text = std::move(value);
  return node;
}

// Fails if it was not changed in place.
std::string changed(std::string_view before, const std::function<void(Node&)>& change) {
  const Node old = parsed(before);
  Node now = old;
  change(now);
  const Rewritten result = rewrite(before, old, now);
  EXPECT_FALSE(result.whole) << result.text;
  EXPECT_TRUE(same_document(parsed(result.text), now)) << result.text;
  return result.text;
}

TEST(Rewrite, NothingChangesNothing) {
  constexpr std::string_view kText = "a: 1 # one\n";
  EXPECT_EQ(changed(kText, [](Node&) {}), kText);
}

TEST(Rewrite, BlockListsKeepTheirComments) {
  constexpr std::string_view kText =
      "# top\nf:\n  - a  # first\n  - \"b\"\n  # last\n  - c\ng: 1\n";
  EXPECT_EQ(
      changed(kText, [](Node& root) { at(root, "f").list.erase(at(root, "f").list.begin()); }),
      "# top\nf:\n  - \"b\"\n  # last\n  - c\ng: 1\n");
  EXPECT_EQ(changed(kText, [](Node& root) { at(root, "f").list.push_back(text("d")); }),
            "# top\nf:\n  - a  # first\n  - \"b\"\n  # last\n  - c\n  - d\ng: 1\n");
  EXPECT_EQ(changed(kText, [](Node& root) { at(root, "f").list[1] = text("x y"); }),
            "# top\nf:\n  - a  # first\n  - \"x y\"\n  # last\n  - c\ng: 1\n");
  EXPECT_EQ(changed(kText, [](Node& root) { at(root, "f").list.clear(); }), "# top\nf: []\ng: 1\n");
}

TEST(Rewrite, FlowListsInOneLineAndInMany) {
  EXPECT_EQ(changed("f: [a, b, c] # x\n", [](Node& root) { at(root, "f").list.pop_back(); }),
            "f: [a, b] # x\n");
  EXPECT_EQ(changed("f: [a, b, c]\n",
                    [](Node& root) { at(root, "f").list.erase(at(root, "f").list.begin()); }),
            "f: [b, c]\n");
  EXPECT_EQ(changed("f: []\n", [](Node& root) { at(root, "f").list.push_back(text("**")); }),
            "f: [\"**\"]\n");
  EXPECT_EQ(changed("f: [a]\n", [](Node& root) { at(root, "f").list.clear(); }), "f: []\n");
  const std::string json = "{\n  \"f\": [\n    \"a\",\n    \"b\"\n  ]\n}\n";
  EXPECT_EQ(changed(json, [](Node& root) { at(root, "f").list.push_back(text("c")); }),
            "{\n  \"f\": [\n    \"a\",\n    \"b\",\n    \"c\"\n  ]\n}\n");
  EXPECT_EQ(changed(json, [](Node& root) { at(root, "f").list.pop_back(); }),
            "{\n  \"f\": [\n    \"a\"\n  ]\n}\n");
}

TEST(Rewrite, NewKeysStandBehindTheName) {
  const auto add = [](Node& root) {
    Node list;
    list.kind = Node::Kind::kList;
    list.list.push_back(text("b"));
    root.list[0].entries.push_back({"after", {}, list});
  };
  EXPECT_EQ(changed("- agent: a # me\n  files: [x]\n", add),
            "- agent: a # me\n  after: [b]\n  files: [x]\n");
  EXPECT_EQ(changed("- {agent: a, files: [x]}\n", add), "- {agent: a, after: [b], files: [x]}\n");
  EXPECT_EQ(changed("[{\"agent\": \"a\",\n  \"files\": [\"x\"]}]", add),
            "[{\"agent\": \"a\",\n  \"after\": [\"b\"],\n  \"files\": [\"x\"]}]");
}

TEST(Rewrite, TextsOfManyLines) {
  constexpr std::string_view kText = "- d: |\n    one\n    two\n  n: 1\n";
  EXPECT_EQ(changed(kText, [](Node& root) { at(root.list[0], "d").text = "three\nfour\n"; }),
            "- d: |\n    three\n    four\n  n: 1\n");
}

TEST(Rewrite, UmlautsAndCarriageReturns) {
  EXPECT_EQ(changed("ä: [ö, ü, x]\r\n", [](Node& root) { at(root, "ä").list.pop_back(); }),
            "ä: [ö, ü]\r\n");
  EXPECT_EQ(changed("f:\r\n  - ö\r\n  - b\r\n",
                    [](Node& root) { at(root, "f").list.push_back(text("c")); }),
            "f:\r\n  - ö\r\n  - b\r\n  - c\r\n");
}

TEST(Rewrite, WhatOthersUseByAnAliasIsWrittenAnew) {
  constexpr std::string_view kText = "a: &x [one, two] # both\nb: *x\n";
  const Node old = parsed(kText);
  Node now = old;
  at(now, "a").list.pop_back();
  const Rewritten result = rewrite(kText, old, now);
  EXPECT_TRUE(result.whole);
  EXPECT_TRUE(same_document(parsed(result.text), now)) << result.text;
  // The alias can be replaced by a value of its own.
  now = old;
  at(now, "b").list.pop_back();
  EXPECT_EQ(rewrite(kText, old, now).text, "a: &x [one, two] # both\nb: [one]\n");
}

TEST(Rewrite, AnyDocumentCanBeWrittenAnew) {
  for (const char* const each :
       {"a: 1\nb: [x, {c: null, d: \"\"}]\n", "- - a\n  - b\n- {}\n- []\n",
        "a: |\n  x\n   y\n\n  z\n", "t: 'no'\nu: \"1\"\nv: 1.5\nw: true\n\"x: y\": \"#\"\n",
        "a: \" x\\n y\"\n", "a: \"\\t\\n\"\n"}) {
    const Node node = parsed(each);
    EXPECT_TRUE(same_document(parsed(block_text(node, 0, false) + "\n"), node))
        << block_text(node, 0, false);
    EXPECT_TRUE(same_document(parsed(block_text(node, 0, true)), node))
        << block_text(node, 0, true);
    EXPECT_TRUE(same_document(parsed(flow_text(node, true)), node)) << flow_text(node, true);
  }
}

}  // namespace
}  // namespace lockkeeper::yaml
