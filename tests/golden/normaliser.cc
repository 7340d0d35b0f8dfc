#include "golden/normaliser.h"

#include <regex>

namespace lockkeeper::golden {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

}  // namespace

std::string Normaliser::name_all(const std::string& text, const char* pattern,
                                 const std::string& name) {
  const std::regex expression(pattern);
  std::string result;
  auto begin = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    const std::smatch& match = *it;
    std::string& known = known_[name + match[1].str()];
    if (known.empty()) known = name + std::to_string(++counts_[name]);
    result.append(begin, match[1].first);
    result += known;
    begin = match[1].second;
  }
  result.append(begin, text.end());
  return result;
}

// `list` shows the end of an id.
std::string Normaliser::name_short_ids(std::string text) const {
  constexpr std::size_t kShown = 6;
  for (const auto& [key, name] : known_) {
    const bool id = name.starts_with("ID") && key.size() == 2 + 32;
    if (!id) continue;
    text =
        std::regex_replace(text, std::regex("\\b" + key.substr(key.size() - kShown) + "\\b"), name);
  }
  return text;
}

std::string Normaliser::operator()(std::string text) {
  replace_all(text, home_, "HERE");
  replace_all(text, LOCKKEEPER_VERSION, "VERSION");
  text =
      std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z)"), "TIME");
  text = name_all(text, R"(\b([0-9a-f]{32})\b)", "ID");
  text = name_short_ids(std::move(text));
  text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d{6})?)"),
                            "LOCAL$1TIME");
  text = std::regex_replace(text, std::regex(R"((tty|proc)-[0-9a-f]{16})"), "DERIVED");
  // The id of a layout depends on where its folder is.
  text = std::regex_replace(
      text, std::regex(R"(\b(mkdir|workflow|dirlock|coordmcp)-[0-9a-f]{8}\b)"), "$1-LAYOUT");
  text = name_all(text, R"(\b(1[0-9a-f]{15})\b)", "MESSAGE");
  text = name_all(text, R"(\b([0-9]{15,16})\b)", "FENCE");
  text = name_all(text, R"#("seq":([0-9]+))#", "SEQ");
  const std::string span = R"([0-9]+(ms|s|m|h|d)( [0-9]+(ms|s|m|h|d))?)";
  text = std::regex_replace(text, std::regex("\\(" + span + " ago\\)"), "(SPAN ago)");
  text = std::regex_replace(text, std::regex(", " + span + " ago:"), ", SPAN ago:");
  text = std::regex_replace(text, std::regex("\\(in " + span + "\\)"), "(in SPAN)");
  text = std::regex_replace(text, std::regex("after " + span + " in"), "after SPAN in");
  text = std::regex_replace(text, std::regex("ends in " + span), "ends in SPAN");
  text = std::regex_replace(text, std::regex("has waited " + span), "has waited SPAN");
  return text;
}

}  // namespace lockkeeper::golden
