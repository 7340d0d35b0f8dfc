// What C can pass that makes no sense: told by a status, never by a crash.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>
#include <set>

#include "capi/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class Input : public CTest {};

// A handle is a number; so any kind can stand for any other.
template <class Handle>
Handle* as(const void* handle) {
  return static_cast<Handle*>(const_cast<void*>(handle));
}

// Every function that takes a realm or a lease, with a handle that is neither.
void expect_usage(const void* handle) {
  const char* const name = "a";
  lockkeeper_lease* lease = nullptr;
  const auto* const realm = as<lockkeeper_realm>(handle);
  const auto* const held = as<lockkeeper_lease>(handle);
  const std::vector<Said> answers = {
      said([&](auto* answer) { return lockkeeper_whoami(realm, answer); }),
      said([&](auto* answer) {
        return lockkeeper_acquire(realm, &name, 1, nullptr, &lease, answer);
      }),
      said([&](auto* answer) { return lockkeeper_check(realm, &name, 1, nullptr, answer); }),
      said([&](auto* answer) { return lockkeeper_list(realm, nullptr, answer); }),
      said([&](auto* answer) { return lockkeeper_renew(realm, &name, 1, nullptr, answer); }),
      said([&](auto* answer) { return lockkeeper_break(realm, name, name, answer); }),
      said([&](auto* answer) { return lockkeeper_lease_lost(held, answer); }),
      said([&](auto* answer) { return lockkeeper_lease_check(held, answer); }),
      said([&](auto* answer) {
        return lockkeeper_lease_release(as<lockkeeper_lease>(handle), answer);
      }),
  };
  for (const Said& answer : answers) {
    EXPECT_EQ(answer.status, LOCKKEEPER_USAGE) << answer.message;
    EXPECT_THAT(answer.message, HasSubstr(handle == nullptr ? "NULL is not" : "this handle is"));
  }
  EXPECT_EQ(lockkeeper_close(as<lockkeeper_realm>(handle)), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_lease_close(as<lockkeeper_lease>(handle)), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_cancel_request(as<lockkeeper_cancel>(handle)), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_cancel_free(as<lockkeeper_cancel>(handle)), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_answer_free(as<lockkeeper_answer>(handle)), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_answer_status(as<lockkeeper_answer>(handle)), LOCKKEEPER_USAGE);
  EXPECT_STREQ(lockkeeper_answer_json(as<lockkeeper_answer>(handle)), "");
  EXPECT_STREQ(lockkeeper_answer_message(as<lockkeeper_answer>(handle)), "");
  EXPECT_STREQ(lockkeeper_answer_hint(as<lockkeeper_answer>(handle)), "");
  EXPECT_STREQ(lockkeeper_lease_id(held), "");
  EXPECT_EQ(lockkeeper_lease_fence(held), 0U);
}

TEST_F(Input, NullIsUsageEverywhere) {
  expect_usage(nullptr);
  lockkeeper_realm* const realm = open();
  EXPECT_EQ(lockkeeper_open(nullptr, nullptr, nullptr), LOCKKEEPER_USAGE);
  const char* const name = "a";
  EXPECT_EQ(lockkeeper_acquire(realm, &name, 1, nullptr, nullptr, nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_cancel_new(nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_break(realm, nullptr, "why", nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_break(realm, "0", nullptr, nullptr), LOCKKEEPER_USAGE);
}

TEST_F(Input, HandlesThatAreNotOnesAreUsage) {
  int mine = 0;
  expect_usage(&mine);
  expect_usage(as<void>(reinterpret_cast<void*>(~std::uintptr_t{0})));
  expect_usage(reinterpret_cast<void*>(std::uintptr_t{1}));
}

TEST_F(Input, ClosedHandlesAreUsage) {
  lockkeeper_realm* const realm = open();
  lockkeeper_lease* const lease = granted(realm, {"a"});
  ASSERT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
  ASSERT_EQ(lockkeeper_close(realm), LOCKKEEPER_OK);
  expect_usage(lease);
  expect_usage(realm);
  lockkeeper_cancel* cancel = nullptr;
  ASSERT_EQ(lockkeeper_cancel_new(&cancel), LOCKKEEPER_OK);
  ASSERT_EQ(lockkeeper_cancel_free(cancel), LOCKKEEPER_OK);
  expect_usage(cancel);
  // No handle is given twice.
  EXPECT_NE(open(), realm);
}

TEST_F(Input, AHandleOfAnotherKindIsUsage) {
  lockkeeper_realm* const realm = open();
  lockkeeper_lease* const lease = granted(realm, {"a"});
  const char* const name = "a";
  EXPECT_EQ(lockkeeper_list(as<lockkeeper_realm>(lease), nullptr, nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_lease_check(as<lockkeeper_lease>(realm), nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_answer_free(as<lockkeeper_answer>(realm)), LOCKKEEPER_USAGE);
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  options.cancel = as<lockkeeper_cancel>(lease);
  EXPECT_EQ(lockkeeper_acquire(realm, &name, 1, &options, &lease_, nullptr), LOCKKEEPER_USAGE);
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
}

TEST_F(Input, ListsOfTextsAreLookedAt) {
  lockkeeper_realm* const realm = open();
  EXPECT_EQ(acquire(realm, {}).status, LOCKKEEPER_USAGE);
  const Said hole = acquire(realm, {"a", nullptr});
  EXPECT_EQ(hole.status, LOCKKEEPER_USAGE);
  EXPECT_THAT(hole.message, HasSubstr("resources[1] is NULL"));
  EXPECT_EQ(lockkeeper_check(realm, nullptr, 2, nullptr, nullptr), LOCKKEEPER_USAGE);
  const char* const one = "a";
  EXPECT_EQ(lockkeeper_check(realm, &one, SIZE_MAX, nullptr, nullptr), LOCKKEEPER_LIMIT_EXCEEDED);
  EXPECT_EQ(acquire(realm, {""}).status, LOCKKEEPER_INVALID_RESOURCE);
  EXPECT_EQ(acquire(realm, {"../outside"}).status, LOCKKEEPER_INVALID_RESOURCE);
  EXPECT_EQ(lease_, nullptr);
}

TEST_F(Input, AnAnswerIsUtf8WhateverItTellsOf) {
  lockkeeper_realm* const realm = open();
  const Said answer = acquire(realm, {"src/\xff\xfe"});
  EXPECT_NE(answer.status, LOCKKEEPER_FAILED) << answer.message;
  EXPECT_NO_THROW(static_cast<void>(Json(answer.message).dump()));
  if (answer.status == LOCKKEEPER_OK) lockkeeper_lease_close(lease_);
}

TEST_F(Input, StructSizesTellVersionsApart) {
  lockkeeper_realm* const realm = open();
  struct {
    lockkeeper_list_options known = LOCKKEEPER_LIST_OPTIONS_INIT;
    std::uint64_t later = 0;
  } options;
  const auto list = [&] { return lockkeeper_list(realm, &options.known, nullptr); };
  EXPECT_EQ(list(), LOCKKEEPER_OK);
  for (const std::size_t size : {std::size_t{0}, sizeof(lockkeeper_list_options) - 1, SIZE_MAX}) {
    options.known.struct_size = size;
    EXPECT_EQ(list(), LOCKKEEPER_USAGE) << size;
  }
  // A newer program: what this library does not know is left alone while it is not used.
  options.known.struct_size = sizeof options;
  EXPECT_EQ(list(), LOCKKEEPER_OK);
  options.later = 1;
  EXPECT_EQ(list(), LOCKKEEPER_USAGE);
}

TEST_F(Input, FlagsAndTimesThatMeanNothingAreRefused) {
  lockkeeper_realm* const realm = open();
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  options.flags = LOCKKEEPER_ALL;
  EXPECT_EQ(acquire(realm, {"a"}, options).status, LOCKKEEPER_USAGE);
  options.flags = 0;
  options.wait_ms = -2;
  const Said wait = acquire(realm, {"a"}, options);
  EXPECT_EQ(wait.status, LOCKKEEPER_INVALID_INPUT);
  EXPECT_THAT(wait.message, HasSubstr("wait_ms is -2"));
  options.wait_ms = 0;
  options.ttl_ms = INT64_MIN;
  EXPECT_EQ(acquire(realm, {"a"}, options).status, LOCKKEEPER_INVALID_INPUT);
  options.ttl_ms = INT64_MAX;
  const Said longest = acquire(realm, {"a"}, options);
  EXPECT_EQ(longest.status == LOCKKEEPER_OK, lease_ != nullptr) << longest.message;
  if (lease_ != nullptr) lockkeeper_lease_close(lease_);
}

TEST_F(Input, WrongRealmsAndNamesAreTold) {
  lockkeeper_open_options options = LOCKKEEPER_OPEN_OPTIONS_INIT;
  lockkeeper_realm* realm = nullptr;
  const auto open_it = [&](auto* answer) { return lockkeeper_open(&options, &realm, answer); };
  options.path = "/no/such/folder";
  EXPECT_NE(said(open_it).status, LOCKKEEPER_OK);
  const std::string repo = stage_.repo();
  options.path = repo.c_str();
  options.agent = "a\nb";
  EXPECT_EQ(said(open_it).status, LOCKKEEPER_INVALID_INPUT);
  EXPECT_EQ(realm, nullptr);
}

TEST_F(Input, EveryStatusHasTheNameOfItsCode) {
  std::set<std::string> names;
  for (int status = LOCKKEEPER_OK; status <= LOCKKEEPER_TIMEOUT; ++status) {
    names.insert(lockkeeper_status_name(static_cast<lockkeeper_status>(status)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(LOCKKEEPER_TIMEOUT) + 1);
  EXPECT_STREQ(lockkeeper_status_name(LOCKKEEPER_OK), "ok");
  EXPECT_STREQ(lockkeeper_status_name(LOCKKEEPER_TIMEOUT), "timeout");
  EXPECT_STREQ(lockkeeper_status_name(LOCKKEEPER_OPERATION_NOT_PERMITTED),
               "operation_not_permitted");
  EXPECT_NE(std::strlen(lockkeeper_version()), 0U);
}

TEST_F(Input, FaultsAreLeftToTheProgram) {
  struct sigaction before{}, after{};
  ::sigaction(SIGSEGV, nullptr, &before);
  lockkeeper_realm* const realm = open();
  ASSERT_EQ(lockkeeper_lease_close(granted(realm, {"a"})), LOCKKEEPER_OK);
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_EQ(lockkeeper_handle_faults(), LOCKKEEPER_USAGE) << "it is too late";
}

}  // namespace
}  // namespace lockkeeper::stage
