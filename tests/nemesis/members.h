// Three members of a real etcd, each on a machine of its own, with its data on a disk of its own
// that can become full.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nemesis/apart.h"
#include "support/process.h"

namespace lockkeeper::nemesis {

// How etcdutl restores a snapshot: with a revision that nobody has seen yet, as the manual of the
// hub says, or without, so that the hub must refuse what it gets.
enum class Restore { kBumped, kPlain };

class Members {
 public:
  Members(Network& network, std::size_t quota_mb);
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  static constexpr std::size_t kCount = 3;
  const Machine& machine(std::size_t i) const { return all_[i].machine; }
  // Of all members, for a hub.
  std::string url(const std::string& prefix) const;
  // A second door of a member, which no rule redirects: for a proxy in the way of the first.
  std::string back_door(std::size_t i) const { return all_[i].machine.address + ":2389"; }

  void kill(std::size_t i);
  void start(std::size_t i);  // nothing if it runs
  void stop(std::size_t i);
  void go_on(std::size_t i);
  bool runs(std::size_t i);
  // nullopt: nobody who can be reached from here knows.
  std::optional<std::size_t> leader() const;
  // Starts whoever has ended, and waits until all three serve and agree on their leader.
  void wait_until_sound();
  bool sound() const;

  // Runs etcdctl at that member; fails the test if `must_work` and it fails.
  std::string ctl(const Words& words, bool must_work = true, std::size_t member = 0) const;
  void move_leader() const;
  void compact() const;
  void defragment(std::size_t i) const;
  // Takes the member out, forgets its data, and takes it in again as a new one.
  void replace(std::size_t i);
  void fill_disk(std::size_t i) const;
  void free_disk(std::size_t i) const;
  // Writes until etcd says NOSPACE; takes it all away again and clears the alarm.
  void use_up_quota() const;
  void give_back_quota() const;
  void save(const std::string& file) const;
  void restore(const std::string& file, Restore how);

 private:
  struct Member {
    Machine machine;
    std::string name;
    std::string disk;   // where its file system is mounted
    bool fresh = true;  // it comes into being with the cluster, and not later
    std::unique_ptr<stage::Process> process;
  };
  std::string peers() const;
  std::string clients(std::size_t from) const;
  void forget(Member& member) const;

  const std::string quota_;
  std::vector<Member> all_;
  std::string folder_;
};

}  // namespace lockkeeper::nemesis
