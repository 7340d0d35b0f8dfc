// A directory lock's file of any text, and whether its holder is still there.
#include "dialect/dirlock/staleness.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

namespace dirlock = dialect::dirlock;

void check_judgement(const dirlock::LockRecord& record) {
  dirlock::Here here;
  here.hostname = "box";
  here.now_ms = 1'770'000'000'000;
  here.boot_ms = here.now_ms - 3'600'000;
  const auto judged = [&](std::int64_t timeout_ms) {
    return dirlock::judge(record, here.now_ms - 1'000, here, timeout_ms).verdict;
  };
  require(judged(0) == dirlock::Verdict::kForced || judged(0) == dirlock::Verdict::kGone ||
              judged(0) == dirlock::Verdict::kReused,
          "0 does not clear it");
  if (record.hostname != here.hostname) {
    constexpr std::int64_t kVeryLongMs = INT64_MAX / 4;
    require(judged(kVeryLongMs) == dirlock::Verdict::kHeld, "a process of another host is judged");
  }
}

}  // namespace

void run(Input input) {
  const auto first = dirlock::parse_record(input.rest());
  if (!first) {
    require(first.error().code == Code::kInvalidInput, "refused with another code");
    return require_readable(first.error());
  }
  const std::string written = dirlock::record_text(*first);
  const auto second = dirlock::parse_record(written);
  require(second.has_value(), "what was written is refused: " + written);
  require(dirlock::record_text(*second) == written, "what was written is read as something else");
  require(second->identity() == first->identity(), "no longer the same lock");
  check_judgement(*first);
}

}  // namespace lockkeeper::fuzz
