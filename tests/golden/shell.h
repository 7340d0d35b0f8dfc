// Runs the shipped program as a user would: through a shell, in a fresh git repository, with an
// environment that has nothing of the machine's.
#pragma once

#include <map>
#include <string>

#include "realm/test_repository.h"

namespace lockkeeper::golden {

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

class Shell {
 public:
  // A repository "repo" with src/a.py, src/b.py, docs/ in it; the shell stands in its root.
  Shell();

  Ran run(const std::string& command) const;

  const std::string& root() const { return root_; }  // of the repository, physical
  const realm::TestRepository& files() const { return repository_; }
  void set(const std::string& name, const std::string& value) { variables_[name] = value; }

 private:
  realm::TestRepository repository_;
  std::string root_;
  std::map<std::string, std::string> variables_;
};

}  // namespace lockkeeper::golden
