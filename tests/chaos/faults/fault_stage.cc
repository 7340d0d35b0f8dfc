#include "chaos/faults/fault_stage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace lockkeeper::faults {
namespace {

constexpr Code kCodes[] = {
    Code::kFailed,       Code::kUsage,         Code::kInvalidResource,
    Code::kInvalidInput, Code::kNotFound,      Code::kStoreBusy,
    Code::kNoSpace,      Code::kStoreCorrupt,  Code::kStoreUnavailable,
    Code::kUnknown,      Code::kLimitExceeded, Code::kHeld,
    Code::kDeadlock,     Code::kNotOwner,      Code::kOperationNotPermitted,
    Code::kLost,         Code::kInvalidConfig, Code::kTimeout,
};

std::optional<Code> code_of_name(const std::string& name) {
  for (const Code code : kCodes) {
    if (code_name(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace

std::string no_preload() {
  const std::string sanitizer = LOCKKEEPER_SANITIZED;
  if (sanitizer.empty()) return "";
  return "nothing can be loaded in front of the sanitizer (" + sanitizer + ")";
}

std::uint64_t trials(std::uint64_t otherwise) {
  const char* const text = std::getenv("LOCKKEEPER_FAULTS_TRIALS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t seed() {
  const char* const text = std::getenv("LOCKKEEPER_FAULTS_SEED");
  return text == nullptr ? SystemRandom().next() >> 32 : std::strtoull(text, nullptr, 10);
}

InMemory::InMemory() {
  if (::access("/dev/shm", W_OK | X_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
}

InMemory::~InMemory() {
  ::unsetenv("TMPDIR");
}

void FaultStage::set_durability(const std::string& durability) const {
  file("lockkeeper.toml", "[store]\ndurability = \"" + durability + "\"\n");
}

void FaultStage::have(const Faults& faults) {
  env["LD_PRELOAD"] = LOCKKEEPER_PRELOAD;
  for (const auto& [name, value] : faults) {
    if (value.empty()) {
      env.erase("FAULTS_" + name);
    } else {
      env["FAULTS_" + name] = value;
    }
  }
}

Launch FaultStage::faulty(const Faults& faults, const std::string& agent, const Words& words) {
  Launch made = launch(agent, words);
  made.argv.front() = preloadable();
  made.env["LD_PRELOAD"] = LOCKKEEPER_PRELOAD;
  for (const auto& [name, value] : faults) made.env["FAULTS_" + name] = value;
  return made;
}

Answer FaultStage::with(const Faults& faults, const std::string& agent, Words words) {
  words.insert(words.begin() + 1, "--json");
  return finish(faulty(faults, agent, words));
}

std::string FaultStage::epoch_copy() const {
  for (const auto& entry : std::filesystem::directory_iterator(path("state/lockkeeper/epochs"))) {
    return entry.path().string();
  }
  ADD_FAILURE() << "the epoch file has no copy";
  return "";
}

std::string code_of(const Answer& answer) {
  const Json json = Json::parse(answer.out, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return "";
  return json["error"].value("code", "");
}

void expect_named(const Answer& answer) {
  const std::string code = code_of(answer);
  const auto known = code_of_name(code);
  EXPECT_TRUE(known) << "status " << answer.status << ", code '" << code << "'\n" << answer.all();
  if (known) {
    EXPECT_EQ(answer.status, exit_status(*known)) << answer.all();
  }
}

}  // namespace lockkeeper::faults
