#include "realm/environment.h"

#include <cstdlib>

namespace lockkeeper::realm {

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

std::optional<std::string> variable(const Environment& env, const char* name) {
  auto value = env(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::optional<std::string> xdg_folder(const Environment& env, const char* variable_name,
                                      const char* below_home) {
  if (auto named = variable(env, variable_name); named && named->front() == '/') return named;
  const auto home = variable(env, "HOME");
  if (!home || home->front() != '/') return std::nullopt;
  return *home + "/" + below_home;
}

}  // namespace lockkeeper::realm
