// Reads a data file page by page with pread and trusts nothing in it. No bit pattern makes this run
// off the end, loop, crash, or use more than a few times the file's size (F16). For verification
// and for salvage.
//
// The file must not be written meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/lmdb/pages.h"
#include "kv/lmdb/record.h"

namespace lockkeeper::kv::internal {

struct Verified {
  std::uint64_t rows = 0;
  std::uint64_t digest = 0;
  Ledger ledger;
};

// Checks both trees: every page in its place, keys in order, each page used once, counts as in the
// meta, every row's checksum good, number and digest as in the ledger. store_corrupt names the
// first thing that is wrong.
Result<Verified> verify_file(int fd, const std::string& path, const DataFacts& facts);

// Calls `keep` for each row with a good checksum. First come the rows in leaf pages that the tree
// does not reach and the free list does not name: a part of the tree was cut off, and a key may
// come more than once. Then come the rows that the tree reaches, with `live` set. If neither meta
// page is good there is no tree, and every leaf page counts as cut off, including old copies.
struct Salvaged {
  std::string_view key;
  Record record;
  bool live = false;
};
struct SalvageCount {
  std::uint64_t live_rows = 0;         // kept, reached by the tree
  std::uint64_t damaged_rows = 0;      // in reachable pages
  std::uint64_t unreadable_pages = 0;  // reachable, but not what they should be
};
using Keep = std::function<Result<void>(const Salvaged&)>;
Result<SalvageCount> salvage(int fd, const std::string& path, const Keep& keep);

}  // namespace lockkeeper::kv::internal
