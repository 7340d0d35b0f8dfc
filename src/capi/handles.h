// The handles of the C API: numbers in the shape of pointers, never addresses. So a handle that was
// closed, belongs to another kind or was never given is told apart without a look at any memory.
//
// The table belongs to the process, as the handles do: C has nothing else to keep them in.
//
// Thread safety: all functions may be called from any thread, and in a forked child.
#pragma once

#include <lockkeeper/c_types.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "embed/owner.h"

namespace lockkeeper::capi {

struct RealmState {
  explicit RealmState(std::shared_ptr<embed::Owner> opened) : owner(std::move(opened)) {}
  ~RealmState();
  RealmState(const RealmState&) = delete;
  RealmState& operator=(const RealmState&) = delete;

  std::shared_ptr<embed::Owner> owner;
  std::stop_source closing;
};

struct LeaseState {
  explicit LeaseState(std::shared_ptr<embed::Handle> granted) : handle(std::move(granted)) {}
  ~LeaseState();
  LeaseState(const LeaseState&) = delete;
  LeaseState& operator=(const LeaseState&) = delete;

  std::shared_ptr<embed::Handle> handle;
  std::atomic<bool> releasing = false;
};

struct CancelState {
  std::stop_source stop;
};

struct AnswerState {
  lockkeeper_status status = LOCKKEEPER_OK;
  std::string message;
  std::string hint;
  std::string json;
};

template <class Handle>
struct Kind;
template <>
struct Kind<lockkeeper_realm> {
  using State = RealmState;
  static constexpr unsigned kNumber = 1;
  static constexpr const char* kName = "an open realm";
};
template <>
struct Kind<lockkeeper_lease> {
  using State = LeaseState;
  static constexpr unsigned kNumber = 2;
  static constexpr const char* kName = "a lease that is not closed";
};
template <>
struct Kind<lockkeeper_cancel> {
  using State = CancelState;
  static constexpr unsigned kNumber = 3;
  static constexpr const char* kName = "a cancel that is not freed";
};
template <>
struct Kind<lockkeeper_answer> {
  using State = AnswerState;
  static constexpr unsigned kNumber = 4;
  static constexpr const char* kName = "an answer that is not freed";
};

namespace table {
void* put(unsigned kind, std::shared_ptr<void> state);                   // may throw bad_alloc
std::shared_ptr<void> find(unsigned kind, const void* handle) noexcept;  // null: none of that kind
std::shared_ptr<void> erase(unsigned kind,
                            const void* handle) noexcept;  // the same, and forgets it
}  // namespace table

template <class Handle>
Handle* put(const std::shared_ptr<typename Kind<Handle>::State>& state) {
  return static_cast<Handle*>(table::put(Kind<Handle>::kNumber, state));
}

// Null: it is not one.
template <class Handle>
std::shared_ptr<typename Kind<Handle>::State> find(const Handle* handle) noexcept {
  return std::static_pointer_cast<typename Kind<Handle>::State>(
      table::find(Kind<Handle>::kNumber, handle));
}

// As find(), and the handle is closed.
template <class Handle>
std::shared_ptr<typename Kind<Handle>::State> close(Handle* handle) noexcept {
  return std::static_pointer_cast<typename Kind<Handle>::State>(
      table::erase(Kind<Handle>::kNumber, handle));
}

template <class Handle>
std::unexpected<Error> not_one(const Handle* handle) {
  return fail(
      Code::kUsage,
      std::string(handle == nullptr ? "NULL is not " : "this handle is not ") + Kind<Handle>::kName,
      "pass what the library has given, until it is closed");
}

}  // namespace lockkeeper::capi
