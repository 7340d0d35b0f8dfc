// Copies what a command prints from a pipe into a file, up to a limit. Counts everything. Never
// holds up the command, even if the disk is full or the file is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "crew/record/run_files.h"

namespace lockkeeper::crew {

// At most so many of the last lines that the attempt's command printed, each as a terminal shows it
// after '\r'. Reads a few thousand bytes. Empty: there is nothing, or it cannot be read.
std::vector<std::string> log_tail(const Folder& attempt, std::size_t lines);

class LogPump {
 public:
  static Result<LogPump> open(const Folder& folder, std::uint64_t bytes_max);

  int reader() const { return reader_.get(); }  // when readable: pump()
  int writer() const { return writer_.get(); }  // for the command
  void close_writer() { writer_.reset(); }

  // Reads what is there, up to a bound; false: nobody can print any more.
  bool pump();
  // Reads the rest, after the command has ended.
  void drain();

  std::uint64_t bytes() const { return bytes_; }
  bool cut() const { return bytes_ > written_; }

 private:
  LogPump(Fd reader, Fd writer, Fd file, std::uint64_t bytes_max)
      : reader_(std::move(reader)),
        writer_(std::move(writer)),
        file_(std::move(file)),
        bytes_max_(bytes_max) {}
  ssize_t take();
  void keep(const char* data, std::size_t size);

  Fd reader_;
  Fd writer_;
  Fd file_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_ = 0;
  bool full_ = false;
};

}  // namespace lockkeeper::crew
