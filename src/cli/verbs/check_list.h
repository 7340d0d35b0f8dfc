// What was looked at, line by line: for people as it goes on, for programs as one object at the
// end.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/output.h"

namespace lockkeeper::cli {

class CheckList {
 public:
  explicit CheckList(Output& out) : out_(out) {}

  void good(const std::string& what, const std::string& text);
  // Worth knowing, and not to be called ok. What to do, if anything, is told beside it.
  void note(const std::string& what, const std::string& text, const std::string& hint = {});
  void bad(const std::string& what, const Error& error);
  // It works as soon as the user has done this.
  void to_do(const std::string& what, const Error& error);

  // The first that was bad or is to be done; nullopt: all is well.
  const std::optional<Error>& first() const { return first_; }
  // The first that was bad.
  const std::optional<Error>& broken() const { return broken_; }
  service::Json& json() { return json_; }

 private:
  void say(Span label, const std::string& text, Style style = Style::kPlain);
  void wrong(Span label, const std::string& what, const Error& error);

  Output& out_;
  service::Json json_;
  std::optional<Error> first_;
  std::optional<Error> broken_;
};

}  // namespace lockkeeper::cli
