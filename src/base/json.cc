#include "base/json.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace lockkeeper {

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

Json time_or_null(std::int64_t wall_ms) {
  return wall_ms == kNoEnd || wall_ms == 0 ? Json() : Json(format_time(wall_ms));
}

}  // namespace lockkeeper
