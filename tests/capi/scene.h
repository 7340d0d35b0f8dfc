// The C API as C++ tests use it: an answer that is read and freed, and realms that are closed.
#pragma once

#include <lockkeeper.h>

#include <string>
#include <vector>

#include "embed/scene.h"

namespace lockkeeper::stage {

struct Said {
  lockkeeper_status status = LOCKKEEPER_OK;
  std::string message;
  Json json;
};

// What a call says: `call` gets the place of its answer.
template <class Call>
Said said(const Call& call) {
  lockkeeper_answer* answer = nullptr;
  Said result;
  result.status = call(&answer);
  EXPECT_NE(answer, nullptr);
  EXPECT_EQ(lockkeeper_answer_status(answer), result.status);
  result.message = lockkeeper_answer_message(answer);
  result.json = Json::parse(lockkeeper_answer_json(answer));
  EXPECT_EQ(result.json.contains("error"), result.status != LOCKKEEPER_OK);
  if (result.status != LOCKKEEPER_OK) {
    EXPECT_EQ(result.json["error"]["code"], lockkeeper_status_name(result.status));
    EXPECT_EQ(result.json["error"]["message"], result.message);
    EXPECT_EQ(result.json["error"]["hint"], lockkeeper_answer_hint(answer));
  }
  EXPECT_EQ(lockkeeper_answer_free(answer), LOCKKEEPER_OK);
  return result;
}

class CTest : public EmbedTest {
 protected:
  // Closed at the end, if it still is open.
  lockkeeper_realm* open(const std::string& agent = "c") {
    lockkeeper_open_options options = LOCKKEEPER_OPEN_OPTIONS_INIT;
    const std::string repo = stage_.repo();
    options.path = repo.c_str();
    options.agent = agent.c_str();
    lockkeeper_realm* realm = nullptr;
    const Said opened =
        said([&](auto* answer) { return lockkeeper_open(&options, &realm, answer); });
    EXPECT_EQ(opened.status, LOCKKEEPER_OK) << opened.message;
    realms_.push_back(realm);
    return realm;
  }

  // The lease, if it is granted, in `lease_`.
  Said acquire(const lockkeeper_realm* realm, const std::vector<const char*>& resources,
               lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT) {
    return said([&](auto* answer) {
      return lockkeeper_acquire(realm, resources.data(), resources.size(), &options, &lease_,
                                answer);
    });
  }

  lockkeeper_lease* granted(const lockkeeper_realm* realm,
                            const std::vector<const char*>& resources,
                            lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT) {
    const Said answer = acquire(realm, resources, options);
    EXPECT_EQ(answer.status, LOCKKEEPER_OK) << answer.message;
    return lease_;
  }

  void TearDown() override {
    for (lockkeeper_realm* const realm : realms_) lockkeeper_close(realm);
  }

  lockkeeper_lease* lease_ = nullptr;

 private:
  std::vector<lockkeeper_realm*> realms_;
};

}  // namespace lockkeeper::stage
