// What can be asked to lock a path: ours, and what a user would pick instead.
//
// A Peer is a place with locks held in it, prepared by its maker; a Client is one user of it. No
// connection of the maker's is left open, so a process may be forked and connect for itself.
// Adding a peer: one file here with one maker, named in the questions that want it.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "bench/measure.h"
#include "bench/setup.h"

namespace lockkeeper::bench {

class Client {
 public:
  virtual ~Client() = default;

  // Acquires the path, which is free, and releases it: this peer's usual way. Aborts if it is not
  // granted: a benchmark of failures is worth nothing.
  virtual void pair(const std::string& path) = 0;

  // The same, in microseconds. For a client in another process, as that process sees it.
  virtual double timed_pair(const std::string& path) {
    return timed([&] { pair(path); });
  }
};

class Peer {
 public:
  Peer(std::string name, std::string durability, std::string lacks)
      : name_(std::move(name)), durability_(std::move(durability)), lacks_(std::move(lacks)) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& name() const { return name_; }
  const std::string& durability() const { return durability_; }
  const std::string& lacks() const { return lacks_; }  // what it does not do; empty: nothing

  virtual std::unique_ptr<Client> connect() = 0;

 private:
  const std::string name_;
  const std::string durability_;
  const std::string lacks_;
};

// A peer, or why it is skipped.
using Made = std::expected<std::unique_ptr<Peer>, std::string>;

}  // namespace lockkeeper::bench
