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
  return read_bytes(number * page_bytes_, out);
}

bool PageFile::read_header(std::uint64_t number, std::string& out) const {
  if (number >= pages_) return false;
  out.resize(kPageHeaderBytes);
  return read_bytes(number * page_bytes_, out);
}

bool PageFile::read_bytes(std::uint64_t offset, std::string& out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto from = static_cast<off_t>(offset + done);
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, from);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool PageView::parse(std::string_view bytes, std::uint64_t number, std::uint16_t kinds) {
  bytes_ = bytes;
  given_bytes_ = 0;
  if (bytes.size() < kPageHeaderBytes || at<std::uint64_t>(0) != number) return false;
  flags_ = at<std::uint16_t>(10);
  // A committed page has only its kind set, and perhaps the mark of a dirty page (0x10), which LMDB
  // leaves in what it writes.
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

std::optional<Node> PageView::node(std::size_t index) {
  const std::size_t offset = at<std::uint16_t>(kPageHeaderBytes + 2 * index);
  if (offset < upper_ || offset + kNodeHeaderBytes > bytes_.size()) return std::nullopt;
  const std::uint64_t low = at<std::uint16_t>(offset);
  const std::uint64_t high = at<std::uint16_t>(offset + 2);
  const std::uint16_t flags = at<std::uint16_t>(offset + 4);
  const std::size_t key_bytes = at<std::uint16_t>(offset + 6);
  const std::size_t end = offset + kNodeHeaderBytes + key_bytes;
  if (key_bytes > kKeyBytesMax || end > bytes_.size()) return std::nullopt;
  Node node;
  node.key = bytes_.substr(offset + kNodeHeaderBytes, key_bytes);
  if (!is_leaf()) {
    node.child = low | high << 16 | std::uint64_t{flags} << 32;
    if (!give(end - offset)) return std::nullopt;
    return node;
  }
  if ((flags & ~unsigned{kBigNode}) != 0 || key_bytes == 0) return std::nullopt;
  node.big = (flags & kBigNode) != 0;
  node.data_bytes = low | high << 16;
  const std::uint64_t inside = node.big ? sizeof(std::uint64_t) : node.data_bytes;
  if (inside > bytes_.size() - end) return std::nullopt;
  node.data = bytes_.substr(end, inside);
  if (!give(end - offset + inside)) return std::nullopt;
  return node;
}

bool PageView::give(std::size_t bytes) {
  if (bytes > 2 * bytes_.size() - given_bytes_) return false;
  given_bytes_ += bytes;
  return true;
}

bool find_big(const PageFile& file, const Node& node, std::uint64_t bytes_max, BigValue& out) {
  if (node.data.size() != sizeof(std::uint64_t) || node.data_bytes > bytes_max) return false;
  std::memcpy(&out.first_page, node.data.data(), sizeof out.first_page);
  out.full_pages = (kPageHeaderBytes + node.data_bytes + file.page_bytes() - 1) / file.page_bytes();
  if (!file.read_header(out.first_page, out.buffer)) return false;
  std::uint64_t number = 0;
  std::uint16_t flags = 0;
  std::uint32_t pages = 0;
  std::memcpy(&number, out.buffer.data(), sizeof number);
  std::memcpy(&flags, out.buffer.data() + 10, sizeof flags);
  std::memcpy(&pages, out.buffer.data() + 12, sizeof pages);
  out.pages = pages;
  return number == out.first_page && (flags & ~0x10U) == kOverflowPage &&
         out.pages >= out.full_pages && out.full_pages <= file.pages() - out.first_page;
}

bool read_big(const PageFile& file, const Node& node, BigValue& out) {
  if (!file.read(out.first_page, out.full_pages, out.buffer)) return false;
  out.value = std::string_view(out.buffer).substr(kPageHeaderBytes, node.data_bytes);
  return true;
}

}  // namespace lockkeeper::kv::internal
