// What a person at a terminal sees while the benchmark runs: one line that changes.
#pragma once

#include <string>

namespace lockkeeper::bench {

class Progress {
 public:
  // Says nothing unless stderr is a terminal.
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(int number, int of, const std::string& question);
  void say(const std::string& doing);
  void clear();

 private:
  bool shown_;
  std::string head_;
};

}  // namespace lockkeeper::bench
