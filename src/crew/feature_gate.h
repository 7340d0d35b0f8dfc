// Is the plan's feature paused? Asked before agents are started.
#pragma once

#include <string>

#include "service/locks.h"

namespace lockkeeper::crew {

class FeatureGate {
 public:
  // `feature` empty: never shut. `locks` must outlive it.
  FeatureGate(service::Locks& locks, std::string feature)
      : locks_(locks), feature_(std::move(feature)) {}

  struct State {
    bool shut = false;
    bool trouble = false;  // it cannot be read, and counts as shut
    std::string why;       // the same text until something changes
  };
  State read() const;

  // Empty: none.
  const std::string& feature() const { return feature_; }

 private:
  service::Locks& locks_;
  const std::string feature_;
};

}  // namespace lockkeeper::crew
