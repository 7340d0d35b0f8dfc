// The JSON that the program prints: fields keep the order in which they were put.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockkeeper {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text);  // null if it is empty
Json time_or_null(std::int64_t wall_ms);   // RFC 3339; null for kNoEnd and 0

}  // namespace lockkeeper
