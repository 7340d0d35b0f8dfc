// What tests compare with texts that were kept has nothing in it that differs from run to run.
#pragma once

#include <map>
#include <string>

namespace lockkeeper::golden {

// What differs from run to run, named: times, ids, fences, numbers of the log, how long ago, the
// folder's path. Equal things get equal names, in the order in which they appear; ids, fences
// and numbers keep their names over all texts that one Normaliser sees.
class Normaliser {
 public:
  // `home`: the folder that the test has made, by its physical path.
  explicit Normaliser(std::string home) : home_(std::move(home)) {}
  std::string operator()(std::string text);

 private:
  std::string name_all(const std::string& text, const char* pattern, const std::string& name);
  std::string name_short_ids(std::string text) const;

  std::string home_;
  std::map<std::string, std::string> known_;
  std::map<std::string, int> counts_;
};

}  // namespace lockkeeper::golden
