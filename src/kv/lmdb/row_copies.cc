#include "kv/lmdb/row_copies.h"

#include <algorithm>

namespace lockkeeper::kv::internal {
namespace {

constexpr std::size_t kBlockBytes = 4096;

}  // namespace

char* RowCopies::room(std::size_t bytes) {
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) ++block_, used_ = 0;
  if (block_ == blocks_.size()) {
    const std::size_t size = std::max(bytes, kBlockBytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
  }
  used_ += bytes;
  return blocks_[block_].bytes.get() + used_ - bytes;
}

void RowCopies::clear() {
#ifdef __SANITIZE_ADDRESS__
  blocks_.clear();  // whoever still uses a view is found out
#endif
  block_ = used_ = 0;
}

}  // namespace lockkeeper::kv::internal
