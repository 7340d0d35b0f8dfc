// What each name of a package means: its locks, its write scope, its contracts.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/checks.h"
#include "plan/key_warnings.h"
#include "plan/place_index.h"

namespace lockkeeper::plan {
namespace {

constexpr std::string_view kContract = "contract:";
constexpr std::string_view kFeature = "feature:";
// Comparisons of locks with write scopes, in total and for one package.
constexpr std::size_t kScopeComparisons = 5'000'000;
constexpr std::size_t kScopeComparisonsOfOne = 250'000;
constexpr std::size_t kGuessed = 200'000;           // contracts compared for "did you mean"
constexpr std::size_t kPatternsCompared = 100'000;  // contract keys with listed contracts

// "wp-api-docs" gives "api-docs".
std::string purpose_for(const Package& package) {
  std::string purpose = package.id.text;
  if (purpose.starts_with("wp-")) purpose.erase(0, 3);
  return purpose.empty() || shown_name(purpose) != purpose ? "work" : purpose;
}

// The message without the corrected form, which is also in the hint.
std::string without_correction(const Error& error) {
  const std::size_t at = error.hint.empty() ? std::string::npos : error.message.rfind("; write '");
  return error.message.substr(0, at);
}

// Is a resource inside a list of others? Compares only those at its place or above, so that long
// lists are cheap. Many patterns at one place are not: that is what the budget is for.
class Inside {
 public:
  Inside(const std::vector<Meaning>& outer, std::size_t& budget) : outer_(outer), budget_(budget) {
    for (std::size_t i = 0; i < outer.size(); ++i) {
      if (outer[i].resource) index_.add(*outer[i].resource, i);
    }
    index_.sort();
  }

  const Meaning* covering(const key::Resource& inner) const {
    const Meaning* found = nullptr;
    const auto look = [&](std::size_t i) {
      if (budget_ == 0) return false;
      --budget_;
      if (key::covers(*outer_[i].resource, inner)) found = &outer_[i];
      return found == nullptr;
    };
    if (index_.beside(inner, look)) index_.above(inner, look);
    return found;
  }

 private:
  const std::vector<Meaning>& outer_;
  std::size_t& budget_;  // comparisons left; at 0 the answer means nothing
  PlaceIndex index_;
};

class NameChecks {
 public:
  NameChecks(const WorkPackages& plan, const key::Rules& rules, Findings& findings)
      : plan_(plan), rules_(rules), findings_(findings) {
    for (const Name& name : plan.contracts) {
      const bool folder = name.text.ends_with('/');
      const std::string path = name.text.substr(0, name.text.size() - (folder ? 1 : 0));
      const auto parsed = key::parse(std::string(kContract) + path, rules_);
      if (!parsed) continue;
      if (folder) {
        generated_.push_back(parsed->resource.text());
      } else {
        contracts_.insert(parsed->resource.text());
      }
    }
  }

  PackageMeaning read(const Package& package) {
    PackageMeaning meaning;
    const auto file_syntax = plan_.scopes ? key::Syntax::kLiteral : key::Syntax::kAuto;
    const auto files = [&](const std::vector<Name>& names, key::Syntax syntax) {
      for (const Name& name : names) meaning.files.push_back(read_file(package, name, syntax));
    };
    files(package.files, file_syntax);
    files(package.folders, key::Syntax::kLiteral);
    files(package.globs, key::Syntax::kGlob);
    for (const Name& name : package.keys) {
      meaning.keys.push_back(read_key(package, name));
      contract(package, meaning.keys.back());
    }
    for (const Name& name : package.write_allow) {
      meaning.writes.push_back(read_scope(package, name, "write_allow"));
    }
    for (const Name& name : package.deny) {
      meaning.denied.push_back(read_scope(package, name, "deny"));
    }
    for (const Name& name : package.read_allow) read_scope(package, name, "read_allow");
    scope(package, meaning);
    return meaning;
  }

 private:
  Finding& error(const char* rule, const Package& package, const Name& name, std::string message,
                 std::string hint) {
    return findings_.add(rule, Severity::kError, name.place, &package, std::move(message),
                         std::move(hint));
  }
  Finding& warning(const char* rule, const Package& package, const Name& name, std::string message,
                   std::string hint) {
    return findings_.add(rule, Severity::kWarning, name.place, &package, std::move(message),
                         std::move(hint));
  }

  // `app/[slug]/page.tsx` is a file of that name to everybody but the parser, which sorts `[slug]`.
  bool is_name_with_brackets(const std::string& text) const {
    if (!text.contains('[')) return false;
    const auto name = key::parse(text, rules_, key::Syntax::kLiteral);
    return name && name->resource.text() == text;
  }

  // Adds a finding with the right form for a name that is refused or not canonical.
  std::optional<key::Parsed> parse(const char* rule, const Package& package, const Name& name,
                                   key::Syntax syntax = key::Syntax::kAuto) {
    auto parsed = key::parse(name.text, rules_, syntax);
    if (!parsed) {
      error(rule, package, name, without_correction(parsed.error()), parsed.error().hint);
      return std::nullopt;
    }
    if (parsed->resource.text() != name.text && !is_name_with_brackets(name.text)) {
      error(rule, package, name, quote(name.text) + " is not in canonical form",
            "write " + quote(parsed->resource.text()));
    }
    return *std::move(parsed);
  }

  Meaning read_file(const Package& package, const Name& name, key::Syntax syntax) {
    if (syntax != key::Syntax::kLiteral && key::looks_logical(name.text)) {
      error("lock-file", package, name,
            quote(name.text) + " is listed under files but is a logical key",
            "move it to keys, or write \"./" + name.text + "\" if it is a file");
      return {&name, std::nullopt};
    }
    const auto parsed = parse("lock-file", package, name, syntax);
    if (!parsed) return {&name, std::nullopt};
    for (const std::string& text : parsed->warnings) warning("lock-file", package, name, text, "");
    return {&name, parsed->resource};
  }

  Meaning read_key(const Package& package, const Name& name) {
    if (!key::looks_logical(name.text)) {
      error("lock-key", package, name, quote(name.text) + " is listed under keys but is a path",
            "move it to files, or add a prefix, such as \"contract:" + name.text + "\"");
      return {&name, std::nullopt};
    }
    if (names_no_purpose(name.text)) {
      // Not "…:pause", which would stop everybody else.
      const std::string fixed = name.text + ":" + purpose_for(package);
      const bool usable = key::parse(fixed, rules_).has_value();
      error("lock-key", package, name,
            quote(name.text) + " has no purpose; a feature: key is feature:ID:PURPOSE",
            usable ? "write " + quote(fixed) + ", or another purpose" : "write feature:ID:PURPOSE");
      return {&name, std::nullopt};
    }
    const auto parsed = parse("lock-key", package, name);
    if (!parsed) return {&name, std::nullopt};
    const std::string& text = parsed->resource.text();
    const bool feature = text.starts_with(kFeature);
    for (const std::string& each : key_warnings(*parsed, rules_)) {
      warning(
          feature ? "purpose" : "lock-key", package, name, each,
          feature ? "if it is correct, add it to keys.feature_purposes in lockkeeper.toml" : "");
    }
    if (feature && text.ends_with(":pause")) {
      warning("purpose", package, name,
              quote(text) + " stops every other package of that feature while " +
                  shown_name(package.id.text) + " holds it",
              "use 'lockkeeper pause' at run time, or lock another purpose");
    }
    return {&name, parsed->resource};
  }

  static bool names_no_purpose(std::string_view text) {
    if (!text.starts_with(kFeature)) return false;
    text.remove_prefix(kFeature.size());
    return !text.empty() && !text.contains(':');
  }

  Meaning read_scope(const Package& package, const Name& name, const char* list) {
    auto parsed = key::parse(name.text, rules_);
    if (!parsed) {
      error("scope", package, name, std::string(list) + ": " + without_correction(parsed.error()),
            parsed.error().hint);
      return {&name, std::nullopt};
    }
    if (!parsed->resource.is_path()) {
      error("scope", package, name,
            std::string(list) + ": " + quote(name.text) + " is a logical key, not a path",
            "move it to locks.keys");
      return {&name, std::nullopt};
    }
    return {&name, parsed->resource};
  }

  void contract(const Package& package, const Meaning& key) {
    if (!key.resource || key.resource->space() != "contract") return;
    const std::string& text = key.resource->text();
    if (is_listed(*key.resource)) return;
    warning("contract", package, *key.name, quote(text) + " is not among contracts.openapi.files",
            contract_hint(text));
  }

  bool is_listed(const key::Resource& key) {
    if (contracts_.contains(key.text())) return true;
    const auto below = [&](const std::string& folder) {
      return key.text().starts_with(folder + "/") || key.text() == folder;
    };
    if (std::ranges::any_of(generated_, below)) return true;
    if (!key.is_glob()) return false;
    return std::ranges::any_of(contracts_, [&](const std::string& each) {
      if (++compared_ > kPatternsCompared) return true;  // too many: treated as listed
      const auto listed = key::parse(each, rules_);
      return listed && key::covers(key, listed->resource);
    });
  }

  std::string contract_hint(const std::string& text) {
    if (contracts_.empty()) return "the plan lists no contracts; add it there";
    guessed_ += contracts_.size();
    if (guessed_ > kGuessed) return "add it there, or correct the key";
    const std::string end = "/" + text.substr(kContract.size());
    for (const std::string& each : contracts_) {
      if (each.ends_with(end)) return "did you mean " + quote(each) + "?";
    }
    const std::vector<std::string_view> all(contracts_.begin(), contracts_.end());
    const auto guess = nearest(text, all);
    return guess ? "did you mean " + quote(*guess) + "?" : "add it there, or correct the key";
  }

  // A package without a write scope is the schema's finding, not one of this rule.
  void scope(const Package& package, PackageMeaning& meaning) {
    const std::size_t given = std::min(budget_, kScopeComparisonsOfOne);
    left_ = given;
    const Inside writes(meaning.writes, left_);
    const Inside denied(meaning.denied, left_);
    for (const Meaning& file : meaning.files) {
      meaning.inside.push_back(!file.resource || !package.scoped || left_ == 0 ||
                               may_write(package, file, writes, denied));
    }
    budget_ -= given - left_;
  }

  bool may_write(const Package& package, const Meaning& file, const Inside& writes,
                 const Inside& denied) {
    const std::string locks = shown_name(package.id.text) + " locks " + quote(file.name->text);
    if (const Meaning* const deny = denied.covering(*file.resource)) {
      error("scope", package, *file.name,
            locks + " but may not write it: " + quote(deny->name->text) + " is in scope.deny",
            "remove it from deny, or do not lock it");
      return false;
    }
    if (writes.covering(*file.resource) != nullptr) return true;
    if (left_ == 0) {
      error("scope", package, *file.name,
            "too many comparisons of locks with write scopes (the limit is " +
                std::to_string(kScopeComparisonsOfOne) + " for a package, " +
                std::to_string(kScopeComparisons) + " in total); the rest was not compared",
            "name folders instead of many patterns");
      return true;
    }
    if (file.resource->kind() == key::Kind::kFile) {
      const auto folder = key::parse(file.resource->text() + "/", rules_, key::Syntax::kLiteral);
      if (folder && writes.covering(folder->resource) != nullptr) {
        warning(
            "lock-file", package, *file.name,
            quote(file.name->text) + " is a folder in scope.write_allow but is locked as a file",
            "write " + quote(folder->resource.text()));
        return true;
      }
    }
    error("scope", package, *file.name,
          locks + " but may not write it: it is not in scope.write_allow",
          "add it to write_allow, or do not lock it");
    return false;
  }

  const WorkPackages& plan_;
  const key::Rules& rules_;
  Findings& findings_;
  std::set<std::string> contracts_;     // canonical keys
  std::vector<std::string> generated_;  // folders of generated files, as keys
  std::size_t budget_ = kScopeComparisons;
  std::size_t left_ = 0;  // of the budget, for the current package
  std::size_t guessed_ = 0;
  std::size_t compared_ = 0;
};

}  // namespace

std::vector<PackageMeaning> check_names(const WorkPackages& plan, const key::Rules& rules,
                                        Findings& findings) {
  NameChecks checks(plan, rules, findings);
  std::vector<PackageMeaning> meanings;
  meanings.reserve(plan.packages.size());
  for (const Package& package : plan.packages) meanings.push_back(checks.read(package));
  return meanings;
}

}  // namespace lockkeeper::plan
