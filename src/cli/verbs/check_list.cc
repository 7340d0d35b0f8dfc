#include "cli/verbs/check_list.h"

#include "base/parse.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kReadable = 20;  // in less room nothing is wrapped

}  // namespace

// Wrapped beside its label.
void CheckList::say(Span label, const std::string& text, Style style) {
  const std::size_t room =
      out_.columns() > label.text.size() + kReadable ? out_.columns() - label.text.size() : 0;
  for (const std::string& line : words_in(wrap(text, room), "\n")) {
    out_.line({label, {line, style}});
    label.text.assign(label.text.size(), ' ');
  }
}

void CheckList::good(const std::string& what, const std::string& text) {
  say({"  ok      ", Style::kGreen}, what + ": " + text);
  json_["checks"].push_back({{"check", what}, {"ok", true}, {"message", text}});
}

void CheckList::note(const std::string& what, const std::string& text, const std::string& hint) {
  say({"  note    ", Style::kYellow}, what + ": " + text);
  service::Json check{{"check", what}, {"ok", true}, {"note", true}, {"message", text}};
  if (!hint.empty()) {
    say({"          "}, "hint: " + hint, Style::kDim);
    check["hint"] = hint;
  }
  json_["checks"].push_back(std::move(check));
}

void CheckList::bad(const std::string& what, const Error& error) {
  wrong({"  broken  ", Style::kRed}, what, error);
  if (!broken_) broken_ = error;
}

void CheckList::to_do(const std::string& what, const Error& error) {
  wrong({"  to do   ", Style::kYellow}, what, error);
}

void CheckList::wrong(Span label, const std::string& what, const Error& error) {
  say(std::move(label), what + ": " + error.message);
  if (!error.hint.empty()) say({"          "}, "hint: " + error.hint, Style::kDim);
  json_["checks"].push_back(
      {{"check", what}, {"ok", false}, {"message", error.message}, {"hint", error.hint}});
  if (!first_) first_ = error;
}

}  // namespace lockkeeper::cli
