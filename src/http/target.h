// What a request asks for: the names of its path and its query, with %xx decoded.
//
// Thread safety: plain values and free functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::http {

struct Target {
  std::vector<std::string> names;            // of "/v1/waits/a%2Fb": v1, waits, a/b
  std::map<std::string, std::string> query;  // '+' is a blank there

  // Empty: not given.
  std::string value(const std::string& name) const;
  // All names from `from` on, with '/' between.
  std::string rest(std::size_t from) const;
};

// nullopt: it does not begin with '/', or has an empty name, "." or "..", a NUL or other control
// character, text that is not UTF-8, a broken %xx, or a name of the query twice.
std::optional<Target> parse_target(std::string_view text);

}  // namespace lockkeeper::http
