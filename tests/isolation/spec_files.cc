#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isolation/spec.h"

namespace lockkeeper::isolation {

std::vector<std::string> spec_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKKEEPER_ISOLATION_SPECS)) {
    if (entry.path().extension() == ".spec") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<Spec> read_spec(const std::string& name) {
  std::ifstream file(std::string(LOCKKEEPER_ISOLATION_SPECS) + "/" + name + ".spec");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_spec(text.str());
}

}  // namespace lockkeeper::isolation
