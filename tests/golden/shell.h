// Runs the shipped program as a user would: through a shell, in a fresh git repository, with an
// environment that has nothing of the machine's.
#pragma once

#include <map>
#include <string>

#include "service/test_repository.h"

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
  const service::TestRepository& files() const { return repository_; }
  void set(const std::string& name, const std::string& value) { variables_[name] = value; }

 private:
  service::TestRepository repository_;
  std::string root_;
  std::map<std::string, std::string> variables_;
};

// What differs from run to run, named: times, ids, fences, numbers of the log, how long ago, the
// repository's path. Equal things get equal names, in the order in which they appear; ids, fences
// and numbers keep their names over all texts that one Normaliser sees.
class Normaliser {
 public:
  explicit Normaliser(const Shell& shell) : home_(shell.files().path()) {}
  std::string operator()(std::string text);

 private:
  std::string name_all(const std::string& text, const char* pattern, const std::string& name);

  std::string home_;
  std::map<std::string, std::string> known_;
  std::map<std::string, int> counts_;
};

}  // namespace lockkeeper::golden
