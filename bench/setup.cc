#include "bench/setup.h"

#include <fmt/format.h>

#include <filesystem>

namespace lockkeeper::bench {

std::string Setup::fresh(const std::string& name) const {
  const std::string path = folder + "/" + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

std::string path_at(int worker, int i) {
  return fmt::format("src/pkg{:03}/mod{:03}/file{:06}.cpp", worker % 1000, i / 100 % 50, i % 5000);
}

std::string held_path(int i) {
  return fmt::format("src/pkg{:03}/mod{:03}/file{:06}.cpp", i % 997, i / 100 % 1000, i + 100'000);
}

std::string grouped(long long number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace lockkeeper::bench
