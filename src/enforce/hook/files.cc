#include "enforce/hook/files.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::uint64_t kContentBytesMax = 16U << 20;

}  // namespace

core::FileMark trace_mark(const snapshot::Mark& mark) {
  return {mark.size, mark.modified_ns, mark.changed_ns, mark.inode};
}

std::string Files::content(const std::string& path) const {
  return tree_.hash(path, kContentBytesMax);
}

}  // namespace lockkeeper::enforce::hook
