// An isolation spec of any text.
#include "isolation/spec.h"

#include "fuzz.h"

namespace lockkeeper::fuzz {

void run(Input input) {
  const auto spec = isolation::parse_spec(input.rest());
  if (!spec) {
    require(spec.error().code == Code::kInvalidInput, "refused with another code");
    return;
  }
  for (const isolation::Step& step : spec->steps) require(!step.words.empty(), "an empty step");
}

}  // namespace lockkeeper::fuzz
