#include "crew/feature_gate.h"

#include "service/pause.h"

namespace lockkeeper::crew {

FeatureGate::Look FeatureGate::look() {
  if (feature_.empty()) return {};
  const auto gate = service::look_at_gate(locks_, feature_);
  if (!gate) {
    if (gate.error().code == Code::kInvalidResource) {
      feature_.clear();
      return {};
    }
    return {true, true, "the feature's gate cannot be looked at: " + gate.error().message};
  }
  if (gate->open()) return {};
  // No ages: they would be news at every look.
  std::string why = "feature " + feature_ + " is paused";
  for (const core::Conflict& other : gate->others) {
    why += (&other == &gate->others.front() ? " by " : ", ") + other.holder.owner.agent;
    if (!other.holder.terms.reason.empty()) why += " (" + other.holder.terms.reason + ")";
  }
  return {true, false, std::move(why)};
}

}  // namespace lockkeeper::crew
