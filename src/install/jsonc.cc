#include "install/jsonc.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace lockkeeper::install {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class JsoncParser {
 public:
  JsoncParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<JsoncNode> document() {
    if (const std::size_t bad = first_not_utf8(); bad < text_.size()) {
      return wrong(bad, "a byte that is not UTF-8");
    }
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    LK_CHECK(skip());
    JsoncNode root;
    root.start = at_;
    LK_CHECK(value(root, 0));
    LK_CHECK(skip());
    if (at_ < text_.size()) return wrong(at_, "text after the end of the document");
    return root;
  }

 private:
  std::unexpected<Error> wrong(std::size_t at, std::string_view what) const {
    return fail(Code::kInvalidConfig,
                file_ + ":" + shown_place(text_, at) + ": not JSON: " + std::string(what),
                "correct the file; nothing was changed");
  }

  std::size_t first_not_utf8() const {
    std::size_t at = 0;
    while (at < text_.size()) {
      const std::size_t size = utf8_size(text_.substr(at));
      if (size == 0) return at;
      at += size;
    }
    return at;
  }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  // Blanks and comments.
  Result<void> skip() {
    for (;;) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return wrong(at_, "a comment without an end");
        at_ = end + 2;
      } else {
        return {};
      }
    }
  }

  Result<void> value(JsoncNode& node, std::size_t depth) {
    if (depth > Jsonc::kDepthMax) return wrong(at_, "nested too deeply");
    if (at_ >= text_.size()) return wrong(at_, "a value is missing at the end");
    node.begin = at_;
    if (next_is('{') || next_is('[')) {
      node.kind = next_is('{') ? JsoncNode::Kind::kObject : JsoncNode::Kind::kArray;
      LK_CHECK(children(node, depth));
    } else if (next_is('"')) {
      node.kind = JsoncNode::Kind::kString;
      LK_CHECK(string());
    } else {
      LK_CHECK(word());
    }
    node.end = at_;
    return {};
  }

  Result<void> children(JsoncNode& node, std::size_t depth) {
    const char close = node.is_object() ? '}' : ']';
    std::set<std::string, std::less<>> keys;
    ++at_;
    LK_CHECK(skip());
    while (!next_is(close)) {
      JsoncNode child;
      child.start = at_;
      if (node.is_object()) LK_CHECK(key(child, keys));
      LK_CHECK(value(child, depth + 1));
      LK_CHECK(skip());
      const bool more = next_is(',');
      if (more) child.comma = at_++;
      node.children.push_back(std::move(child));
      LK_CHECK(skip());
      if (!more && !next_is(close)) {
        return wrong(at_, std::string("',' or '") + close + "' is missing");
      }
    }
    ++at_;
    return {};
  }

  Result<void> key(JsoncNode& child, std::set<std::string, std::less<>>& keys) {
    const std::size_t begin = at_;
    if (!next_is('"')) return wrong(at_, "a key in double quotes is missing");
    LK_CHECK(string());
    child.key = Json::parse(text_.substr(begin, at_ - begin)).get<std::string>();
    if (!keys.insert(child.key).second) {
      return wrong(begin, "the key " + quote(child.key) + " is there twice");
    }
    LK_CHECK(skip());
    if (!next_is(':')) return wrong(at_, "':' is missing");
    ++at_;
    return skip();
  }

  Result<void> string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2U : 1U;
    }
    if (!next_is('"')) return wrong(begin, "a string without an end");
    ++at_;
    if (!Json::accept(text_.substr(begin, at_ - begin))) return wrong(begin, "a bad string");
    return {};
  }

  // A number, true, false or null.
  Result<void> word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '+')) ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    if (found.empty() || !Json::accept(found)) return wrong(begin, "not a value");
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

std::string shown_place(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  std::string_view rest = before.substr(before.rfind('\n') + 1);
  if (line == 1 && rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const auto column =
      std::ranges::count_if(rest, [](char c) { return !is_utf8_continuation(c); }) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

const JsoncNode* JsoncNode::find(std::string_view member) const {
  if (!is_object()) return nullptr;
  const auto found = std::ranges::find(children, member, &JsoncNode::key);
  return found == children.end() ? nullptr : &*found;
}

std::string shown_path(const JsoncPath& path) {
  std::string shown;
  for (const JsoncStep& step : path) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      shown += (shown.empty() ? "" : ".") + lockkeeper::shown(*key);
    } else {
      shown += "[" + std::to_string(std::get<std::size_t>(step)) + "]";
    }
  }
  return shown.empty() ? "the document" : shown;
}

Result<Jsonc> Jsonc::parse(std::string text, std::string file) {
  auto root = JsoncParser(text, file).document();
  if (!root) return fail(std::move(root.error()));
  return Jsonc(std::move(text), std::move(file), std::move(*root));
}

const JsoncNode* Jsonc::find(const JsoncPath& path) const {
  const JsoncNode* node = &root_;
  for (const JsoncStep& step : path) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      node = node->find(*key);
    } else {
      const auto index = std::get<std::size_t>(step);
      node = node->is_array() && index < node->children.size() ? &node->children[index] : nullptr;
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

Json Jsonc::value(const JsoncNode& node) const {
  if (node.is_object()) {
    Json object = Json::object();
    for (const JsoncNode& child : node.children) object[child.key] = value(child);
    return object;
  }
  if (node.is_array()) {
    Json array = Json::array();
    for (const JsoncNode& child : node.children) array.push_back(value(child));
    return array;
  }
  return Json::parse(std::string_view(text_).substr(node.begin, node.end - node.begin));
}

}  // namespace lockkeeper::install
