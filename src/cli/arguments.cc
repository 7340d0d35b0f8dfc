#include "cli/arguments.h"

#include <algorithm>

#include "base/text.h"
#include "cli/output.h"

namespace lockkeeper::cli {
namespace {

constexpr std::string_view kHelpHint = "see: lockkeeper --help";
constexpr std::size_t kHelpColumn = 26;
constexpr std::size_t kLineColumns = 80;

std::string left_column(const Arguments::Declared& declared) {
  std::string text = declared.brief.empty() ? "    " : declared.brief + ", ";
  if (!declared.name.starts_with('-')) return "  " + declared.name;
  text += declared.name;
  if (declared.value_optional) return text + "[=" + declared.value + "]";
  return declared.value.empty() ? text : text + " " + declared.value;
}

// The text wrapped into a column from kHelpColumn to kLineColumns.
std::string wrapped(std::string_view help) {
  std::string text;
  std::size_t at = kHelpColumn;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find_first_of(" \n"), help.size());
    const std::string_view word = help.substr(0, end);
    if (at > kHelpColumn && at + 1 + width(word) > kLineColumns) {
      text += "\n" + std::string(kHelpColumn, ' ');
      at = kHelpColumn;
    }
    if (at > kHelpColumn) text += " ";
    at += width(word) + (at > kHelpColumn ? 1U : 0U);
    text += word;
    if (end < help.size() && help[end] == '\n') {
      text += "\n" + std::string(kHelpColumn, ' ');
      at = kHelpColumn;
    }
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return text;
}

}  // namespace

void Arguments::declare(Declared declared, Target target) {
  declared.common = common_;
  declared.hidden = hidden_;
  declared_.push_back(std::move(declared));
  targets_.push_back(target);
  given_.push_back(false);
}

void Arguments::flag(const std::string& name, bool& target, const std::string& help,
                     const std::string& brief) {
  declare({.name = name, .brief = brief, .help = help}, &target);
}

void Arguments::value(const std::string& name, std::optional<std::string>& target,
                      const std::string& placeholder, const std::string& help,
                      const std::string& brief) {
  declare({.name = name, .brief = brief, .value = placeholder, .help = help}, &target);
}

void Arguments::required_value(const std::string& name, std::string& target,
                               const std::string& placeholder, const std::string& help) {
  declare({.name = name, .value = placeholder, .help = help}, &target);
}

void Arguments::values(const std::string& name, std::vector<std::string>& target,
                       const std::string& placeholder, const std::string& help) {
  declare({.name = name, .value = placeholder, .help = help}, &target);
}

void Arguments::optional_value(const std::string& name, std::optional<std::string>& target,
                               const std::string& placeholder, const std::string& help) {
  declare({.name = name, .value = placeholder, .help = help, .value_optional = true}, &target);
}

void Arguments::word(const std::string& placeholder, std::string& target, const std::string& help) {
  declare({.name = placeholder, .help = help}, &target);
}

void Arguments::optional_word(const std::string& placeholder, std::optional<std::string>& target,
                              const std::string& help) {
  declare({.name = placeholder, .help = help}, &target);
}

void Arguments::words(const std::string& placeholder, std::vector<std::string>& target,
                      const std::string& help) {
  declare({.name = placeholder, .help = help, .many = true}, &target);
}

void Arguments::command(std::vector<std::string>& target, const std::string& help, bool optional) {
  declare({.name = "-- COMMAND…", .help = help, .optional = optional}, &target);
}

void Arguments::offer(std::vector<std::string> choices) {
  declared_.back().complete = Complete::kWords;
  declared_.back().words = std::move(choices);
}

std::optional<std::size_t> Arguments::find(std::string_view name) const {
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (!declared_[i].is_flag()) continue;
    if (declared_[i].name == name || declared_[i].brief == name) return i;
  }
  return std::nullopt;
}

Error Arguments::unknown_flag(std::string_view name) const {
  std::vector<std::string_view> known;
  for (const Declared& declared : declared_) {
    if (declared.is_flag()) known.push_back(declared.name);
  }
  Error error{Code::kUsage, "unknown flag " + quote(name), std::string(kHelpHint)};
  if (const auto meant = nearest(name, known)) error.hint = "did you mean " + *meant + "?";
  return error;
}

void Arguments::store(std::size_t index, std::string value) {
  given_[index] = true;
  if (auto* const flag = std::get_if<bool*>(&targets_[index])) {
    **flag = true;
  } else if (auto* const many = std::get_if<std::vector<std::string>*>(&targets_[index])) {
    (*many)->push_back(std::move(value));
  } else if (auto* const text = std::get_if<std::string*>(&targets_[index])) {
    **text = std::move(value);
  } else {
    *std::get<std::optional<std::string>*>(targets_[index]) = std::move(value);
  }
}

namespace {

// The word after `--wait` may be a resource: only what can be nothing but a duration belongs to it.
bool is_optional_value(const Arguments::Declared& declared, const std::string& word) {
  return declared.value == "DURATION" && parse_duration_ms(word).has_value();
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Result<void> Arguments::take_long(const std::vector<std::string>& words, std::size_t& at) {
  const std::string_view word = words[at];
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const auto index = find(name);
  if (!index) return fail(unknown_flag(name));
  const Declared& declared = declared_[*index];
  if (equals != std::string_view::npos) {
    if (declared.value.empty()) {
      return fail(Code::kUsage, declared.name + " takes no value", "write it as " + declared.name);
    }
    store(*index, std::string(word.substr(equals + 1)));
  } else if (declared.value.empty()) {
    store(*index, "");
  } else if (declared.value_optional) {
    const std::string next = at + 1 < words.size() ? words[at + 1] : "";
    const bool given = is_optional_value(declared, next);
    if (!given && declared.value == "DURATION" && is_number(next)) {
      return fail(Code::kUsage, declared.name + " " + next + " has no unit",
                  "write " + declared.name + "=" + next + "s, or ./" + next + " for a file");
    }
    store(*index, given ? words[++at] : "");
  } else {
    return take_next(*index, words, at);
  }
  return {};
}

Result<void> Arguments::take_next(std::size_t index, const std::vector<std::string>& words,
                                  std::size_t& at) {
  if (at + 1 == words.size()) {
    const Declared& declared = declared_[index];
    std::string hint = "write it as " + declared.name + " " + declared.value;
    // `purge --store`: the flag that ends like it was meant.
    const auto meant = std::ranges::find_if(declared_, [&](const Declared& other) {
      return &other != &declared && other.value.empty() &&
             other.name.ends_with(std::string_view(declared.name).substr(1));
    });
    if (meant != declared_.end()) hint += ", or did you mean " + meant->name + "?";
    return fail(Code::kUsage, declared.name + " needs a value", std::move(hint));
  }
  // `--reason --agent ann`: a value was forgotten, and the next flag is not it.
  if (const std::string& next = words[at + 1]; next.starts_with("--") && find(next)) {
    const std::string& name = declared_[index].name;
    return fail(Code::kUsage, name + " needs a value, and " + next + " is another option",
                "write " + name + " " + declared_[index].value + ", or " + name + "=" + next);
  }
  store(index, words[++at]);
  return {};
}

// `run src/ ls -la`: the command was meant.
std::optional<std::string> Arguments::missing_dashes(const std::vector<std::string>& words,
                                                     std::size_t at) const {
  const bool takes_command = std::ranges::any_of(declared_, &Declared::is_command);
  if (!takes_command || std::ranges::find(words, "--") != words.end() || at == 0) {
    return std::nullopt;
  }
  return "put -- before the command, as in: lockkeeper run src/a.py -- make test";
}

// The only long flag that begins with the letter; empty: none, or several.
std::string Arguments::meant_by_letter(char letter) const {
  std::string meant;
  for (const Declared& declared : declared_) {
    if (!declared.is_flag() || declared.hidden || declared.name[2] != letter) continue;
    if (!meant.empty()) return {};
    meant = declared.name;
  }
  return meant;
}

Result<void> Arguments::take_brief(const std::vector<std::string>& words, std::size_t& at) {
  const std::string& cluster = words[at];
  for (std::size_t i = 1; i < cluster.size(); ++i) {
    const auto index = find(std::string{'-', cluster[i]});
    if (!index) {
      Error error{Code::kUsage, "unknown flag " + quote(cluster), std::string(kHelpHint)};
      const std::string meant = meant_by_letter(cluster[i]);
      if (!meant.empty()) error.hint = "did you mean " + meant + "?";
      if (std::ranges::any_of(declared_, &Declared::is_word)) {
        const std::string rest = " name that begins with '-' is written ./" + cluster;
        error.hint = missing_dashes(words, at).value_or(meant.empty() ? "a" + rest
                                                                      : error.hint + " A" + rest);
      }
      return fail(std::move(error));
    }
    if (declared_[*index].value.empty()) {
      store(*index, "");
      continue;
    }
    if (i + 1 < cluster.size()) {
      store(*index, cluster.substr(i + 1));
      return {};
    }
    return take_next(*index, words, at);
  }
  return {};
}

Result<void> Arguments::take_word(const std::string& word, std::size_t& slot) {
  while (slot < declared_.size() && !declared_[slot].is_word()) ++slot;
  if (slot == declared_.size()) {
    return fail(Code::kUsage, "unexpected argument " + quote(word),
                find("--file")    ? "name files with --file"
                : find("--under") ? "name a place with --under " + shell_quote(word)
                                  : std::string(kHelpHint));
  }
  store(slot, word);
  if (!declared_[slot].many) ++slot;
  return {};
}

// An argument whose target is a plain string is required.
Result<void> Arguments::check_given() const {
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (given_[i] || !std::holds_alternative<std::string*>(targets_[i])) continue;
    const Declared& declared = declared_[i];
    return fail(Code::kUsage,
                declared.name + (declared.is_flag() ? " " + declared.value : "") + " is missing",
                std::string(kHelpHint));
  }
  return {};
}

Result<void> Arguments::parse(const std::vector<std::string>& words) {
  const auto command = std::ranges::find_if(declared_, &Declared::is_command);
  std::size_t slot = 0;
  bool flags_over = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (flags_over || !word.starts_with('-') || word.size() == 1) {
      LK_CHECK(take_word(word, slot));
    } else if (word == "--") {
      flags_over = true;
      if (command == declared_.end()) continue;
      const auto index = static_cast<std::size_t>(command - declared_.begin());
      while (++at < words.size()) store(index, words[at]);
    } else if (word.starts_with("--")) {
      LK_CHECK(take_long(words, at));
    } else {
      LK_CHECK(take_brief(words, at));
    }
  }
  return check_given();
}

std::string Arguments::usage(std::string_view verb) const {
  std::string text = "lockkeeper " + std::string(verb) + " [OPTIONS]";
  for (const Declared& declared : declared_) {
    if (!declared.is_flag()) text += " " + declared.usage();
  }
  return text;
}

std::string Arguments::help() const {
  std::string text;
  for (const bool common : {false, true}) {
    const auto of_this = [common](const Declared& d) { return d.common == common && !d.hidden; };
    if (std::ranges::none_of(declared_, of_this)) continue;
    text += common ? "\nCommon options:\n" : "\nOptions:\n";
    for (const Declared& declared : declared_) {
      if (!of_this(declared)) continue;
      std::string left = "  " + left_column(declared);
      if (width(left) + 2 > kHelpColumn) {
        left += "\n" + std::string(kHelpColumn, ' ');
      } else {
        left.append(kHelpColumn - width(left), ' ');
      }
      text += left;
      text += wrapped(declared.help);
      text += "\n";
    }
  }
  return text;
}

}  // namespace lockkeeper::cli
