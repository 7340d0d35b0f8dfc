// For tests only: a small XML reader that checks that a drawing is well-formed and lists its
// elements. Stricter than XML: no CDATA, comments or declarations.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace lockkeeper::draw {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;  // as written, escapes and all
  std::string text;                               // directly inside, as written
  std::size_t depth = 0;

  double number(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
  }
  bool is(const std::string& element, const std::string& css) const {
    const auto found = attributes.find("class");
    return name == element && found != attributes.end() && found->second == css;
  }
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {
    if (!is_valid_utf8(text)) complain("not UTF-8");
    while (error_.empty() && !rest_.empty()) step();
    if (error_.empty() && (!open_.empty() || elements_.empty())) complain("not closed");
  }
  const std::string& error() const { return error_; }  // empty: well-formed
  const std::vector<XmlElement>& elements() const { return elements_; }
  std::vector<XmlElement> all(const std::string& element, const std::string& css) const {
    std::vector<XmlElement> found;
    for (const XmlElement& one : elements_) {
      if (one.is(element, css)) found.push_back(one);
    }
    return found;
  }

 private:
  void complain(const std::string& what) {
    error_ = what + " before " + std::string(rest_.substr(0, 60));
  }
  bool eat(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::string_view until(std::string_view stops) {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(found.size());
    return found;
  }
  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  void step() {
    if (eat("</")) {
      const std::string_view name = until(">");
      if (open_.empty() || elements_[open_.back()].name != name) return complain("wrong end");
      open_.pop_back();
      if (!eat(">")) complain("no >");
    } else if (eat("<")) {
      element();
    } else {
      const std::string_view text = until("<");
      check_text(text);
      if (!open_.empty()) {
        elements_[open_.back()].text += text;
      } else if (text.find_first_not_of(" \n") != std::string_view::npos) {
        complain("text outside");
      }
    }
  }

  void element() {
    if (open_.empty() && !elements_.empty()) return complain("a second root");
    XmlElement made;
    made.name = until(" \n/>");
    made.depth = open_.size();
    if (made.name.empty() || std::isalpha(static_cast<unsigned char>(made.name[0])) == 0) {
      return complain("no name");
    }
    for (blanks(); !rest_.starts_with("/") && !rest_.starts_with(">"); blanks()) {
      const std::string name(until("= \n/>\""));
      if (name.empty() || !eat("=\"")) return complain("no attribute");
      const std::string value(until("\"<"));
      if (!eat("\"")) return complain("an open value");
      check_text(value);
      if (!made.attributes.emplace(name, value).second) return complain("an attribute twice");
    }
    const bool closed = eat("/");
    if (!eat(">")) return complain("no >");
    elements_.push_back(std::move(made));
    if (!closed) open_.push_back(elements_.size() - 1);
  }

  void check_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x20 && byte != '\t' && byte != '\n') return complain("a control character");
      if (text.substr(i).starts_with("\xEF\xBF\xBE") || text.substr(i).starts_with("\xEF\xBF\xBF"))
        return complain("no character");
      if (byte != '&') continue;
      const std::string_view name = text.substr(i + 1, text.find(';', i) - i - 1);
      if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && name != "#39" &&
          name != "#13") {
        return complain("an unknown entity " + std::string(name.substr(0, 10)));
      }
    }
  }

  std::string_view rest_;
  std::vector<XmlElement> elements_;
  std::vector<std::size_t> open_;
  std::string error_;
};

}  // namespace lockkeeper::draw
