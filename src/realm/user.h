// What the system knows about a user, by number.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "realm/environment.h"

namespace lockkeeper::realm {

struct User {
  std::string name;
  std::string home;
};
// From /etc/passwd alone: other name services are shared libraries, which a static program cannot
// load. nullopt: there is no such user.
std::optional<User> find_user(uid_t uid);

// $HOME, or this user's home folder: a service manager may start programs without the variable.
// nullopt: neither is a folder of this user.
std::optional<std::string> home_folder(const Environment& env);

}  // namespace lockkeeper::realm
