// For tests only: what a server has answered.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace lockkeeper::http {

struct TestAnswer {
  int status = 0;  // 0: the connection ended before
  Request parts;   // its headers and body
  std::string header(std::string_view name) const {
    const std::string* const value = parts.header(name);
    return value == nullptr ? "" : *value;
  }
  const std::string& body() const { return parts.body; }
};

}  // namespace lockkeeper::http
