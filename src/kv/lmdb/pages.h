// LMDB's data file seen from outside, read with pread. Before the file is mapped we must know that
// it is whole: LMDB takes an empty file for a new store and runs off the end of a short one. The
// format is that of LMDB 0.9, version 1, unchanged since 2013.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/error.h"

namespace lockkeeper::kv::internal {

// One of LMDB's two trees.
struct TreeMeta {
  std::uint16_t flags = 0;
  std::uint16_t depth = 0;
  std::uint64_t branch_pages = 0;
  std::uint64_t leaf_pages = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t entries = 0;
  std::uint64_t root = 0;
  bool empty() const { return root == UINT64_MAX; }
};

struct Meta {
  std::uint64_t page_bytes = 0;
  std::uint64_t txn_id = 0;
  std::uint64_t last_page = 0;
  TreeMeta free;
  TreeMeta rows;
};

struct DataFacts {
  std::uint64_t file_bytes = 0;
  std::uint64_t inode = 0;
  std::uint64_t mtime_ns = 0;
  Meta meta;  // the newer of the two
};

// store_corrupt: empty, too short, not ours, one of the metas damaged, or shorter than the pages in
// use. Success says nothing about the pages behind the metas.
Result<DataFacts> read_facts(int fd, const std::string& path);

// Both meta pages, damaged or not, for repair.
struct MetaPages {
  bool good[2] = {false, false};
  Meta meta[2];
  const Meta* newest() const;
};
Result<MetaPages> read_metas(int fd, const std::string& path);

// store_corrupt, naming the file and what to do.
std::unexpected<Error> corrupt(const std::string& path, const std::string& what);

std::uint64_t mtime_ns(const struct stat& st);

}  // namespace lockkeeper::kv::internal
