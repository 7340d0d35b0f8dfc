#include "yaml/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace lockkeeper::yaml {
namespace {

bool is_scalar(const Node& node) {
  return !node.is_list() && !node.is_map();
}

bool all_texts(const Node& list) {
  return std::ranges::all_of(list.list, [](const Node& each) { return each.is_text(); });
}

// What identifies a value of a list: the string itself, or a map's name. Others have none.
std::string identity(const Node& node) {
  if (is_scalar(node)) return node.text;
  for (const char* const key : {"package_id", "agent", "id", "name"}) {
    const Node* const name = node.find(key);
    if (name != nullptr && is_scalar(*name)) return std::string(key) + " " + name->text;
  }
  return {};
}

class Writer {
 public:
  Writer(std::string_view text, const Node& root) : text_(text), json_(root.flow) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  // nullopt: it cannot be done in place.
  std::optional<std::string> run(const Node& before, const Node& after) {
    change(before, after);
    if (!possible_) return std::nullopt;
    std::ranges::sort(patches_, {}, &Patch::begin);
    std::string out;
    std::size_t at = 0;
    for (const Patch& patch : patches_) {
      if (patch.begin < at || patch.end < patch.begin) return std::nullopt;
      out += text_.substr(at, patch.begin - at);
      out += patch.text;
      at = patch.end;
    }
    out += text_.substr(at);
    return out;
  }

 private:
  struct Patch {
    std::size_t begin;
    std::size_t end;
    std::string text;
  };

  // Columns count characters.
  std::size_t offset(Place place) {
    if (place.line == 0 || place.line > lines_.size()) {
      possible_ = possible_ && place.line == lines_.size() + 1;
      return text_.size();
    }
    std::size_t at = lines_[place.line - 1];
    for (std::size_t left = place.column - 1; left > 0 && at < text_.size(); --left) {
      ++at;
      while (at < text_.size() && is_utf8_continuation(text_[at])) ++at;
    }
    return at;
  }
  std::size_t line_begin(std::size_t at) const {
    const std::size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    return newline == std::string_view::npos ? 0 : newline + 1;
  }
  std::size_t line_end(std::size_t at) const {
    std::size_t end = std::min(text_.find('\n', at), text_.size());
    if (end > at && text_[end - 1] == '\r') --end;
    return end;
  }
  std::size_t next_line(std::size_t end) const {
    if (end < text_.size() && text_[end] == '\r') ++end;
    return std::min(end + 1, text_.size());
  }
  // After the last character of a value. libyaml ends a block string at the next line's text.
  std::size_t end_of(const Node& node) {
    std::size_t at = offset(node.stop);
    const std::size_t begin = offset(node.place);
    while (at > begin && std::string_view(" \r\n").contains(text_[at - 1])) --at;
    return at;
  }
  std::string newline() const { return text_.contains("\r\n") ? "\r\n" : "\n"; }

  void give_up() { possible_ = false; }

  void patch(std::size_t begin, std::size_t end, std::string text) {
    patches_.push_back({begin, end, std::move(text)});
  }

  void change(const Node& before, const Node& after) {
    if (same_document(before, after)) return;
    if (before.alias || before.kind != after.kind || is_scalar(before)) {
      return replace(before, after);
    }
    if (before.is_map()) return change_map(before, after);
    change_list(before, after);
  }

  void replace(const Node& before, const Node& after) {
    const std::size_t begin = offset(before.place);
    const std::size_t end = end_of(before);
    const bool missing = begin == end;  // `after:` and nothing
    const bool quoted = begin < text_.size() && text_[begin] == '"';
    const bool block = text_.substr(begin, 1) == "|" || text_.substr(begin, 1) == ">";
    std::string text = flow_text(after, json_ || (quoted && after.is_text()));
    if (block) {
      const std::size_t line = line_begin(begin);
      const std::size_t indent = std::min(text_.find_first_not_of(' ', line), text_.size()) - line;
      const bool item = text_.substr(line + indent, 2) == "- ";
      text = block_text(after, indent + (item ? 4 : 2), false);
    }
    patch(begin, end, (missing ? " " : "") + text);
  }

  void change_map(const Node& before, const Node& after) {
    std::vector<const Node::Entry*> fresh;
    for (const Node::Entry& entry : after.entries) {
      const Node* const old = before.find(entry.key);
      if (old == nullptr) {
        fresh.push_back(&entry);
      } else {
        change(*old, entry.value);
      }
    }
    for (const Node::Entry& entry : before.entries) {
      if (after.find(entry.key) == nullptr) remove_entry(before, entry);
    }
    if (fresh.empty()) return;
    if (before.entries.empty()) return replace(before, after);
    insert_entries(before, fresh);
  }

  void remove_entry(const Node& map, const Node::Entry& entry) {
    const std::size_t begin = line_begin(offset(entry.place));
    const bool alone = text_.find_first_not_of(' ', begin) == offset(entry.place);
    possible_ = possible_ && !map.flow && alone;
    patch(begin, next_line(line_end(end_of(entry.value))), "");
  }

  // After the first entry if it is short (usually the name), otherwise after the last.
  void insert_entries(const Node& map, const std::vector<const Node::Entry*>& fresh) {
    const Node::Entry& first = map.entries.front();
    const bool short_first = is_scalar(first.value) && first.value.stop.line == first.place.line;
    const Node& anchor = short_first ? first.value : map.entries.back().value;
    const bool lines =
        !map.flow || (map.entries.size() > 1 && map.entries[1].place.line != first.place.line);
    const std::string margin = newline() + std::string(first.place.column - 1, ' ');
    std::string text;
    for (const Node::Entry* const entry : fresh) {
      Node one;
      one.kind = Node::Kind::kMap;
      one.entries.push_back(*entry);
      const std::string flow = flow_text(one, json_);
      if (map.flow) text += lines ? "," + margin : ", ";
      if (!map.flow) text += margin;
      text += flow.substr(1, flow.size() - 2);
    }
    const std::size_t at = map.flow ? end_of(anchor) : line_end(end_of(anchor));
    patch(at, at, std::move(text));
  }

  void change_list(const Node& before, const Node& after) {
    if (before.list.empty()) return replace(before, after);
    std::vector<const Node*> fresh;
    std::vector<bool> kept(before.list.size(), false);
    std::map<std::string, std::vector<std::size_t>> known;  // the last one first
    for (std::size_t i = before.list.size(); i > 0; --i) {
      known[identity(before.list[i - 1])].push_back(i - 1);
    }
    for (const Node& now : after.list) {
      const auto old = known.find(identity(now));
      if (old == known.end() || old->second.empty()) {
        fresh.push_back(&now);
        continue;
      }
      const std::size_t at = old->second.back();
      old->second.pop_back();
      kept[at] = true;
      change(before.list[at], now);
    }
    if (std::ranges::none_of(kept, [](bool each) { return each; }) && fresh.empty()) {
      return empty(before);
    }
    // A new string replaces an old one.
    auto next = fresh.begin();
    for (std::size_t i = 0; i < kept.size() && next != fresh.end(); ++i) {
      if (kept[i] || !before.list[i].is_text() || !(*next)->is_text()) continue;
      replace(before.list[i], **next++);
      kept[i] = true;
    }
    fresh.erase(fresh.begin(), next);
    before.flow ? flow_items(before, kept, fresh) : block_items(before, kept, fresh);
  }

  void empty(const Node& list) {
    if (list.flow) return patch(offset(list.list.front().place), end_of(list.list.back()), "");
    const std::size_t line = line_begin(offset(list.place));
    if (line == 0) return give_up();
    const std::size_t before = line_end(line_begin(line - 1));
    patch(before, line_end(end_of(list.list.back())), " []");
  }

  // After the last one that stays.
  static std::size_t end_of_kept(const std::vector<bool>& kept) {
    return static_cast<std::size_t>(std::find(kept.rbegin(), kept.rend(), true).base() -
                                    kept.begin());
  }

  void flow_items(const Node& list, const std::vector<bool>& kept,
                  const std::vector<const Node*>& fresh) {
    const std::vector<Node>& items = list.list;
    const bool lines = items.front().place.line != list.place.line;
    const std::string margin =
        lines ? "," + newline() + std::string(items.front().place.column - 1, ' ') : ", ";
    const bool quoted = json_ || text_[offset(items.front().place)] == '"';
    std::string added;
    for (const Node* const each : fresh) added += margin + flow_text(*each, quoted);
    const std::size_t last = end_of_kept(kept);
    for (std::size_t i = 0; i < last; ++i) {
      if (!kept[i]) patch(offset(items[i].place), offset(items[i + 1].place), "");
    }
    if (last == 0) return give_up();  // only maps
    const std::size_t at = end_of(items[last - 1]);
    if (last < items.size() || !added.empty()) patch(at, end_of(items.back()), std::move(added));
  }

  void block_items(const Node& list, const std::vector<bool>& kept,
                   const std::vector<const Node*>& fresh) {
    const std::vector<Node>& items = list.list;
    const std::size_t first = offset(items.front().place);
    const std::string mark(text_.substr(line_begin(first), first - line_begin(first)));
    const bool alone = mark.find_first_not_of(' ') == mark.find('-') &&
                       mark.find_first_not_of(' ', mark.find('-') + 1) == std::string::npos;
    if (!alone) return give_up();
    const bool quoted = text_[first] == '"';
    std::string added;
    for (const Node* const each : fresh) {
      added += newline() + mark +
               (each->is_text() ? flow_text(*each, quoted) : block_text(*each, mark.size(), false));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (kept[i]) continue;
      const std::size_t begin = line_begin(offset(items[i].place));
      patch(begin, next_line(line_end(end_of(items[i]))), "");
    }
    if (added.empty()) return;
    const std::size_t last = end_of_kept(kept);
    if (last == 0) return give_up();
    const std::size_t at = line_end(end_of(items[last - 1]));
    patch(at, at, std::move(added));
  }

  const std::string_view text_;
  const bool json_;
  std::vector<std::size_t> lines_;  // where each begins
  std::vector<Patch> patches_;
  bool possible_ = true;
};

std::vector<std::string> sorted_texts(const Node& list) {
  std::vector<std::string> texts;
  for (const Node& each : list.list) texts.push_back(each.text);
  std::ranges::sort(texts);
  return texts;
}

}  // namespace

bool same_document(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.text != b.text) return false;
  if (a.list.size() != b.list.size() || a.entries.size() != b.entries.size()) return false;
  if (a.is_list() && all_texts(a) && all_texts(b)) return sorted_texts(a) == sorted_texts(b);
  if (!std::ranges::equal(a.list, b.list, same_document)) return false;
  return std::ranges::all_of(a.entries, [&](const Node::Entry& entry) {
    const Node* const other = b.find(entry.key);
    return other != nullptr && same_document(entry.value, *other);
  });
}

Rewritten rewrite(std::string_view text, const Node& before, const Node& after) {
  if (same_document(before, after)) return {std::string(text), false};
  if (auto changed = Writer(text, before).run(before, after)) {
    const auto again = parse_document(*changed);
    if (again && same_document(*again, after)) return {std::move(*changed), false};
  }
  return {block_text(after, 0, before.flow) + "\n", true};
}

}  // namespace lockkeeper::yaml
