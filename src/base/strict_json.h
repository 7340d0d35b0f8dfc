// JSON that a stranger wrote. Two readers of one text must not see two things in it, and no text
// may use up the stack or the time: what nlohmann::json would let pass is refused here.
//
// Thread safety: free functions.
#pragma once

#include <cstddef>
#include <expected>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lockkeeper {

struct JsonLimits {
  std::size_t nesting;                                         // objects and arrays in one another
  std::size_t keys = std::numeric_limits<std::size_t>::max();  // of one object
};

struct JsonFault {
  enum class Kind { kNotUtf8, kNotJson, kTooDeep, kTooManyKeys, kKeyTwice };
  Kind kind;
  std::string why;       // "nested deeper than 64 levels"
  std::string key = {};  // of kKeyTwice
};

namespace strict_json {

// Watches the parser, which only an exception stops: its depth, and the keys of each open object.
template <class J>
class Watch {
 public:
  explicit Watch(const JsonLimits& limits) : limits_(limits) {}

  void see(int depth, typename J::parse_event_t event, const J& value) {
    using Event = typename J::parse_event_t;
    using Kind = JsonFault::Kind;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && std::cmp_greater_equal(depth, limits_.nesting)) {
      throw JsonFault{Kind::kTooDeep,
                      "nested deeper than " + std::to_string(limits_.nesting) + " levels"};
    }
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = value.template get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw JsonFault{Kind::kKeyTwice, "the key " + quote(key) + " is given twice", key};
      }
      if (keys_.back().size() > limits_.keys) {
        throw JsonFault{Kind::kTooManyKeys,
                        "an object has at most " + std::to_string(limits_.keys) + " keys"};
      }
    }
  }

 private:
  const JsonLimits& limits_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace strict_json

// The one value that `text` is. Throws nothing but what memory throws.
template <class J>
std::expected<J, JsonFault> parse_strictly(std::string_view text, const JsonLimits& limits) {
  using Kind = JsonFault::Kind;
  const auto fault = [](Kind kind, std::string why) {
    return std::unexpected(JsonFault{kind, std::move(why)});
  };
  if (!is_valid_utf8(text)) return fault(Kind::kNotUtf8, "not UTF-8");
  if (text.find('\0') != std::string_view::npos) {  // the parser would take it for the end
    return fault(Kind::kNotJson, "it has a NUL byte");
  }
  try {
    strict_json::Watch<J> watch(limits);
    return J::parse(text, [&](int depth, typename J::parse_event_t event, J& value) {
      watch.see(depth, event, value);
      return true;
    });
  } catch (JsonFault& refused) {
    return std::unexpected(std::move(refused));
  } catch (const typename J::exception&) {
    return fault(Kind::kNotJson, "it begins with " + quote(text, 40));
  }
}

}  // namespace lockkeeper
