// A YAML or JSON file as a tree with the line and column of each value. Reads what plans need and
// refuses the rest: tags that would make objects, keys given twice, aliases that grow without end,
// several documents in one file.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lockkeeper::yaml {

struct Place {
  std::size_t line = 0;    // from 1; 0: unknown
  std::size_t column = 0;  // from 1
};

class Node {
 public:
  enum class Kind : std::uint8_t { kNull, kText, kNumber, kTruth, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string text;            // kText; kNumber as written; kTruth: "true" or "false"
  std::vector<Node> list;      // kList
  std::vector<Entry> entries;  // kMap, in the order of the file
  Place place;
  Place stop;          // after its last character; for a block list or map, after its last value
  bool flow = false;   // a list or map in brackets
  bool alias = false;  // its content has the places of its anchor

  const Node* find(std::string_view key) const;  // kMap; null: none
  // kNumber without a fraction ("5", "+5", "5.0") that fits.
  std::optional<std::int64_t> whole() const;
  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
};

struct Node::Entry {
  std::string key;
  Place place;  // of the key
  Node value;
};

// Why a file cannot be read, and where.
struct ParseError {
  Place place;
  std::string message;
};

// Aliased values count once per use, plus once at the anchor.
struct DocumentLimits {
  std::size_t bytes = 64U << 20;  // of the text, and of all values together
  std::size_t nodes = 2'000'000;
  std::size_t depth = 100;
};

// YAML 1.1 syntax with the scalars of the core schema; JSON is part of it. An empty document is a
// null node.
std::expected<Node, ParseError> parse_document(std::string_view text, DocumentLimits limits = {});

}  // namespace lockkeeper::yaml
