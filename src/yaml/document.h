// A YAML or JSON file as a tree that remembers where everything stands, for findings with line and
// column. Reads what plans need and refuses the rest by name: tags that would make objects, keys
// given twice, aliases that grow without end, several documents in one file.
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
  std::size_t line = 0;    // from 1; 0: nowhere in particular
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
  Place stop;          // behind its last character; of a block list or map, that of its last value
  bool flow = false;   // a list or map in brackets
  bool alias = false;  // stands elsewhere; what is in it has its places there

  const Node* find(std::string_view key) const;  // kMap; null: there is none
  // kNumber without a fraction ("5", "+5", "5.0") that fits; else none.
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

// What was wrong with a file that is no document, and where.
struct ParseError {
  Place place;
  std::string message;
};

// What is behind an alias counts each time, and once more at its anchor.
struct DocumentLimits {
  std::size_t bytes = 64U << 20;  // of the text, and of all values together
  std::size_t nodes = 2'000'000;
  std::size_t depth = 100;
};

// YAML 1.1 as the field writes it, with the scalars of the core schema; JSON is part of it. An
// empty document is a null node.
std::expected<Node, ParseError> parse_document(std::string_view text, DocumentLimits limits = {});

}  // namespace lockkeeper::yaml
