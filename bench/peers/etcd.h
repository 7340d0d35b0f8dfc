// etcd's client, for the one question that wants to know what its gateway costs.
#pragma once

#include "bench/peers/peer.h"

namespace lockkeeper::bench {

class EtcdLike : public Client {
 public:
  // As many calls as a pair has, without a commit.
  virtual void read_twice(const std::string& path) = 0;
};

}  // namespace lockkeeper::bench
