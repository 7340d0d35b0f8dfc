// One page of LMDB's file as bytes, with every offset in it checked before it is followed.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::kv::internal {

inline constexpr std::size_t kPageHeaderBytes = 16;
inline constexpr std::uint16_t kBranchPage = 0x01;
inline constexpr std::uint16_t kLeafPage = 0x02;
inline constexpr std::uint16_t kOverflowPage = 0x04;
inline constexpr std::uint16_t kBigNode = 0x01;

// The pages of one open file.
class PageFile {
 public:
  PageFile(int fd, std::string path, std::uint64_t page_bytes, std::uint64_t pages)
      : fd_(fd), path_(std::move(path)), page_bytes_(page_bytes), pages_(pages) {}

  std::uint64_t pages() const { return pages_; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  const std::string& path() const { return path_; }

  // `count` pages from `number` on; false beyond the end or if the disk cannot read them.
  bool read(std::uint64_t number, std::uint64_t count, std::string& out) const;
  // The header of one page.
  bool read_header(std::uint64_t number, std::string& out) const;

 private:
  bool read_bytes(std::uint64_t offset, std::string& out) const;

  int fd_;
  std::string path_;
  std::uint64_t page_bytes_;
  std::uint64_t pages_;
};

struct Node {
  std::string_view key;
  std::string_view data;         // leaf: the value, or 8 bytes with a page number if `big`
  std::uint64_t child = 0;       // branch
  std::uint64_t data_bytes = 0;  // leaf: of the value, wherever it is
  bool big = false;
};

class PageView {
 public:
  // False: the header is not that of page `number` with a kind in `kinds`, or its bounds are
  // outside the page. `bytes` must outlive the view.
  bool parse(std::string_view bytes, std::uint64_t number, std::uint16_t kinds);
  bool is_leaf() const { return (flags_ & kLeafPage) != 0; }
  std::size_t nodes() const { return nodes_; }
  // nullopt: a part of it is outside the page, its key is longer than ours can be, or we never
  // write its flags. Ask once for each node. All of them together give at most two pages of bytes:
  // enough for one node with a damaged length, not for a thousand that overlap.
  std::optional<Node> node(std::size_t index);
  // True: the nodes so far take more bytes than the page has, so some overlap.
  bool overlap() const { return given_bytes_ > bytes_.size() - upper_; }

 private:
  template <class Integer>
  Integer at(std::size_t offset) const {
    Integer value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  bool give(std::size_t bytes);

  std::string_view bytes_;
  std::uint16_t flags_ = 0;
  std::size_t nodes_ = 0;
  std::size_t upper_ = 0;
  std::size_t given_bytes_ = 0;
};

// The value of a big node.
struct BigValue {
  std::uint64_t first_page = 0;
  std::uint64_t pages = 0;       // that are kept for it
  std::uint64_t full_pages = 0;  // those with something in them, from the first on
  std::string buffer;
  std::string_view value;
};
// Finds it, reading only the first page's header, because many nodes may name one value. False:
// that is not an overflow page, or the value is longer than `bytes_max`.
bool find_big(const PageFile& file, const Node& node, std::uint64_t bytes_max, BigValue& out);
// Then reads the value.
bool read_big(const PageFile& file, const Node& node, BigValue& out);

}  // namespace lockkeeper::kv::internal
