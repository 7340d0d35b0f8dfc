#include "crew/record/run_files.h"

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/text.h"

namespace lockkeeper::crew {

std::string file_name_for(std::string_view id) {
  constexpr std::size_t kNameBytes = 100;
  std::string name;
  for (const char c : id) {
    const bool harmless = is_name_character(c) && !(name.empty() && c == '.');
    name += harmless ? std::string(1, c) : "%" + to_hex(std::string_view(&c, 1));
  }
  if (name.empty()) return "%";
  if (name.size() <= kNameBytes) return name;
  // "%%" does not occur in a short name.
  return name.substr(0, kNameBytes - 18) + "%%" + sha256_hex(id).substr(0, 16);
}

Result<std::optional<Folder>> attempt_folder(const Folder& agents, std::string_view agent,
                                             std::size_t number) {
  LK_ASSIGN(const auto folder, agents.existing(file_name_for(agent)));
  if (!folder) return std::nullopt;
  return folder->existing(std::to_string(number));
}

}  // namespace lockkeeper::crew
