#include "realm/user.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace lockkeeper::realm {

std::optional<User> find_user(uid_t uid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                             &std::fclose);
  if (!file) return std::nullopt;
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::vector<char> buffer(16384);
  while (::fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (found->pw_uid == uid) return User{found->pw_name, found->pw_dir};
  }
  return std::nullopt;
}

std::optional<std::string> home_folder(const Environment& env) {
  if (auto home = variable(env, "HOME"); home && home->front() == '/') return home;
  const uid_t uid = ::geteuid();
  const std::optional<User> user = find_user(uid);
  struct stat status{};
  const bool own = user && user->home.size() > 1 && user->home.front() == '/' &&
                   ::stat(user->home.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                   status.st_uid == uid;
  return own ? std::optional(user->home) : std::nullopt;
}

}  // namespace lockkeeper::realm
