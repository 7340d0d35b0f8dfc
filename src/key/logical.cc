#include "key/logical.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "key/glob.h"
#include "key/maker.h"
#include "key/namespaces.h"
#include "key/path.h"
#include "key/unicode.h"

namespace lockkeeper::key {

namespace {

// A namespace whose names are trees, so that it has globs.
struct Tree {
  std::string_view prefix;
  char separator;
  Names names;
};
constexpr std::array<Tree, 3> kTrees = {
    {{"contract", '/', Names::kPath}, {"event", '.', Names::kEvent}, {"flag", '/', Names::kFlag}}};

// The namespaces that every realm has, each with an example of what follows the prefix.
struct BuiltIn {
  std::string_view prefix;
  std::string_view example;
};
constexpr BuiltIn kBuiltIn[] = {{"api", "GET /v1/users"},  {"contract", "openapi/v1.yaml"},
                                {"db", "schema:users"},    {"env", "shared-fixtures"},
                                {"event", "user.created"}, {"feature", "FEAT-123:<purpose>"},
                                {"flag", "billing/*"},     {"task", "T-12"}};

const Tree* find_tree(std::string_view prefix) {
  const auto* found = std::ranges::find(kTrees, prefix, &Tree::prefix);
  return found == kTrees.end() ? nullptr : found;
}

std::vector<std::string> literal_of(std::string_view prefix, std::string_view rest) {
  if (const Tree* tree = find_tree(prefix)) return split(rest, tree->separator);
  return {std::string(rest)};
}

bool is_tree_char(const Tree& tree, char32_t c) {
  const bool word = (c >= U'a' && c <= U'z') || (c >= U'0' && c <= U'9');
  return word || c == U'_' || c == U'-' || (c == U'.' && tree.separator != '.');
}

std::string tree_rule(const Tree& tree) {
  return std::string(tree.prefix) + ": names are lowercase letters, digits" +
         (tree.separator == '.' ? "" : ", '.'") + ", '_' and '-' between '" +
         std::string(1, tree.separator) + "', each part starting with a letter or digit";
}

// The nearest text that keeps the rule: other characters become '-', empty parts are removed.
std::string tree_corrected(const Tree& tree, std::string_view rest, bool keep_patterns) {
  std::string fixed;
  for (const char c : rest) {
    const auto u = static_cast<char32_t>(static_cast<unsigned char>(c));
    const bool pattern = keep_patterns && std::string_view("*?[]{},!").contains(c);
    const char kept = c == tree.separator || pattern || is_tree_char(tree, u) ? c : '-';
    const bool at_start = fixed.empty() || fixed.back() == tree.separator;
    if (at_start && (kept == tree.separator || kept == '-' || kept == '_' || kept == '.')) continue;
    if (kept == '-' && fixed.ends_with('-')) continue;
    fixed.push_back(kept);
  }
  while (fixed.ends_with(tree.separator) || fixed.ends_with('-')) fixed.pop_back();
  return fixed.empty() ? "" : std::string(tree.prefix) + ":" + fixed;
}

// Patterns may only use characters that names of this namespace can have.
Result<void> check_tree_tokens(const Tree& tree, const Glob& glob, const std::string& whole,
                               std::string_view rest) {
  for (const Tokens& pattern : glob.patterns) {
    for (const Token& token : pattern) {
      bool good = true;
      if (token.kind == TokenKind::kLiteral) good = is_tree_char(tree, token.code_point);
      if (token.kind == TokenKind::kClass && !token.negated) {
        for (const auto& [low, high] : token.ranges) {
          good = good && is_tree_char(tree, low) && is_tree_char(tree, high);
        }
      }
      if (!good) return refuse(whole, tree_rule(tree), tree_corrected(tree, rest, true));
    }
  }
  return {};
}

Result<Resource> make_tree_glob(const Tree& tree, Glob glob) {
  LK_ASSIGN(Automaton automaton, Automaton::compile(glob.patterns));
  return ResourceMaker::make_glob(std::string(tree.prefix) + ":" + glob.text, Kind::kLogicalGlob,
                                  std::string(tree.prefix), std::move(glob.literal), {},
                                  std::move(automaton));
}

Result<Resource> make_plain(std::string_view prefix, std::string_view rest) {
  return ResourceMaker::make(std::string(prefix) + ":" + std::string(rest), Kind::kLogical,
                             std::string(prefix), literal_of(prefix, rest));
}

// flag: and event:, whose names have a character rule of their own.
Result<Resource> parse_word_tree(const Tree& tree, std::string_view given) {
  const std::string rest = lowered(given);
  const std::string whole = std::string(tree.prefix) + ":" + std::string(given);
  const std::string twice(2, tree.separator);
  const bool pattern = has_pattern_character(rest);
  if (rest.ends_with(tree.separator)) {
    const std::string base = tree_corrected(tree, rest, pattern);
    return refuse(whole, "a key is not a folder and does not end in '" + twice.substr(1) + "'",
                  base.empty() ? "" : base + twice.substr(1) + "**");
  }
  if (rest.starts_with(tree.separator) || rest.contains(twice)) {
    return refuse(whole, "no part of the name is empty", tree_corrected(tree, rest, pattern));
  }
  if (!pattern) {
    bool at_start = true;
    for (const char c : rest) {
      const auto u = static_cast<char32_t>(static_cast<unsigned char>(c));
      const bool separator = c == tree.separator;
      const bool good =
          separator || (is_tree_char(tree, u) && !(at_start && (c == '.' || c == '_' || c == '-')));
      if (!good) return refuse(whole, tree_rule(tree), tree_corrected(tree, rest, false));
      at_start = separator;
    }
    return make_plain(tree.prefix, rest);
  }
  GlobSyntax syntax;
  syntax.separator = tree.separator;
  syntax.dots = false;
  syntax.folders = false;
  LK_ASSIGN(Glob glob, parse_glob(rest, whole, syntax));
  LK_CHECK(check_tree_tokens(tree, glob, whole, rest));
  if (glob.plain) {  // `[a]b` is `ab`; an escaped pattern character is none of a name's
    const std::string name = join(glob.literal, std::string_view(&tree.separator, 1));
    if (!has_pattern_character(name)) return parse_word_tree(tree, name);
    return refuse(whole, tree_rule(tree), tree_corrected(tree, rest, false));
  }
  return make_tree_glob(tree, std::move(glob));
}

Result<Resource> parse_contract(const Tree& tree, std::string_view rest, bool fold_case) {
  const std::string prefix = "contract:";
  LK_CHECK(check_path_text(rest, prefix));
  const std::string whole = prefix + std::string(rest);
  CleanPath clean;
  if (has_pattern_character(rest)) {
    GlobSyntax syntax;
    syntax.folders = false;
    syntax.fold_case = fold_case;
    LK_ASSIGN(Glob glob, parse_glob(rest, whole, syntax));
    if (!glob.plain) return make_tree_glob(tree, std::move(glob));
    clean = {std::move(glob.literal), glob.folder};
  } else {
    LK_ASSIGN(clean, clean_path(rest, prefix));
  }
  if (clean.segments.empty()) return refuse(whole, "no contract is named", prefix + "**");
  std::string text = join(clean.segments, "/");
  if (has_pattern_character(text) || text.contains('\\')) {
    return refuse(whole, "the name of a contract has no pattern character, escaped or not");
  }
  if (clean.folder) {
    return refuse(whole, "a key is not a folder and does not end in '/'", prefix + text + "/**");
  }
  if (fold_case) text = fold_text(text);
  return make_plain("contract", text);
}

std::unexpected<Error> unknown_prefix(std::string_view text, std::string_view prefix,
                                      const Rules& rules) {
  std::string known;
  for (const BuiltIn& each : kBuiltIn) known += std::string(each.prefix) + ": ";
  for (const std::string& extra : rules.extra_prefixes) known += extra + ": ";
  known.pop_back();
  return fail(Code::kOperationNotPermitted,
              in_quotes(text) + ": unknown prefix '" + std::string(prefix) + ":'; known are " +
                  known + "; a file of that name is written " + in_quotes("./" + std::string(text)),
              "use a known prefix, or add '" + std::string(prefix) +
                  "' to keys.prefixes in lockkeeper.toml");
}

Result<Resource> parse_known(std::string_view prefix, std::string_view rest, const Rules& rules,
                             std::vector<std::string>& warnings) {
  if (prefix == "contract") return parse_contract(*find_tree(prefix), rest, rules.fold_case);
  if (const Tree* tree = find_tree(prefix)) return parse_word_tree(*tree, rest);
  Result<std::string> canonical = std::string(rest);  // an added prefix: free form
  if (prefix == "api") canonical = canonical_api(rest, warnings);
  if (prefix == "db") canonical = canonical_db(rest);
  if (prefix == "env") canonical = canonical_env(rest);
  if (prefix == "feature") canonical = canonical_feature(rest, rules, warnings);
  if (prefix == "task") canonical = canonical_task(rest);
  if (!canonical) return fail(std::move(canonical.error()));
  return make_plain(prefix, *canonical);
}

}  // namespace

Result<Parsed> parse_logical(std::string_view text, const Rules& rules) {
  const std::size_t colon = text.find(':');
  const std::string_view prefix = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  const auto* const built_in = std::ranges::find(kBuiltIn, prefix, &BuiltIn::prefix);
  const bool known = built_in != std::end(kBuiltIn);
  if (!known && !is_one_of(rules.extra_prefixes, prefix)) {
    return unknown_prefix(text, prefix, rules);
  }
  if (const auto hidden = hidden_in(text)) return refuse(text, "a key cannot contain " + *hidden);
  if (const auto trimmed = trim_end(text); trimmed.size() != text.size()) {
    return refuse(text, "a key does not end in a blank", trimmed.ends_with(':') ? "" : trimmed);
  }
  if (rest.empty()) {
    return refuse(text, "nothing follows the prefix",
                  std::string(text).append(known ? built_in->example : "name"));
  }
  Parsed parsed;
  LK_ASSIGN(parsed.resource, parse_known(prefix, rest, rules, parsed.warnings));
  return parsed;
}

Result<Resource> restore_logical(std::string_view text, Kind kind) {
  const auto corrupt = [&] {
    return fail(Code::kStoreCorrupt, in_quotes(text) + " was never written here as a key",
                "run 'lockkeeper doctor'");
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return corrupt();
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    return corrupt();
  }
  const std::string_view prefix = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (kind == Kind::kLogical) return make_plain(prefix, rest);
  const Tree* tree = find_tree(prefix);
  if (tree == nullptr) return corrupt();
  auto resource =
      prefix == "contract" ? parse_contract(*tree, rest, false) : parse_word_tree(*tree, rest);
  if (!resource || resource->text() != text || resource->kind() != kind) return corrupt();
  return resource;
}

Names names_of_space(std::string_view space) {
  const Tree* tree = find_tree(space);
  return tree == nullptr ? Names::kPath : tree->names;
}

char separator_of_space(std::string_view space) {
  const Tree* tree = find_tree(space);
  return tree == nullptr ? '/' : tree->separator;
}

}  // namespace lockkeeper::key
