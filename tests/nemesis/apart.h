// Namespaces for a whole network on one computer: a bridge, and machines with a cable to it.
//
// The test program goes on in namespaces of its own (network, processes, mounts), without root
// where the kernel allows that. They have no names and all that is in them ends with them, also
// after a kill: nothing can be left for the next run to meet.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace lockkeeper::nemesis {

using Words = std::vector<std::string>;

// Call first in main(). Starts the program again in namespaces of its own, with all temporary files
// in memory, and ends with its exit status. Returns there, and also where that is impossible.
void go_apart(char** argv);
// Why it was impossible, for GTEST_SKIP; empty: it was not.
std::string why_not();
// The folder for temporary files as it was before: what is written there stays.
std::string lasting_folder();

struct Ran {
  int status = -1;
  std::string out;  // both streams
};
// Runs a program to its end, with this text on stdin.
Ran run(const Words& words, const std::string& input = "");
// As run(); fails the test if it fails.
std::string must(const Words& words, const std::string& input = "");

// A machine: a network namespace with an address on the bridge.
struct Machine {
  std::string name;
  std::string address;
  Fd net;
};

// This thread is on that machine meanwhile, and so is all that it starts.
class Stay {
 public:
  explicit Stay(const Machine& machine);
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  Fd home_;
};

// The bridge. This process stands at it: it reaches every machine, whatever is cut.
class Network {
 public:
  Network();
  Machine add(const std::string& name);
  // Rules of nftables for what passes the bridge, one a line, in place of those before.
  void set_rules(const std::string& rules) const;
  void heal() const { set_rules(""); }

 private:
  int machines_ = 0;
};

// The same for one machine: for what it receives, and for the connections that it opens.
void set_rules_of(const Machine& machine, const std::string& input, const std::string& output);

}  // namespace lockkeeper::nemesis
