#include "yaml/document.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <unordered_set>

#include "base/text.h"

namespace lockkeeper::yaml {
namespace {

using Failed = std::unexpected<ParseError>;

Place place_of(const yaml_mark_t& mark) {
  return {mark.line + 1, mark.column + 1};
}

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool is_number(std::string_view text) {
  const auto skip = [&](std::string_view any_of) {
    const bool there = !text.empty() && any_of.contains(text.front());
    if (there) text.remove_prefix(1);
    return there;
  };
  const auto digits = [&] {
    std::size_t count = 0;
    while (skip("0123456789")) ++count;
    return count;
  };
  skip("-+");
  std::size_t count = digits();
  if (skip(".")) count += digits();
  if (count == 0) return false;
  if (skip("eE")) {
    skip("-+");
    if (digits() == 0) return false;
  }
  return text.empty();
}

// A plain scalar by the core schema: `no` and `on` are strings, as in YAML 1.2 and JSON.
void read_scalar(std::string_view text, bool plain, Node& node) {
  node.kind = Node::Kind::kText;
  node.text = text;
  if (!plain) return;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    node.kind = Node::Kind::kNull;
    node.text.clear();
  } else if (text == "true" || text == "True" || text == "TRUE" || text == "false" ||
             text == "False" || text == "FALSE") {
    node.kind = Node::Kind::kTruth;
    node.text = lowered(text);
  } else if (is_number(text)) {
    node.kind = Node::Kind::kNumber;
  }
}

// Tags that repeat what the text itself says.
bool is_harmless_tag(std::string_view tag) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "!") return true;
  if (!tag.starts_with(kCore)) return false;
  tag.remove_prefix(kCore.size());
  return tag == "str" || tag == "int" || tag == "float" || tag == "bool" || tag == "null" ||
         tag == "seq" || tag == "map";
}

class Reader {
 public:
  Reader(std::string_view text, DocumentLimits limits) : limits_(limits) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Reader() {
    if (event_.type != YAML_NO_EVENT) yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::expected<Node, ParseError> read() {
    if (!next() || !next()) return Failed(error_);  // stream, document
    if (event_.type == YAML_STREAM_END_EVENT) return Node();
    Node root;
    if (!next() || !value(root, 0) || !next() || !next()) return Failed(error_);
    if (event_.type != YAML_STREAM_END_EVENT) {
      return Failed({place_of(event_.start_mark), "a second document begins here"});
    }
    return root;
  }

 private:
  bool next() {
    if (event_.type != YAML_NO_EVENT) yaml_event_delete(&event_);
    event_ = {};
    if (yaml_parser_parse(&parser_, &event_) == 1) return true;
    const std::string what = parser_.problem == nullptr ? "cannot be read" : parser_.problem;
    const bool reading = parser_.error == YAML_READER_ERROR;
    Place place = place_of(reading ? parser_.mark : parser_.problem_mark);
    return fails(place, reading ? "not UTF-8 text: " + what : "not YAML: " + what);
  }

  bool fails(Place place, std::string message) {
    error_ = {place, std::move(message)};
    return false;
  }

  // The size of a value with all that is in it.
  struct Size {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
    std::size_t depth = 0;
  };

  bool counted(const Size& size, Place place) {
    nodes_ += size.nodes;
    bytes_ += size.bytes;
    if (nodes_ > limits_.nodes) {
      return fails(
          place, "more than " + std::to_string(limits_.nodes) + " values, including aliased ones");
    }
    if (bytes_ <= limits_.bytes) return true;
    return fails(place, "more than " + std::to_string(limits_.bytes) +
                            " bytes of text, including aliased values");
  }

  bool not_too_deep(std::size_t depth, Place place) {
    if (depth <= limits_.depth) return true;
    return fails(place, "nested more than " + std::to_string(limits_.depth) + " levels deep");
  }

  bool check_tag(std::string_view tag) {
    if (is_harmless_tag(tag)) return true;
    return fails(place_of(event_.start_mark),
                 "the tag " + quote(tag, 60) + " is not allowed: a plan is plain data");
  }

  static Size size_of(const Node& node) {
    Size size{1, node.text.size(), 0};
    const auto add = [&](const Node& part) {
      const Size inside = size_of(part);
      size.nodes += inside.nodes;
      size.bytes += inside.bytes;
      size.depth = std::max(size.depth, inside.depth + 1);
    };
    for (const Node& each : node.list) add(each);
    for (const Node::Entry& each : node.entries) {
      size.nodes += 1;
      size.bytes += each.key.size();
      add(each.value);
    }
    return size;
  }

  // The copy counts: nested anchors could grow without end.
  bool remember(std::string_view anchor, const Node& node) {
    if (anchor.empty()) return true;
    if (!counted(size_of(node), node.place)) return false;
    anchors_[std::string(anchor)] = node;
    return true;
  }

  // Begins at the value's first event and ends at its last.
  bool value(Node& node, std::size_t depth) {
    node.place = place_of(event_.start_mark);
    if (!not_too_deep(depth, node.place) || !counted({}, node.place)) return false;
    switch (event_.type) {
      case YAML_ALIAS_EVENT:
        return alias(node, depth);
      case YAML_SCALAR_EVENT:
        return scalar(node);
      case YAML_SEQUENCE_START_EVENT:
        return list(node, depth);
      case YAML_MAPPING_START_EVENT:
        return map(node, depth);
      default:
        return fails(node.place, "a value is missing here");
    }
  }

  bool alias(Node& node, std::size_t depth) {
    const std::string name(text_of(event_.data.alias.anchor));
    const auto known = anchors_.find(name);
    if (known == anchors_.end()) {
      return fails(node.place, "the alias " + quote("*" + name, 60) +
                                   " has no anchor, or is inside its own anchor");
    }
    const Place place = node.place;
    const Size size = size_of(known->second);
    if (!counted(size, place) || !not_too_deep(depth + size.depth, place)) return false;
    node = known->second;
    node.place = place;
    node.stop = place_of(event_.end_mark);
    node.alias = true;
    return true;
  }

  bool scalar(Node& node) {
    const auto& data = event_.data.scalar;
    const std::string_view tag = text_of(data.tag);
    if (!check_tag(tag)) return false;
    const bool plain = data.style == YAML_PLAIN_SCALAR_STYLE && !tag.ends_with(":str");
    const std::string_view text(reinterpret_cast<const char*>(data.value), data.length);
    if (text.contains('\0')) return fails(node.place, "a NUL byte in a string");
    read_scalar(text, plain, node);
    node.stop = place_of(event_.end_mark);
    return counted({0, text.size(), 0}, node.place) && remember(text_of(data.anchor), node);
  }

  bool list(Node& node, std::size_t depth) {
    if (!check_tag(text_of(event_.data.sequence_start.tag))) return false;
    const std::string anchor(text_of(event_.data.sequence_start.anchor));
    node.kind = Node::Kind::kList;
    node.flow = event_.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    for (;;) {
      if (!next()) return false;
      if (event_.type == YAML_SEQUENCE_END_EVENT) break;
      if (!value(node.list.emplace_back(), depth + 1)) return false;
      node.stop = node.list.back().stop;
    }
    if (node.flow) node.stop = place_of(event_.end_mark);
    return remember(anchor, node);
  }

  bool map(Node& node, std::size_t depth) {
    if (!check_tag(text_of(event_.data.mapping_start.tag))) return false;
    const std::string anchor(text_of(event_.data.mapping_start.anchor));
    node.kind = Node::Kind::kMap;
    node.flow = event_.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    std::unordered_set<std::string> keys;
    for (;;) {
      if (!next()) return false;
      if (event_.type == YAML_MAPPING_END_EVENT) break;
      const Place place = place_of(event_.start_mark);
      Node key;
      if (!value(key, depth + 1)) return false;
      if (key.is_list() || key.is_map()) return fails(place, "a key must be a plain string");
      if (!keys.insert(key.text).second) {
        return fails(place, "the key " + quote(key.text, 60) + " is given twice");
      }
      Node::Entry& entry = node.entries.emplace_back();
      entry.key = std::move(key.text);
      entry.place = place;
      if (!next() || !value(entry.value, depth + 1)) return false;
      node.stop = entry.value.stop;
    }
    if (node.flow) node.stop = place_of(event_.end_mark);
    return remember(anchor, node);
  }

  const DocumentLimits limits_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  ParseError error_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::map<std::string, Node> anchors_;
};

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  return entry == entries.end() ? nullptr : &entry->value;
}

std::optional<std::int64_t> Node::whole() const {
  if (kind != Kind::kNumber) return std::nullopt;
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (*begin == '+') ++begin;
  const auto reads_all = [&](auto& value) {
    const auto [rest, error] = std::from_chars(begin, end, value);
    return error == std::errc() && rest == end;
  };
  std::int64_t value = 0;
  if (reads_all(value)) return value;
  double real = 0;
  constexpr double kExact = 9007199254740992.0;  // beyond this, doubles are not exact
  const bool whole = reads_all(real) && std::abs(real) <= kExact && std::trunc(real) == real;
  return whole ? std::optional(static_cast<std::int64_t>(real)) : std::nullopt;
}

namespace {

// The line of the first bad byte.
std::size_t line_that_is_not_utf8(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!is_valid_utf8(text.substr(0, end))) break;
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return line;
}

// The value of "\\uXXXX" at `at`; 0: there is none.
unsigned escaped_unit(std::string_view text, std::size_t at) {
  unsigned value = 0;
  if (text.substr(at, 2) != "\\u" || text.size() < at + 6) return 0;
  const char* const end = text.data() + at + 6;
  const auto [rest, error] = std::from_chars(text.data() + at + 2, end, value, 16);
  return error == std::errc() && rest == end ? value : 0;
}

// JSON writes a character beyond U+FFFF as two escapes, which YAML does not know: replaces them by
// one "\\U" escape. Only inside JSON strings.
std::string with_joined_surrogates(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    const unsigned high = inside ? escaped_unit(text, i) : 0;
    const unsigned low = high == 0 ? 0 : escaped_unit(text, i + 6);
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
      char whole[16];
      std::snprintf(whole, sizeof whole, "\\U%08X",
                    0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      out += whole;
      i += 12;
      continue;
    }
    const std::size_t length = inside && text[i] == '\\' ? 2 : 1;
    if (text[i] == '"') inside = !inside;
    out += text.substr(i, length);
    i += length;
  }
  return out;
}

bool has_surrogate_escapes(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return json && (text.contains("\\ud") || text.contains("\\uD"));
}

}  // namespace

std::expected<Node, ParseError> parse_document(std::string_view text, DocumentLimits limits) {
  if (text.size() > limits.bytes) {
    return Failed({{},
                   "the file has " + std::to_string(text.size()) + " bytes; the limit is " +
                       std::to_string(limits.bytes)});
  }
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line = 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, nul), '\n'));
    return Failed({{line, 1}, "not text: it contains a NUL byte"});
  }
  if (!is_valid_utf8(text)) {
    return Failed(
        {{line_that_is_not_utf8(text), 1}, "not UTF-8 text: this line has an invalid byte"});
  }
  if (has_surrogate_escapes(text)) return Reader(with_joined_surrogates(text), limits).read();
  return Reader(text, limits).read();
}

}  // namespace lockkeeper::yaml
