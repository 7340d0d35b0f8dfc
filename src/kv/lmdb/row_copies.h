// Copies of rows, with stable addresses. Callers get these, never views of the map: whoever
// overwrites the file must not change a row behind its checksum, or take it away.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace lockkeeper::kv::internal {

class RowCopies {
 public:
  char* room(std::size_t bytes);
  void clear();  // keeps the memory

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  // in use
  std::size_t used_ = 0;   // of that one
};

}  // namespace lockkeeper::kv::internal
