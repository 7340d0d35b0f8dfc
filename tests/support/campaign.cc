#include "support/campaign.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/bytes.h"

namespace lockkeeper::stage {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

Campaign::Campaign()
    : seed_(static_cast<unsigned>(number_from("LOCKKEEPER_CHAOS_SEED", std::random_device{}()))) {}

unsigned Campaign::seed_of(std::uint64_t part) const {
  return static_cast<unsigned>(hash64(std::to_string(seed_), std::to_string(part)));
}

std::string Campaign::repeat(const std::string& more) const {
  const std::string seed = std::to_string(seed_);
  std::string text = "seed " + seed + "\nto repeat: LOCKKEEPER_CHAOS_SEED=" + seed + " " + more;
  if (!more.empty()) text += " ";
  std::error_code ignored;
  text += std::filesystem::read_symlink("/proc/self/exe", ignored).filename().string();
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr) {
    text += " --gtest_filter=" + std::string(test->test_suite_name()) + "." + test->name();
  }
  return text + "\n";
}

}  // namespace lockkeeper::stage
