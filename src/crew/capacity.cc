#include "crew/capacity.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kPerRound = 64;
constexpr std::size_t kEachHas = 2;       // the attempt's folder and the channel
constexpr std::size_t kOthersHave = 256;  // the store, the journal, waiting agents

}  // namespace

std::size_t most_at_once(std::size_t jobs) {
  rlimit limit{};
  std::size_t most = SIZE_MAX;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto all = static_cast<std::size_t>(limit.rlim_cur);
    most = std::max<std::size_t>(1, (all - std::min(all, kOthersHave)) / kEachHas);
  }
  return jobs == 0 ? most : std::min(jobs, most);
}

void CheckBudget::begin() {
  const bool all_checked = left_ > 0;
  from_ = all_checked ? 0 : from_ + kPerRound;
  asked_ = 0;
  left_ = kPerRound;
}

bool CheckBudget::next() {
  if (++asked_ <= from_ || left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace lockkeeper::crew
