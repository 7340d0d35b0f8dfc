#include "kv/lmdb/page_view.h"

#include <unistd.h>

#include <cerrno>

#include "kv/store.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::size_t kNodeHeaderBytes = 8;

}  // namespace

bool PageFile::read(std::uint64_t number, std::uint64_t count, std::string& out) const {
  if (number >= pages_ || count > pages_ - number) return false;
  out.resize(count * page_bytes_);
  std::size_t done = 0;
  while (done < out.size()) {
    const auto offset = static_cast<off_t>(number * page_bytes_ + done);
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool PageView::parse(std::string_view bytes, std::uint64_t number, std::uint16_t kinds) {
  bytes_ = bytes;
  if (bytes.size() < kPageHeaderBytes || at<std::uint64_t>(0) != number) return false;
  flags_ = at<std::uint16_t>(10);
  // A committed page has its kind and nothing else, but for the mark of a dirty page (0x10), which
  // LMDB leaves in what it writes.
  const std::uint16_t kind = flags_ & static_cast<std::uint16_t>(~0x10U);
  if (kind != kBranchPage && kind != kLeafPage) return false;
  if ((kind & kinds) == 0) return false;
  const std::size_t lower = at<std::uint16_t>(12);
  upper_ = at<std::uint16_t>(14);
  if (lower < kPageHeaderBytes || lower > upper_ || upper_ > bytes.size() || lower % 2 != 0) {
    return false;
  }
  nodes_ = (lower - kPageHeaderBytes) / 2;
  return nodes_ > 0;
}

std::optional<Node> PageView::node(std::size_t index) const {
  const std::size_t offset = at<std::uint16_t>(kPageHeaderBytes + 2 * index);
  if (offset < upper_ || offset + kNodeHeaderBytes > bytes_.size()) return std::nullopt;
  const std::uint64_t low = at<std::uint16_t>(offset);
  const std::uint64_t high = at<std::uint16_t>(offset + 2);
  const std::uint16_t flags = at<std::uint16_t>(offset + 4);
  const std::size_t key_bytes = at<std::uint16_t>(offset + 6);
  std::size_t end = offset + kNodeHeaderBytes + key_bytes;
  if (end > bytes_.size()) return std::nullopt;
  Node node;
  node.key = bytes_.substr(offset + kNodeHeaderBytes, key_bytes);
  if (!is_leaf()) {
    node.child = low | high << 16 | std::uint64_t{flags} << 32;
    return node;
  }
  if ((flags & ~unsigned{kBigNode}) != 0 || key_bytes == 0) return std::nullopt;
  node.big = (flags & kBigNode) != 0;
  node.data_bytes = low | high << 16;
  const std::uint64_t inside = node.big ? sizeof(std::uint64_t) : node.data_bytes;
  if (inside > bytes_.size() - end) return std::nullopt;
  node.data = bytes_.substr(end, inside);
  return node;
}

bool read_big(const PageFile& file, const Node& node, BigValue& out) {
  if (node.data.size() != sizeof(std::uint64_t)) return false;
  std::memcpy(&out.first_page, node.data.data(), sizeof out.first_page);
  out.pages = (kPageHeaderBytes + node.data_bytes + file.page_bytes() - 1) / file.page_bytes();
  if (node.data_bytes > file.pages() * file.page_bytes()) return false;
  if (!file.read(out.first_page, out.pages, out.buffer)) return false;
  std::uint64_t number = 0;
  std::uint16_t flags = 0;
  std::uint32_t pages = 0;
  std::memcpy(&number, out.buffer.data(), sizeof number);
  std::memcpy(&flags, out.buffer.data() + 10, sizeof flags);
  std::memcpy(&pages, out.buffer.data() + 12, sizeof pages);
  if (number != out.first_page || (flags & ~0x10U) != kOverflowPage || pages < out.pages) {
    return false;
  }
  out.pages = pages;
  out.value = std::string_view(out.buffer).substr(kPageHeaderBytes, node.data_bytes);
  return true;
}

}  // namespace lockkeeper::kv::internal
