#include "realm/config_reader.h"

#include <algorithm>
#include <iterator>

#include "base/parse.h"
#include "realm/config_schema.h"

namespace lockkeeper::realm {
namespace {

std::string shown_node(const toml::node& node) {
  if (const auto* text = node.as_string()) return quote(text->get(), 60);
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return std::to_string(real->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  return "a date or time";
}

// A key that people expect here, or of another section, or written without its section
// ("default = …").
std::string elsewhere(const std::string& name, std::string_view section) {
  std::string found;
  for (const Field& field : kFields) {
    const std::size_t dot = field.name.find('.');
    const bool here = section.empty() || field.name.substr(0, dot) == section;
    const bool tried = std::ranges::count(words_in(field.tried, " "), name) > 0;
    if (here && tried) return std::string(field.name);
    if (found.empty() && field.name.substr(dot + 1) == name) found = field.name;
  }
  return found;
}

}  // namespace

std::string either(std::span<const std::string> texts) {
  return texts.size() == 1 ? texts.front()
                           : join(texts.first(texts.size() - 1), ", ") + " or " + texts.back();
}

std::string either(std::span<const std::string_view> words) {
  std::vector<std::string> texts;
  for (const std::string_view word : words) texts.push_back(quote(word));
  return either(texts);
}

Result<void> check_total(const Origin& origin, std::string_view key, std::size_t total,
                         const std::string& what, std::size_t most) {
  if (total <= most) return {};
  return fail(config_error(origin, key, std::to_string(total) + what + " in this file",
                           "at most " + std::to_string(most) + " in one file"));
}

std::unexpected<Error> ConfigReader::bad(const toml::node& node, std::string_view key,
                                         std::string_view expected) const {
  return fail(config_error(origin(node), key, shown_node(node), expected));
}

std::unexpected<Error> ConfigReader::unknown(const toml::key& key, std::string_view section,
                                             std::span<const std::string_view> known) const {
  std::string name(key.str());
  const std::string prefix = section.empty() ? "" : std::string(section) + ".";
  std::string hint = "known here:";
  for (const std::string_view word : known) hint += " " + prefix + std::string(word);
  const auto guess = nearest(name, known);
  const std::string better = guess ? prefix + *guess : elsewhere(name, section);
  if (!better.empty()) hint = "did you mean " + better + "?";
  return fail(Code::kInvalidConfig,
              origin(key.source()).text() + ": unknown key " + quote(prefix + name, 60), hint);
}

Result<void> ConfigReader::texts(const toml::node& node, std::string_view key, std::size_t most,
                                 std::vector<RawText>& into) const {
  const std::string expected = "an array of at most " + std::to_string(most) + " strings";
  const auto* array = node.as_array();
  if (array == nullptr) return bad(node, key, expected);
  if (array->size() > most) {
    return fail(
        config_error(origin(node), key, std::to_string(array->size()) + " entries", expected));
  }
  for (const toml::node& entry : *array) {
    const auto* text = entry.as_string();
    if (text == nullptr) return bad(entry, key, expected);
    into.push_back({text->get(), origin(entry)});
  }
  return {};
}

std::string toml_list(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + quote(value);
  return "[" + text + "]";
}

Error config_error(const Origin& origin, std::string_view key, std::string_view value,
                   std::string_view expected) {
  // What a rule says has no default.
  const bool has_default = std::ranges::find(kFields, key, &Field::name) != std::end(kFields);
  return Error{Code::kInvalidConfig,
               origin.text() + ": " + std::string(key) + " is " + std::string(value) +
                   ", expected " + std::string(expected),
               has_default ? "correct the line, or remove it to get the default"
                           : "correct the line; until then nothing is granted"};
}

}  // namespace lockkeeper::realm
