// The agents of the table's tests.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace lockkeeper::core {

inline const Owner kAnn{"ann", ""};
inline const Owner kBob{"bob", ""};
inline const Owner kCat{"cat", ""};
inline const Owner kDan{"dan", ""};
inline const Owner kAnnInS1{"ann", "s1"};
inline const Owner kSub{"sub", "s1/x"};  // a part of it
inline constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;

}  // namespace lockkeeper::core
