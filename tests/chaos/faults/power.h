// Histories of the shipped program on a disk whose power can be cut at any point: a history is
// recorded once, then any number of cuts are tried, each with what the disk may hold by then, in
// the same folder (the gate keeps its inode, as it would), under a new boot id.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "chaos/faults/fault_stage.h"
#include "chaos/faults/trace.h"

namespace lockkeeper::faults {

// What an actor holds: its leases by their one resource.
using Holdings = std::set<std::string>;

// One thing that an actor did, as the trace has it.
struct Deed {
  std::size_t begun = 0;  // positions in the trace
  std::size_t ended = 0;
  Holdings after;
  std::uint64_t fence = 0;  // the highest known to anybody by then
  std::uint64_t epoch = 0;
};

class PowerStage {
 public:
  explicit PowerStage(const std::string& durability);

  // --- recording: several actors may act at once, each in a thread of its own
  void take(const std::string& actor, const std::string& resource);
  void free(const std::string& actor, const std::string& resource);
  void renew(const std::string& actor, const std::string& resource);
  // An attached lease that comes and goes; leaves nothing.
  void run(const std::string& actor, const std::string& resource);
  // The next one finds another boot. REQUIRES: nobody acts.
  void reboot();
  // The end of the recording.
  void finish();

  // --- cutting
  std::size_t length() const { return records_.size(); }
  // Cuts the power at `at`, lets the machine boot and judges: I3, I5, I10.
  void cut(std::size_t at, Random& random);

  FaultStage& stage() { return stage_; }

 private:
  Answer act(const std::string& actor, const Words& words, const Holdings& after);
  Holdings held_by(const std::string& actor);
  void capture(const std::string& name);
  void lay_down(Disk::Image image, std::size_t at, Random& random);
  void overlay(Content& content, const std::string& name, std::size_t at, Random& random) const;
  void judge(std::size_t at, Random& random);
  void judge_holdings(std::size_t at, const Json& leases) const;
  void new_boot(std::uint64_t number);
  std::uint64_t epoch_id() const;

  InMemory in_memory_;
  FaultStage stage_;
  const bool full_;
  const std::string trace_;
  std::mutex mutex_;
  std::map<std::string, Holdings> holdings_;
  std::map<std::string, std::vector<Deed>> deeds_;  // by actor, in order
  std::uint64_t top_fence_ = 0;
  std::uint64_t boots_ = 0;
  // What is written through maps is in no trace: copies, with the position up to which they hold.
  struct Copy {
    std::string mark;
    std::size_t at = 0;
    std::string content;
  };
  std::map<std::string, std::vector<Copy>> copies_;
  std::vector<TraceRecord> records_;
  Disk disk_;  // as of applied_
  std::size_t applied_ = 0;
};

}  // namespace lockkeeper::faults
