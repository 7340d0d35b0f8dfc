#include "kv/lmdb/pages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockkeeper::kv::internal {
namespace {

constexpr std::uint32_t kMetaMagic = 0xBEEFC0DE;
constexpr std::uint32_t kMetaVersion = 1;
constexpr std::uint16_t kMetaFlag = 0x08;
constexpr std::size_t kMetaBytes = 16 + 136;
constexpr char kHint[] = "run lockkeeper doctor; nothing is granted until it is repaired";

// Reads a number at an offset in this machine's own byte order, as LMDB writes it.
template <class Integer>
Integer at(const char* page, std::size_t offset) {
  Integer value;
  std::memcpy(&value, page + offset, sizeof value);
  return value;
}

TreeMeta tree_at(const char* page, std::size_t offset) {
  TreeMeta tree;
  tree.flags = at<std::uint16_t>(page, offset + 4);
  tree.depth = at<std::uint16_t>(page, offset + 6);
  tree.branch_pages = at<std::uint64_t>(page, offset + 8);
  tree.leaf_pages = at<std::uint64_t>(page, offset + 16);
  tree.overflow_pages = at<std::uint64_t>(page, offset + 24);
  tree.entries = at<std::uint64_t>(page, offset + 32);
  tree.root = at<std::uint64_t>(page, offset + 40);
  return tree;
}

bool plausible(const TreeMeta& tree, std::uint64_t last_page, std::uint64_t page_bytes) {
  // A node takes at least ten bytes. Too high a count would also avoid the full check, which is
  // only for small stores.
  if (tree.leaf_pages <= last_page && tree.entries > tree.leaf_pages * (page_bytes / 10)) {
    return false;
  }
  if (tree.empty()) return tree.depth == 0 && tree.entries == 0;
  const std::uint64_t pages = tree.branch_pages + tree.leaf_pages + tree.overflow_pages;
  return tree.root > 1 && tree.root <= last_page && tree.depth > 0 && tree.depth < 32 &&
         tree.branch_pages <= last_page && tree.leaf_pages <= last_page &&
         tree.overflow_pages <= last_page && pages <= last_page;
}

bool parse_meta(const char* page, std::uint64_t index, Meta& meta) {
  if (at<std::uint64_t>(page, 0) != index) return false;
  if ((at<std::uint16_t>(page, 10) & kMetaFlag) == 0) return false;
  if (at<std::uint32_t>(page, 16) != kMetaMagic) return false;
  if (at<std::uint32_t>(page, 20) != kMetaVersion) return false;
  meta.page_bytes = at<std::uint32_t>(page, 40);
  if (meta.page_bytes < 512 || meta.page_bytes > 65536) return false;
  if ((meta.page_bytes & (meta.page_bytes - 1)) != 0) return false;
  meta.free = tree_at(page, 40);
  meta.rows = tree_at(page, 88);
  meta.last_page = at<std::uint64_t>(page, 136);
  meta.txn_id = at<std::uint64_t>(page, 144);
  // No disk and no store reaches 2^48 pages or transactions, but a flipped bit does.
  if (meta.last_page < 1 || meta.last_page >> 48 != 0 || meta.txn_id >> 48 != 0) return false;
  return plausible(meta.free, meta.last_page, meta.page_bytes) &&
         plausible(meta.rows, meta.last_page, meta.page_bytes) && meta.rows.flags == 0;
}

Result<std::string> read_at(int fd, const std::string& path, std::uint64_t offset,
                            std::size_t bytes) {
  std::string buffer(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pread(fd, buffer.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno_error(errno, path));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  buffer.resize(done);
  return buffer;
}

}  // namespace

std::unexpected<Error> corrupt(const std::string& path, const std::string& what) {
  return fail(Code::kStoreCorrupt, path + ": " + what, kHint);
}

std::uint64_t mtime_ns(const struct stat& st) {
  return static_cast<std::uint64_t>(st.st_mtim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(st.st_mtim.tv_nsec);
}

const Meta* MetaPages::newest() const {
  if (good[0] && good[1]) return &meta[meta[1].txn_id > meta[0].txn_id ? 1 : 0];
  if (good[0]) return &meta[0];
  return good[1] ? &meta[1] : nullptr;
}

Result<MetaPages> read_metas(int fd, const std::string& path) {
  MetaPages pages;
  auto first = read_at(fd, path, 0, kMetaBytes);
  if (!first) return fail(std::move(first.error()));
  pages.good[0] = first->size() == kMetaBytes && parse_meta(first->data(), 0, pages.meta[0]);
  const auto own = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t offset = pages.good[0] ? pages.meta[0].page_bytes : own;
  auto second = read_at(fd, path, offset, kMetaBytes);
  if (!second) return fail(std::move(second.error()));
  pages.good[1] = second->size() == kMetaBytes && parse_meta(second->data(), 1, pages.meta[1]) &&
                  pages.meta[1].page_bytes == offset;
  return pages;
}

Result<DataFacts> read_facts(int fd, const std::string& path) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail(errno_error(errno, path));
  DataFacts facts;
  facts.file_bytes = static_cast<std::uint64_t>(st.st_size);
  facts.inode = st.st_ino;
  facts.mtime_ns = mtime_ns(st);
  if (facts.file_bytes == 0)
    return corrupt(path, "what is held is no longer known: the data file is empty");
  auto pages = read_metas(fd, path);
  if (!pages) return fail(std::move(pages.error()));
  if (!pages->good[0] && !pages->good[1]) {
    return corrupt(path, "not a lock store, or both of its meta pages are damaged");
  }
  if (!pages->good[0] || !pages->good[1]) {
    return corrupt(path, std::string("meta page ") + (pages->good[0] ? "1" : "0") + " is damaged");
  }
  facts.meta = *pages->newest();
  const std::uint64_t used = (facts.meta.last_page + 1) * facts.meta.page_bytes;
  if (facts.file_bytes < used) {
    return corrupt(path, "truncated: " + std::to_string(facts.file_bytes) + " bytes where " +
                             std::to_string(used) + " are in use");
  }
  return facts;
}

}  // namespace lockkeeper::kv::internal
