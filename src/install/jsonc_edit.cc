#include <algorithm>
#include <nlohmann/json.hpp>

#include "install/jsonc.h"

namespace lockkeeper::install {
namespace {

constexpr std::string_view kSpaces = " \t";
constexpr std::string_view kBlanks = " \t\r\n";

bool has_newline(std::string_view text) {
  return text.contains('\n');
}

// Does the last comment of this run of blanks and comments go to the end of its line?
bool ends_in_line_comment(std::string_view trivia) {
  bool line_comment = false;
  for (std::size_t at = trivia.find('/'); at < trivia.size(); at = trivia.find('/', at)) {
    line_comment = trivia.substr(at).starts_with("//");
    const std::size_t end =
        line_comment ? trivia.find_first_of("\r\n", at) : trivia.find("*/", at + 2);
    at = std::min(end, trivia.size() - 1) + (line_comment ? 1 : 2);
  }
  return line_comment;
}

// After the last comment of this run.
std::size_t end_of_comments(std::string_view trivia) {
  const std::size_t last = trivia.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? 0 : last + 1;
}

const std::string* key_of(const JsoncStep& step) {
  return std::get_if<std::string>(&step);
}

JsoncPath first_steps(const JsoncPath& path, std::size_t count) {
  return {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::string Jsonc::newline() const {
  const std::size_t first = text_.find('\n');
  return first != std::string::npos && first > 0 && text_[first - 1] == '\r' ? "\r\n" : "\n";
}

bool Jsonc::is_one_line() const {
  return !root_.children.empty() && !is_multiline(root_);
}

bool Jsonc::is_multiline(const JsoncNode& node) const {
  return has_newline(std::string_view(text_).substr(node.begin, node.end - node.begin));
}

bool Jsonc::starts_line(std::size_t at) const {
  const std::size_t before = at == 0 ? std::string::npos : text_.find_last_not_of(kSpaces, at - 1);
  return before == std::string::npos || text_[before] == '\n';
}

std::string Jsonc::margin(std::size_t at) const {
  const std::size_t newline = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const std::size_t end = std::min(text_.find_first_not_of(kSpaces, begin), text_.size());
  return text_.substr(begin, end - begin);
}

std::string Jsonc::unit() const {
  const auto search = [this](const auto& self, const JsoncNode& node) -> std::string {
    for (const JsoncNode& child : node.children) {
      const std::string outer = margin(node.start);
      const std::string inner = margin(child.start);
      const bool deeper = inner.size() > outer.size() && inner.starts_with(outer);
      if (starts_line(child.start) && deeper) return inner.substr(outer.size());
      if (std::string found = self(self, child); !found.empty()) return found;
    }
    return {};
  };
  const std::string found = search(search, root_);
  return found.empty() ? "  " : found;
}

std::string Jsonc::member(const std::string* key, const Json& value, const std::string& margin,
                          bool lines) const {
  constexpr auto kReplace = Json::error_handler_t::replace;
  const std::string step = unit();
  const bool tabs = step.starts_with('\t');
  const int width = lines ? static_cast<int>(step.size()) : -1;
  std::string plain = value.dump(width, tabs ? '\t' : ' ', false, kReplace);
  std::string out;
  if (key != nullptr) {
    out = Json(*key).dump(-1, ' ', false, kReplace) + (lines || !is_one_line() ? ": " : ":");
  }
  for (const char c : plain) {
    if (c == '\n') {
      out += newline() + margin;
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t Jsonc::after_comments_of_line(std::size_t at) const {
  const std::string_view text = text_;
  std::size_t end = at;
  for (;;) {
    at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) return std::min(text.find_first_of("\r\n", at), text.size());
    if (!rest.starts_with("/*")) return end;
    const std::size_t close = text.find("*/", at + 2) + 2;
    if (has_newline(text.substr(at, close - at))) return end;
    end = at = close;
  }
}

Result<void> Jsonc::rewrite(std::vector<Cut> cuts) {
  std::ranges::stable_sort(cuts, {}, &Cut::begin);
  std::string out;
  std::size_t at = 0;
  for (const Cut& cut : cuts) {
    out.append(text_, at, cut.begin - at);
    out += cut.put;
    at = cut.end;
  }
  out.append(text_, at);
  LK_ASSIGN(*this, parse(std::move(out), file_));
  return {};
}

std::unexpected<Error> Jsonc::no_place(const JsoncNode& node, const JsoncPath& path,
                                       std::string_view wanted) const {
  return fail(Code::kInvalidConfig,
              file_ + ":" + shown_place(text_, node.begin) + ": " + shown_path(path) + " is not " +
                  std::string(wanted),
              "correct the file; nothing was changed");
}

std::vector<Jsonc::Cut> Jsonc::add_first(const JsoncNode& into, const std::string* key,
                                         const Json& value) const {
  const std::size_t inside = into.begin + 1;
  const std::size_t close = into.end - 1;
  if (is_one_line()) return {{close, close, member(key, value, "", false)}};
  const std::string_view trivia = std::string_view(text_).substr(inside, close - inside);
  const std::size_t at = inside + end_of_comments(trivia);
  const std::string outer = margin(into.start);
  const std::string inner = outer + unit();
  std::string put = newline() + inner + member(key, value, inner, true);
  if (has_newline(std::string_view(text_).substr(at, close - at))) return {{at, at, put}};
  return {{at, close, put + newline() + outer}};
}

std::vector<Jsonc::Cut> Jsonc::add_last(const JsoncNode& into, const std::string* key,
                                        const Json& value) const {
  const JsoncNode& last = into.children.back();
  const bool own_line = starts_line(last.start);
  const bool comma = last.comma != JsoncNode::kNone;
  const std::size_t behind = comma ? last.comma + 1 : last.end;
  const std::size_t at = own_line ? after_comments_of_line(behind) : behind;
  const std::string inner = margin(last.start);
  std::string put = own_line ? newline() + inner : is_one_line() ? "" : " ";
  put += member(key, value, inner, own_line || is_multiline(last));
  if (comma) return {{at, at, put + ","}};
  return {{last.end, last.end, ","}, {at, at, put}};
}

Result<void> Jsonc::add(const JsoncNode& into, const std::string* key, const Json& value) {
  return rewrite(into.children.empty() ? add_first(into, key, value) : add_last(into, key, value));
}

Result<void> Jsonc::set(const JsoncPath& path, const Json& value) {
  const JsoncNode* node = &root_;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const JsoncNode* const next = find(first_steps(path, i + 1));
    if (next != nullptr) {
      node = next;
      continue;
    }
    const std::string* const key = key_of(path[i]);
    const JsoncPath way = first_steps(path, i);
    if (key == nullptr) return no_place(*node, way, "an array with that element");
    if (!node->is_object()) return no_place(*node, way, "an object");
    Json nested = value;
    for (std::size_t inner = path.size() - 1; inner > i; --inner) {
      const std::string* const name = key_of(path[inner]);
      if (name == nullptr) return no_place(*node, way, "an array with that element");
      nested = Json::object({{*name, std::move(nested)}});
    }
    return add(*node, key, nested);
  }
  if (this->value(*node) == value) return {};
  const bool lines = !is_one_line() && (starts_line(node->start) || is_multiline(*node));
  return rewrite({{node->begin, node->end, member(nullptr, value, margin(node->start), lines)}});
}

Result<void> Jsonc::append(const JsoncPath& path, const Json& value) {
  const JsoncNode* const array = find(path);
  if (array == nullptr) return set(path, Json::array({value}));
  if (!array->is_array()) return no_place(*array, path, "an array");
  return add(*array, nullptr, value);
}

std::vector<Jsonc::Cut> Jsonc::cuts_for(const JsoncNode& from, std::size_t index) const {
  const std::string_view text = text_;
  const JsoncNode& node = from.children[index];
  const bool last = index + 1 == from.children.size();
  const std::size_t inside = from.begin + 1;
  // Alone, with nothing but blanks around it: the brackets close again.
  if (last && index == 0) {
    std::string kept(text.substr(inside, node.start - inside));
    const std::size_t rest = node.comma == JsoncNode::kNone ? node.end : node.comma;
    kept += text.substr(node.end, rest - node.end);
    const std::size_t after = node.comma == JsoncNode::kNone ? node.end : node.comma + 1;
    kept += text.substr(after, from.end - 1 - after);
    if (end_of_comments(kept) == 0) return {{inside, from.end - 1, ""}};
  }
  // The first of a line: its neighbour takes its place.
  if (index == 0 && !last && !starts_line(node.start)) {
    const std::size_t next = from.children[1].start;
    const std::size_t gap = node.comma + 1;
    const bool bare = end_of_comments(text.substr(node.end, node.comma - node.end)) == 0 &&
                      end_of_comments(text.substr(gap, next - gap)) == 0;
    if (bare) return {{node.start, next, ""}};
  }
  std::size_t gap = inside;  // where the blanks and comments before it begin
  if (index > 0) gap = from.children[index - 1].comma + 1;
  std::size_t begin = gap + end_of_comments(text.substr(gap, node.start - gap));
  const std::size_t end = node.end;
  const std::size_t next = text.find_first_not_of(
      kSpaces, node.comma == JsoncNode::kNone || node.comma != end ? end : node.comma + 1);
  const bool line_ends = text[next] == '\n' || text[next] == '\r';
  if (ends_in_line_comment(text.substr(gap, node.start - gap)) && !line_ends) begin = node.start;
  std::vector<Cut> cuts = {{begin, end, ""}};
  if (node.comma != JsoncNode::kNone) cuts.push_back({node.comma, node.comma + 1, ""});
  if (node.comma == JsoncNode::kNone && index > 0) {
    const std::size_t comma = from.children[index - 1].comma;
    cuts.push_back({comma, comma + 1, ""});
  }
  return cuts;
}

Result<bool> Jsonc::remove(const JsoncPath& path) {
  const JsoncNode* const node = find(path);
  if (node == nullptr || path.empty()) return false;
  const JsoncNode* const from = find(first_steps(path, path.size() - 1));
  const auto index = static_cast<std::size_t>(node - from->children.data());
  LK_CHECK(rewrite(cuts_for(*from, index)));
  return true;
}

}  // namespace lockkeeper::install
