// The lock table, played by the fuzzer: its bytes are the simulator's dice (tests/sim). After every
// commit the model's judge looks at the events, the answer and the rows, and the audit at how they
// hang together.
#include "base/random.h"
#include "fuzz.h"
#include "sim/episode.h"

namespace lockkeeper::fuzz {
namespace {

// Two bytes of the input for each throw; when it is used up, a fixed sequence.
class Dice final : public Random {
 public:
  explicit Dice(Input input) : input_(input) {}
  std::uint64_t next() override {
    if (input_.empty()) return rest_.next();
    // Near the top, where random_below() never throws again.
    return ~std::uint64_t{0xffff} | input_.two_bytes();
  }

 private:
  Input input_;
  SeededRandom rest_{1};
};

constexpr int kStepsMin = 10;

}  // namespace

void run(Input input) {
  static const sim::World kWorld;
  static sim::Probes probes;
  sim::EpisodeOptions options;
  options.seed = input.byte();  // the store's flavour and the limits
  options.steps = kStepsMin + input.byte() % 64;
  Dice dice(input);
  options.random = &dice;
  sim::Episode episode(kWorld, probes, options);
  try {
    episode.run();
  } catch (const sim::Violation& violation) {
    require(false, violation.what());
  }
}

}  // namespace lockkeeper::fuzz
