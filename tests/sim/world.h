// The small world that the simulator's actors fight over: a few resources that overlap often, with
// the answers of key::overlap and key::subsumes kept in a matrix; and the processes, which live or
// are dead, and as which others see them.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/types.h"

namespace lockkeeper::sim {

// A promise was broken. Thrown through everything: the run is over.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class World {
 public:
  World();
  // A world of just these, as key::parse reads them.
  explicit World(const std::vector<std::string>& texts);
  int size() const { return static_cast<int>(resources_.size()); }
  const key::Resource& resource(int index) const { return resources_[at(index)]; }
  int index_of(const key::Resource& resource) const { return index_of(resource.text()); }
  int index_of(const std::string& text) const;
  bool overlap(int a, int b) const { return overlap_[at(a) * resources_.size() + at(b)]; }
  bool covers(int outer, int inner) const {
    return covers_[at(outer) * resources_.size() + at(inner)];
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::vector<key::Resource> resources_;
  std::map<std::string, int> by_text_;
  std::vector<bool> overlap_;
  std::vector<bool> covers_;
};

// Every process that ever was, by a number that is not used again.
class Processes {
 public:
  std::uint64_t start() {
    alive_.push_back(true);
    return alive_.size();
  }
  void kill(std::uint64_t process) {
    if (alive_[process - 1]) ++deaths_;
    alive_[process - 1] = false;
  }
  void kill_all() { alive_.assign(alive_.size(), false); }
  bool alive(std::uint64_t process) const { return alive_[process - 1]; }
  std::uint64_t deaths() const { return deaths_; }

  static core::Attachment by_slot(std::uint64_t process) { return {process, 0, 0, 0}; }
  static core::Attachment by_pid(std::uint64_t process, std::uint64_t pid_namespace) {
    return {0, pid_namespace, static_cast<std::int64_t>(process), 1};
  }
  // The truth, which not everybody sees.
  bool dead(const core::Attachment& attachment) const {
    if (!attachment.attached()) return false;
    return !alive(attachment.slot != 0 ? attachment.slot
                                       : static_cast<std::uint64_t>(attachment.pid));
  }

 private:
  std::vector<bool> alive_;
  std::uint64_t deaths_ = 0;
};

// What a process in that pid namespace sees: slots exactly, pids only of its own namespace. In
// namespace 0, which nobody is in, everything is seen.
class View final : public core::Prober {
 public:
  View(const Processes& processes, std::uint64_t pid_namespace)
      : processes_(processes), pid_namespace_(pid_namespace) {}
  core::Alive probe(const core::Attachment& attachment) const override {
    const bool own = attachment.pid_namespace == pid_namespace_ || pid_namespace_ == 0;
    if (!attachment.attached() || (attachment.slot == 0 && !own)) return core::Alive::kUnknown;
    return processes_.dead(attachment) ? core::Alive::kDead : core::Alive::kAlive;
  }

 private:
  const Processes& processes_;
  const std::uint64_t pid_namespace_;
};

}  // namespace lockkeeper::sim
