// Values written as YAML and JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "yaml/rewrite.h"

namespace lockkeeper::yaml {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

// Only letters, digits and the characters of paths and ids: safe without quotes everywhere.
bool is_plain(const std::string& text) {
  constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no",
                                         "on",   "off",  "y",     "n"};
  const auto is_harmless = [](char c) { return is_name_character(c) || c == '/'; };
  return !text.empty() && is_ascii_letter(text.front()) && std::ranges::all_of(text, is_harmless) &&
         std::ranges::find(kWords, lowered(text)) == std::end(kWords);
}

// A string, or the key of a map.
std::string string_text(const std::string& text, bool json) {
  return !json && is_plain(text) ? text : quoted(text);
}

// Is it a list or map with something in it?
bool has_parts(const Node& node) {
  return !node.list.empty() || !node.entries.empty();
}

// Can it be a block string after '|' that is read back unchanged?
bool fits_literal(const std::string& text) {
  if (text.find('\n') == std::string::npos || text.front() == ' ' || text.front() == '\n') {
    return false;
  }
  if (text.ends_with("\n\n") || text == "\n") return false;
  return std::ranges::none_of(text, [](char c) {
    return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
  });
}

std::string literal_text(const std::string& text, std::size_t indent) {
  const bool ended = text.ends_with('\n');
  std::string out = ended ? "|" : "|-";
  std::string_view rest = text;
  if (ended) rest.remove_suffix(1);
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    out += "\n";
    if (!line.empty()) out += std::string(indent, ' ') + std::string(line);
    if (end != std::string_view::npos) rest.remove_prefix(end + 1);
  }
  return out;
}

std::string json_lines(const Node& node, std::size_t indent) {
  const std::string margin(indent + 2, ' ');
  std::string out(1, node.is_list() ? '[' : '{');
  bool first = true;
  const auto next = [&] {
    out += (first ? "\n" : ",\n") + margin;
    first = false;
  };
  for (const Node& each : node.list) {
    next();
    out += block_text(each, indent + 2, true);
  }
  for (const Node::Entry& each : node.entries) {
    next();
    out += quoted(each.key) + ": " + block_text(each.value, indent + 2, true);
  }
  return out + "\n" + std::string(indent, ' ') + (node.is_list() ? "]" : "}");
}

std::string yaml_lines(const Node& node, std::size_t indent) {
  const std::string margin = "\n" + std::string(indent, ' ');
  std::string out;
  for (const Node& each : node.list) {
    out += (out.empty() ? "" : margin) + "- " + block_text(each, indent + 2, false);
  }
  for (const Node::Entry& each : node.entries) {
    out += (out.empty() ? "" : margin) + string_text(each.key, false) + ":";
    out += has_parts(each.value) ? "\n" + std::string(indent + 2, ' ') : " ";
    out += block_text(each.value, indent + 2, false);
  }
  return out;
}

}  // namespace

std::string flow_text(const Node& node, bool json) {
  if (node.is_text()) return string_text(node.text, json);
  if (node.kind == Node::Kind::kNull) return "null";
  if (!node.is_list() && !node.is_map()) return node.text;
  std::string out;
  for (const Node& each : node.list) out += (out.empty() ? "" : ", ") + flow_text(each, json);
  for (const Node::Entry& each : node.entries) {
    out += (out.empty() ? "" : ", ") + string_text(each.key, json) + ": " +
           flow_text(each.value, json);
  }
  return node.is_list() ? "[" + out + "]" : "{" + out + "}";
}

std::string block_text(const Node& node, std::size_t indent, bool json) {
  if (has_parts(node)) return json ? json_lines(node, indent) : yaml_lines(node, indent);
  if (!json && node.is_text() && fits_literal(node.text)) return literal_text(node.text, indent);
  return flow_text(node, json);
}

}  // namespace lockkeeper::yaml
