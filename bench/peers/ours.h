// A realm of ours in a fresh folder, opened exactly as the program opens it, so that the program
// can be run on it, too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "bench/peers/peers.h"
#include "service/locks.h"

namespace lockkeeper::bench {

class Place {
 public:
  // Nothing is created or opened yet, but for the folder itself. `open`: of another store than the
  // program's, as a hub that shares it with others has it.
  using Open = std::function<std::unique_ptr<kv::Store>()>;
  Place(std::string folder, Kept kept, Open open = {});
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::string& folder() const { return folder_; }
  service::Site& site() { return *site_; }
  layout::LockTable& table() { return site_->table(); }

  // Takes these for agents named `prefix` and a number, each as a lease of its own, a thousand to a
  // commit. `checked`: by asking for them; else the rows are written as they are for a grant, where
  // asking for thousands that all look at each other would take minutes.
  enum class Fill { kChecked, kUnchecked };
  void hold(const std::string& prefix, int count, const std::function<std::string(int)>& text,
            Fill fill = Fill::kChecked);
  void hold_paths(int count);

 private:
  const std::string folder_;
  SystemClock clock_;
  SystemRandom random_;
  service::Runtime runtime_;
  std::unique_ptr<service::Site> site_;
};

// What the program must have in its environment to see the realms of this run alone.
std::string state_folder_for(const std::string& folder);

core::AcquireRequest ask_for(const std::vector<std::string>& texts, const std::string& agent);

// Acquire and release through the table.
void table_pair(layout::LockTable& table, const core::AcquireRequest& wanted);
// The same through the verbs.
void verbs_pair(service::Locks& locks, const std::string& path);

}  // namespace lockkeeper::bench
