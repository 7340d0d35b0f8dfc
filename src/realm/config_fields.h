// What a single setting can be: its kind, and its bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "realm/config.h"

namespace lockkeeper::realm {

// Bounds of every value, because others may change a repository's file.
inline constexpr std::int64_t kLeaseMsMin = 1'000;
inline constexpr std::int64_t kOrphanGraceMsMax = 24 * 3'600'000;
inline constexpr std::uint64_t kResourcesPerAgentMax = 1'000'000;
inline constexpr std::uint64_t kResourcesPerRequestMax = 10'000;
inline constexpr std::uint64_t kEventsKeptMin = 100;
inline constexpr std::uint64_t kEventsKeptMax = 10'000'000;
inline constexpr std::size_t kPrefixesMax = 64;
inline constexpr std::size_t kPurposesMax = 256;
inline constexpr std::size_t kWordBytesMax = 64;       // a prefix, a purpose
inline constexpr std::size_t kProtectRulesMax = 64;    // of one file
inline constexpr std::size_t kProtectPathsMax = 256;   // of all rules of one file together
inline constexpr std::size_t kProtectAgentsMax = 256;  // of one rule
inline constexpr std::size_t kReasonBytesMax = 500;
inline constexpr std::size_t kPolicyRulesMax = 64;      // of one file
inline constexpr std::size_t kPolicyPatternsMax = 256;  // of all rules of one file together
inline constexpr std::size_t kPolicyAgentsMax = 256;    // of one rule
inline constexpr std::uint64_t kPortLowest = 1024;      // below it only root may listen
inline constexpr std::uint64_t kPortHighest = 65535;
inline constexpr std::uint64_t kPortsOfSession = 4;
inline constexpr std::uint64_t kPortSessionsMax = 1'000;

// The kinds of values: where one goes, and its bounds.
struct DurationField {
  Setting<std::int64_t> Settings::* setting;
  std::int64_t low, high;
  bool may_be_none;
};
struct NumberField {
  Setting<std::uint64_t> Settings::* setting;
  std::uint64_t low, high;
};
struct BytesField {
  Setting<std::uint64_t> Settings::* setting;
  std::uint64_t low, high;
};
struct FlagField {
  Setting<bool> Settings::* setting;
};
struct WordsField {
  Setting<std::vector<std::string>> Settings::* setting;
  std::size_t most;
  const char* example;
};
struct PatternsField {  // as those of hook.ignore
  Setting<std::vector<std::string>> Settings::* setting;
};
struct NameField {  // a line of text; its reader checks it
  Setting<std::string> Settings::* setting;
  bool (*fits)(std::string_view text);
  const char* expected;
};
template <class T>
struct ChoiceField {
  Setting<T> Settings::* setting;
  std::span<const Word<T>> words;
};

struct Field {
  std::string_view name;
  std::variant<DurationField, NumberField, BytesField, FlagField, WordsField, PatternsField,
               ChoiceField<Durability>, ChoiceField<HookPolicy>, ChoiceField<HookWorktrees>,
               ChoiceField<GitPolicy>, ChoiceField<bool>, ChoiceField<Offline>, NameField>
      kind;
  std::string_view tried = {};  // what people write instead
};

}  // namespace lockkeeper::realm
