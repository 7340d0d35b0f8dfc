#include "service/layout.h"

#include "base/bytes.h"
#include "base/text.h"

namespace lockkeeper::service {

std::string LayoutEntry::id() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = kind + "-";
  std::uint64_t hash = hash64(kind, root);
  for (int i = 0; i < 8; ++i, hash >>= 4) id += kDigits[hash & 15];
  return id;
}

std::string source_of(const std::string& artefact) {
  return artefact.substr(0, artefact.find('#'));
}

}  // namespace lockkeeper::service
