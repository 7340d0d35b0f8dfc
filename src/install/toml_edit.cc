#include "install/toml_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "base/toml.h"

namespace lockkeeper::install {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kTomlSpaces = " \t";

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& each : *array) list.push_back(json_of(each));
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  std::ostringstream out;
  if (const auto* fraction = node.as_floating_point()) out << std::hexfloat << fraction->get();
  if (const auto* date = node.as_date()) out << date->get();
  if (const auto* time = node.as_time()) out << time->get();
  if (const auto* both = node.as_date_time()) out << both->get();
  return out.str();
}

// A line of the file that begins something: a table, or a field of the table above it.
struct TomlLine {
  bool header = false;
  bool list = false;      // [[…]]
  Words path;             // of the table; of the field, in its table
  std::size_t begin = 0;  // of the line
  std::size_t value = 0;  // of the field's value
  std::size_t value_end = 0;
  std::size_t end = 0;  // of its last line, with the newline
};

// Finds the lines of a text that toml++ has read without an error.
class TomlScanner {
 public:
  explicit TomlScanner(std::string_view text) : text_(text) {}

  std::vector<TomlLine> lines() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    std::vector<TomlLine> found;
    while (at_ < text_.size()) {
      TomlLine line;
      line.begin = at_;
      at_ = std::min(text_.find_first_not_of(kTomlSpaces, at_), text_.size());
      if (at_ == text_.size()) break;
      const bool nothing = std::string_view("#\r\n").contains(text_[at_]);
      if (text_[at_] == '[') {
        header(line);
      } else if (!nothing) {
        field(line);
      }
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      line.end = at_;
      if (!nothing) found.push_back(std::move(line));
    }
    return found;
  }

 private:
  bool is(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(kTomlSpaces, at_), text_.size()); }

  void header(TomlLine& line) {
    line.header = true;
    line.list = is("[[");
    at_ += line.list ? 2U : 1U;
    line.path = key();
  }

  void field(TomlLine& line) {
    line.path = key();
    if (at_ < text_.size()) ++at_;  // '='
    skip_spaces();
    line.value = at_;
    std::size_t depth = 0;
    while (at_ < text_.size() && (depth > 0 || text_[at_] != '\n')) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        string();
      } else {
        if (c == '[' || c == '{') ++depth;
        if ((c == ']' || c == '}') && depth > 0) --depth;
        ++at_;
      }
      if (!std::string_view(" \t\r\n").contains(c)) line.value_end = at_;
    }
  }

  // Past a string of any of the four kinds.
  void string() {
    const std::string mark(1, text_[at_]);
    const std::string three = mark + mark + mark;
    const bool long_one = is(three);
    const std::string& close = long_one ? three : mark;
    at_ += close.size();
    while (at_ < text_.size() && !is(close)) at_ += mark == "\"" && text_[at_] == '\\' ? 2U : 1U;
    at_ = std::min(at_ + close.size(), text_.size());
    while (long_one && is(mark)) ++at_;  // up to two more quotes may belong to it
  }

  Words key() {
    Words words;
    for (;;) {
      skip_spaces();
      const std::size_t begin = at_;
      if (is("\"") || is("'")) {
        string();
        words.push_back(unquoted(text_.substr(begin, at_ - begin)));
      } else {
        while (at_ < text_.size() && (is_ascii_word(text_[at_]) || is("_") || is("-"))) ++at_;
        words.emplace_back(text_.substr(begin, at_ - begin));
      }
      skip_spaces();
      if (!is(".")) return words;
      ++at_;
    }
  }

  static std::string unquoted(std::string_view quoted) {
    if (quoted.size() < 2) return {};
    if (quoted.front() == '\'') return std::string(quoted.substr(1, quoted.size() - 2));
    const Json read = Json::parse(quoted, nullptr, false);  // TOML's \U and \e stay as they are
    return read.is_string() ? read.get<std::string>() : std::string(quoted);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool begins_with(const Words& path, const Words& front) {
  return path.size() >= front.size() && std::equal(front.begin(), front.end(), path.begin());
}

std::string toml_newline(std::string_view text) {
  const std::size_t first = text.find('\n');
  return first != std::string_view::npos && first > 0 && text[first - 1] == '\r' ? "\r\n" : "\n";
}

std::string toml_text(const Json& value) {
  // JSON's strings and lists are TOML's, too, except that TOML wants DEL escaped.
  std::string out;
  for (const char c : value.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '\x7f') {
      out += "\\u007f";
    } else {
      out += c;
    }
  }
  return out;
}

std::string toml_key(const Words& path) {
  Words parts;
  for (const std::string& word : path) {
    const bool bare = !word.empty() && std::ranges::all_of(word, [](char c) {
      return is_ascii_word(c) || c == '_' || c == '-';
    });
    parts.push_back(bare ? word : toml_text(word));
  }
  return join(parts, ".");
}

std::unexpected<Error> by_hand(const std::string& file, const Words& path) {
  return fail(Code::kInvalidConfig,
              file + ": the table " + toml_key(path) +
                  " is written in a way that is not changed "
                  "by text",
              "change it by hand, or write it as [" + toml_key(path) + "]; nothing was changed");
}

// Everything but that table, without the tables that are then empty.
Json without(Json document, const Words& path) {
  for (std::size_t depth = path.size(); depth > 0; --depth) {
    Json* at = &document;
    for (std::size_t i = 0; i + 1 < depth && at != nullptr; ++i) {
      const auto next = at->is_object() ? at->find(path[i]) : at->end();
      at = at->is_object() && next != at->end() ? &*next : nullptr;
    }
    if (at == nullptr || !at->is_object()) continue;
    const auto found = at->find(path[depth - 1]);
    if (found != at->end() && (depth == path.size() || found->empty())) at->erase(found);
  }
  return document;
}

// Is `after` what was wanted, and nothing else?
Result<std::string> checked(const std::string& before, std::string after, const std::string& file,
                            const Words& path, const Json* fields) {
  LK_ASSIGN(const Json old, toml_as_json(before, file));
  const auto now = toml_as_json(after, file);
  if (!now || without(*now, path) != without(old, path)) return by_hand(file, path);
  const Json* const table = json_at(*now, path);
  if ((table == nullptr) != (fields == nullptr)) return by_hand(file, path);
  if (fields == nullptr) return after;
  for (const auto& [key, value] : fields->items()) {
    if (!table->contains(key) || table->at(key) != value) return by_hand(file, path);
  }
  return after;
}

struct TomlPatch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string put;
};

std::string patched(const std::string& text, std::vector<TomlPatch> patches) {
  std::ranges::stable_sort(patches, {}, &TomlPatch::begin);
  std::string out;
  std::size_t at = 0;
  for (const TomlPatch& patch : patches) {
    if (patch.begin < at) continue;  // overlapping: checked() refuses what comes of it
    out += text.substr(at, patch.begin - at) + patch.put;
    at = patch.end;
  }
  return out + text.substr(at);
}

std::string with_new_table(const std::string& text, const Words& path, const Json& fields) {
  const std::string newline = toml_newline(text);
  std::string block = "[" + toml_key(path) + "]";
  for (const auto& [key, value] : fields.items()) {
    block += newline + toml_key({key}) + " = " + toml_text(value);
  }
  if (text.empty()) return block + newline;
  // Without a last newline as before, so that taking it out again restores every byte.
  if (!text.ends_with('\n')) return text + newline + newline + block;
  return text + newline + block + newline;
}

std::string with_fields(const std::string& text, const std::vector<TomlLine>& lines,
                        std::size_t header, const Json& fields) {
  const std::string newline = toml_newline(text);
  std::vector<TomlPatch> patches;
  std::string added;
  for (const auto& [key, value] : fields.items()) {
    const TomlLine* line = nullptr;
    for (std::size_t i = header + 1; i < lines.size() && !lines[i].header; ++i) {
      if (lines[i].path == Words{key}) line = &lines[i];
    }
    if (line != nullptr) {
      patches.push_back({line->value, line->value_end, toml_text(value)});
    } else {
      added += toml_key({key}) + " = " + toml_text(value) + newline;
    }
  }
  const std::size_t end = lines[header].end;
  if (!added.empty()) {
    const bool open = end == text.size() && !text.ends_with('\n');
    patches.push_back({end, end, (open ? newline : "") + added});
  }
  return patched(text, std::move(patches));
}

// One block: from its header, with the empty line before it, to its last field.
TomlPatch block_of(const std::string& text, const std::vector<TomlLine>& lines,
                   std::size_t header) {
  std::size_t begin = lines[header].begin;
  std::size_t end = lines[header].end;
  for (std::size_t i = header + 1; i < lines.size() && !lines[i].header; ++i) end = lines[i].end;
  const auto back = [&](std::size_t at) -> std::size_t {  // over one newline
    if (at == 0 || text[at - 1] != '\n') return at;
    return at >= 2 && text[at - 2] == '\r' ? at - 2 : at - 1;
  };
  const std::size_t above = back(begin);
  if (above != begin && (above == 0 || text[above - 1] == '\n')) begin = above;
  if (end == text.size() && !text.ends_with('\n')) begin = back(begin);
  return {begin, end, ""};
}

}  // namespace

Result<Json> toml_as_json(const std::string& text, const std::string& file) {
  std::size_t line = 1;
  std::ptrdiff_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    if (c == '.' && ++dots > kTomlDotsMax) {
      return fail(Code::kInvalidConfig, file + ":" + std::to_string(line) + ": nested too deeply",
                  "correct the file; nothing was changed");
    }
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const auto at = error.source().begin;
    return fail(Code::kInvalidConfig,
                file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                    ": not TOML: " + quote(error.description(), 200),
                "correct the file; nothing was changed");
  }
  return json_of(parsed.table());
}

const Json* json_at(const Json& document, const std::vector<std::string>& path) {
  const Json* at = &document;
  for (const std::string& key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

Result<std::string> put_toml_table(const std::string& text, const std::string& file,
                                   const std::vector<std::string>& path, const Json& fields) {
  LK_ASSIGN(const Json document, toml_as_json(text, file));
  const Json* const table = json_at(document, path);
  if (table == nullptr) {
    return checked(text, with_new_table(text, path, fields), file, path, &fields);
  }
  const bool same = table->is_object() && std::ranges::all_of(fields.items(), [&](const auto& it) {
                      return table->contains(it.key()) && table->at(it.key()) == it.value();
                    });
  if (same) return text;
  const auto lines = TomlScanner(text).lines();
  const auto header = std::ranges::find_if(
      lines, [&](const TomlLine& line) { return line.header && !line.list && line.path == path; });
  if (header == lines.end()) return by_hand(file, path);
  const auto index = static_cast<std::size_t>(header - lines.begin());
  return checked(text, with_fields(text, lines, index, fields), file, path, &fields);
}

Result<std::string> remove_toml_table(const std::string& text, const std::string& file,
                                      const std::vector<std::string>& path) {
  LK_ASSIGN(const Json document, toml_as_json(text, file));
  if (json_at(document, path) == nullptr) return text;
  const auto lines = TomlScanner(text).lines();
  std::vector<TomlPatch> patches;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].header && begins_with(lines[i].path, path)) {
      patches.push_back(block_of(text, lines, i));
    }
  }
  return checked(text, patched(text, std::move(patches)), file, path, nullptr);
}

Result<std::string> remove_toml_field(const std::string& text, const std::string& file,
                                      const std::vector<std::string>& path,
                                      const std::string& field) {
  LK_ASSIGN(const Json old, toml_as_json(text, file));
  const Json* const table = json_at(old, path);
  if (table == nullptr || !table->is_object() || !table->contains(field)) return text;
  if (table->size() == 1) return remove_toml_table(text, file, path);
  const auto lines = TomlScanner(text).lines();
  bool inside = false;
  for (const TomlLine& line : lines) {
    if (line.header) inside = !line.list && line.path == path;
    if (!inside || line.header || line.path != Words{field}) continue;
    std::string after = patched(text, {{line.begin, line.end, ""}});
    const auto now = toml_as_json(after, file);
    const Json* const left = now ? json_at(*now, path) : nullptr;
    const bool good = left != nullptr && !left->contains(field) &&
                      left->size() + 1 == table->size() &&
                      without(*now, path) == without(old, path);
    if (good) return after;
    break;
  }
  return by_hand(file, path);
}

}  // namespace lockkeeper::install
