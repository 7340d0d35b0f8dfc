#include "crew/feature_gate.h"

#include "base/quote.h"
#include "service/pause.h"

namespace lockkeeper::crew {

FeatureGate::State FeatureGate::read() const {
  if (feature_.empty()) return {};
  const auto gate = service::look_at_gate(locks_, feature_);
  if (!gate) {
    return {true, true, "cannot read whether the feature is paused: " + gate.error().message};
  }
  if (gate->open()) return {};
  // Without ages, which would change the text each time.
  std::string why = "feature " + shown(feature_) + " is paused";
  for (const core::Conflict& other : gate->others) {
    why += (&other == &gate->others.front() ? " by " : ", ") + shown(other.holder.owner.agent);
    if (!other.holder.terms.reason.empty()) why += " (" + quote(other.holder.terms.reason) + ")";
  }
  return {true, false, std::move(why)};
}

}  // namespace lockkeeper::crew
