// [git]: what the commit guard does.
#pragma once

#include <cstdint>

#include "realm/setting.h"

namespace lockkeeper::realm {

enum class GitPolicy : std::uint8_t {
  kBlock,  // refused
  kWarn,   // passes with a warning; both sides are told
  kOff,    // passes; nothing is looked at
};

inline constexpr Word<GitPolicy> kGitPolicies[] = {
    {GitPolicy::kBlock, "block"}, {GitPolicy::kWarn, "warn"}, {GitPolicy::kOff, "off"}};

}  // namespace lockkeeper::realm
