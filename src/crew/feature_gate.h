// The gate of the plan's feature, as the foreman looks at it before it starts somebody.
#pragma once

#include <string>

#include "service/locks.h"

namespace lockkeeper::crew {

class FeatureGate {
 public:
  // `feature` empty: there is none, and nothing is ever shut. `locks` must outlive it.
  FeatureGate(service::Locks& locks, std::string feature)
      : locks_(locks), feature_(std::move(feature)) {}

  struct Look {
    bool shut = false;
    bool trouble = false;  // it cannot be looked at; what is not known to be open is shut
    std::string why;       // the same words as long as nothing changes
  };
  Look look();

  // Whose pause the agents are to heed; empty: none. A feature that no key can be made of cannot be
  // paused.
  const std::string& feature() const { return feature_; }

 private:
  service::Locks& locks_;
  std::string feature_;
};

}  // namespace lockkeeper::crew
