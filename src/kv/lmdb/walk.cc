#include "kv/lmdb/walk.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "kv/lmdb/page_view.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::size_t kDepthMax = 32;  // LMDB's own
constexpr std::uint64_t kFirstPage = 2;
// A row's checksum and two versions come before its value.
constexpr std::uint64_t kRowBytesMax = kValueBytesMax + 8 + 2 * 10;
// How much may be read of long values that belong to no row, in multiples of the file's size.
constexpr std::uint64_t kVainReadsMax = 8;

enum class Order { kBytes, kNumbers };

// Integer keys are 8 bytes in the machine's order.
bool less(Order order, std::string_view a, std::string_view b) {
  if (order == Order::kBytes) return a < b;
  if (a.size() != 8 || b.size() != 8) return false;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::memcpy(&left, a.data(), 8);
  std::memcpy(&right, b.data(), 8);
  return left < right;
}

// Walks one tree, strictly (the first fault ends it) or leniently (skips faulty pages).
class TreeWalk {
 public:
  // `value` is the whole value, even of a big node.
  using Visit = std::function<Result<void>(std::string_view key, std::string_view value)>;

  TreeWalk(const PageFile& file, std::vector<bool>& used, Order order, bool strict)
      : file_(file), used_(used), order_(order), strict_(strict) {}

  Result<void> run(const TreeMeta& tree, const Visit& visit);
  std::uint64_t unreadable() const { return unreadable_; }

 private:
  struct Step {
    std::uint64_t page;
    std::size_t depth;
    std::optional<std::string> from;  // keys below are not less
    std::optional<std::string> to;    // and less than this
  };

  Result<void> bad(std::uint64_t page, const std::string& what) {
    ++unreadable_;
    if (!strict_) return {};
    return corrupt(file_.path(), "page " + std::to_string(page) + ": " + what);
  }
  bool claim(std::uint64_t first, std::uint64_t count);
  Result<void> branch(PageView& view, const Step& step);
  Result<void> leaf(PageView& view, const Step& step, const Visit& visit);
  bool long_value(const Node& node, BigValue& big);
  bool in_order(const Step& step, const std::optional<std::string>& last,
                std::string_view key) const;

  const PageFile& file_;
  std::vector<bool>& used_;
  const Order order_;
  const bool strict_;
  TreeMeta tree_;
  TreeMeta seen_;
  std::vector<Step> stack_;
  std::uint64_t unreadable_ = 0;
};

bool TreeWalk::claim(std::uint64_t first, std::uint64_t count) {
  if (first < kFirstPage || first >= used_.size() || count > used_.size() - first) return false;
  for (std::uint64_t page = first; page < first + count; ++page) {
    if (used_[page]) return false;
    used_[page] = true;
  }
  return true;
}

bool TreeWalk::in_order(const Step& step, const std::optional<std::string>& last,
                        std::string_view key) const {
  if (last && !less(order_, *last, key)) return false;
  if (step.from && less(order_, key, *step.from)) return false;
  return !step.to || less(order_, key, *step.to);
}

Result<void> TreeWalk::run(const TreeMeta& tree, const Visit& visit) {
  tree_ = tree;
  if (tree.empty()) return {};
  stack_.push_back({tree.root, 1, std::nullopt, std::nullopt});
  std::string bytes;
  while (!stack_.empty()) {
    const Step step = std::move(stack_.back());
    stack_.pop_back();
    PageView view;
    Result<void> ok;
    if (step.depth > kDepthMax || !claim(step.page, 1)) {
      ok = bad(step.page, "is used twice or does not exist");
    } else if (!file_.read(step.page, 1, bytes) ||
               !view.parse(bytes, step.page, kBranchPage | kLeafPage)) {
      ok = bad(step.page, "is not what the tree says");
    } else if (view.is_leaf() != (step.depth == tree.depth)) {
      ok = bad(step.page, "is at the wrong depth");
    } else if (view.is_leaf()) {
      ok = leaf(view, step, visit);
    } else {
      ok = branch(view, step);
    }
    if (!ok) return ok;
  }
  if (strict_ && (seen_.branch_pages != tree.branch_pages || seen_.leaf_pages != tree.leaf_pages ||
                  seen_.overflow_pages != tree.overflow_pages || seen_.entries != tree.entries)) {
    return corrupt(file_.path(), "holds " + std::to_string(seen_.entries) + " rows where " +
                                     std::to_string(tree.entries) + " are recorded");
  }
  return {};
}

Result<void> TreeWalk::branch(PageView& view, const Step& step) {
  ++seen_.branch_pages;
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < view.nodes(); ++i) {
    const auto node = view.node(i);
    if (!node) return bad(step.page, "has a damaged entry");
    nodes.push_back(*node);
  }
  // What is below is then found as cut off instead of being checked against wrong bounds.
  if (view.overlap()) return bad(step.page, "has entries that overlap");
  std::optional<std::string> last;
  // Pushed backwards, so that the children come off the stack in order.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    Step child{nodes[i].child, step.depth + 1, step.from, step.to};
    if (i > 0) child.from = std::string(nodes[i].key);  // the first has no key of its own
    if (i + 1 < nodes.size()) child.to = std::string(nodes[i + 1].key);
    if (strict_ && i > 0) {
      const bool falling = last && !less(order_, nodes[i].key, *last);
      if (falling) return bad(step.page, "is out of order");
      last = std::string(nodes[i].key);
    }
    stack_.push_back(std::move(child));
  }
  return {};
}

// Each page is claimed before it is read, so that all values together fit the file's size.
bool TreeWalk::long_value(const Node& node, BigValue& big) {
  // The list of free pages may be as long as it needs to be.
  const std::uint64_t bytes_max =
      order_ == Order::kBytes ? kRowBytesMax : file_.pages() * file_.page_bytes();
  if (!find_big(file_, node, bytes_max, big) || !claim(big.first_page, big.pages)) return false;
  seen_.overflow_pages += big.pages;
  return read_big(file_, node, big);
}

Result<void> TreeWalk::leaf(PageView& view, const Step& step, const Visit& visit) {
  ++seen_.leaf_pages;
  std::optional<std::string> last;
  BigValue big;
  for (std::size_t i = 0; i < view.nodes(); ++i) {
    const auto node = view.node(i);
    if (!node || !in_order(step, last, node->key)) {
      if (auto ok = bad(step.page, "has a damaged entry or is out of order"); !ok) return ok;
      continue;
    }
    last = std::string(node->key);
    ++seen_.entries;
    std::string_view value = node->data;
    if (node->big) {
      if (!long_value(*node, big)) {
        if (auto ok = bad(step.page, "has a long value that cannot be read"); !ok) return ok;
        continue;
      }
      value = big.value;
    }
    if (auto ok = visit(node->key, value); !ok) return ok;
  }
  if (strict_ && view.overlap()) return bad(step.page, "has entries that overlap");
  return {};
}

// The free list's values: a count, then that many page numbers.
Result<void> free_pages(const PageFile& file, const TreeMeta& tree, std::vector<bool>& used,
                        bool strict) {
  TreeWalk walk(file, used, Order::kNumbers, strict);
  std::vector<std::uint64_t> pages;
  auto ok = walk.run(tree, [&](std::string_view, std::string_view value) -> Result<void> {
    std::uint64_t count = 0;
    if (value.size() >= 8) std::memcpy(&count, value.data(), 8);
    if (value.size() < 8 || count > value.size() / 8 - 1) {
      if (!strict) return {};
      return corrupt(file.path(), "the list of free pages is damaged");
    }
    for (std::uint64_t i = 1; i <= count; ++i) {
      std::uint64_t page = 0;
      std::memcpy(&page, value.data() + 8 * i, 8);
      pages.push_back(page);
    }
    return {};
  });
  if (!ok) return ok;
  for (const std::uint64_t page : pages) {
    if (page < kFirstPage || page >= used.size() || used[page]) {
      if (!strict) continue;
      return corrupt(file.path(), "page " + std::to_string(page) + " is both free and in use");
    }
    used[page] = true;
  }
  return {};
}

// The rows of leaf pages that the tree does not reach.
class CutOff {
 public:
  CutOff(const PageFile& file, const Keep& keep)
      : file_(file),
        keep_(keep),
        given_(file.pages()),
        vain_bytes_left_(kVainReadsMax * file.pages() * file.page_bytes()) {}

  Result<void> page(std::uint64_t number, const std::string& bytes);

 private:
  bool long_value(const Node& node);
  bool any_given() const;

  const PageFile& file_;
  const Keep& keep_;
  std::vector<bool> given_;  // pages of long values that have been kept
  std::uint64_t vain_bytes_left_;
  BigValue big_;
};

Result<void> CutOff::page(std::uint64_t number, const std::string& bytes) {
  PageView view;
  if (!view.parse(bytes, number, kLeafPage)) return {};
  for (std::size_t i = 0; i < view.nodes(); ++i) {
    const auto node = view.node(i);
    if (!node || (node->big && !long_value(*node))) continue;
    Salvaged row{node->key, {}, false};
    if (!read_record(node->key, node->big ? big_.value : node->data, row.record)) continue;
    if (node->big) {
      vain_bytes_left_ += big_.full_pages * file_.page_bytes();
      for (std::uint64_t at = 0; at < big_.full_pages; ++at) given_[big_.first_page + at] = true;
    }
    if (auto ok = keep_(row); !ok) return ok;
  }
  return {};
}

// Old copies of a leaf name the same value; it is given once. Only the checksum tells which of
// several keys owns it, so it is read for each of them, within bounds.
bool CutOff::long_value(const Node& node) {
  if (!find_big(file_, node, kRowBytesMax, big_) || given_[big_.first_page]) return false;
  const std::uint64_t bytes = big_.full_pages * file_.page_bytes();
  if (bytes > vain_bytes_left_) return false;
  vain_bytes_left_ -= bytes;
  return !any_given() && read_big(file_, node, big_);
}

bool CutOff::any_given() const {
  for (std::uint64_t at = 0; at < big_.full_pages; ++at) {
    if (given_[big_.first_page + at]) return true;
  }
  return false;
}

}  // namespace

Result<Verified> verify_file(int fd, const std::string& path, const DataFacts& facts) {
  const PageFile file(fd, path, facts.meta.page_bytes, facts.meta.last_page + 1);
  std::vector<bool> used(file.pages());
  Verified found;
  bool has_ledger = false;
  TreeWalk rows(file, used, Order::kBytes, true);
  auto ok =
      rows.run(facts.meta.rows, [&](std::string_view key, std::string_view value) -> Result<void> {
        Record record;
        if (!read_record(key, value, record)) {
          return corrupt(path, "the row " + quote(key, 60) + " is damaged");
        }
        if (key == kLedgerKey) {
          has_ledger = read_ledger(record.payload, found.ledger);
          found.ledger.modified = record.modified;
          return {};
        }
        ++found.rows;
        found.digest += record.checksum;
        return {};
      });
  if (ok) ok = free_pages(file, facts.meta.free, used, true);
  if (!ok) return fail(std::move(ok.error()));
  if (!has_ledger) return corrupt(path, "the ledger is missing");
  if (found.rows != found.ledger.rows || found.digest != found.ledger.digest) {
    return corrupt(path, "holds " + std::to_string(found.rows) + " rows where the ledger has " +
                             std::to_string(found.ledger.rows) +
                             (found.rows == found.ledger.rows ? ", with other contents" : ""));
  }
  return found;
}

Result<SalvageCount> salvage(int fd, const std::string& path, const Keep& keep) {
  auto metas = read_metas(fd, path);
  if (!metas) return fail(std::move(metas.error()));
  const Meta* const meta = metas->newest();
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) return fail(errno_error(errno, path));
  const auto page_bytes =
      meta != nullptr ? meta->page_bytes : static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const PageFile file(fd, path, page_bytes, static_cast<std::uint64_t>(end) / page_bytes);
  std::vector<bool> used(std::max(file.pages(), kFirstPage));
  SalvageCount count;
  if (meta != nullptr) {
    TreeWalk reach(file, used, Order::kBytes, false);
    auto ok = reach.run(meta->rows, [](auto, auto) -> Result<void> { return {}; });
    if (ok) ok = free_pages(file, meta->free, used, false);
    if (!ok) return fail(std::move(ok.error()));
    count.unreadable_pages = reach.unreadable();
  }
  std::string bytes;
  CutOff cut_off(file, keep);
  Result<void> ok;
  for (std::uint64_t page = kFirstPage; ok && page < file.pages(); ++page) {
    if (!used[page] && file.read(page, 1, bytes)) ok = cut_off.page(page, bytes);
  }
  if (ok && meta != nullptr) {
    std::vector<bool> again(used.size());
    TreeWalk live(file, again, Order::kBytes, false);
    ok = live.run(meta->rows, [&](std::string_view key, std::string_view value) -> Result<void> {
      Salvaged row{key, {}, true};
      if (read_record(key, value, row.record)) {
        if (key != kLedgerKey) ++count.live_rows;
        return keep(row);
      }
      ++count.damaged_rows;
      return {};
    });
  }
  if (!ok) return fail(std::move(ok.error()));
  return count;
}

}  // namespace lockkeeper::kv::internal
