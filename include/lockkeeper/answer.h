// A value, or the Error that says why there is none. This is C++23's std::expected, for C++20.
//
// Thread safety: that of the value.
#pragma once

#include <optional>
#include <utility>

#include "lockkeeper/error.h"

namespace lockkeeper {

template <class T>
class [[nodiscard]] Answer {
 public:
  Answer(T value) : value_(std::move(value)) {}      // NOLINT: meant to be implicit, as is
  Answer(Error error) : error_(std::move(error)) {}  // NOLINT: this one
  explicit operator bool() const { return value_.has_value(); }

  // REQUIRES: it holds a value. `T value = *std::move(answer);` takes it out.
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  // REQUIRES: it holds no value.
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

// Done, or why not.
template <>
class [[nodiscard]] Answer<void> {
 public:
  Answer() = default;
  Answer(Error error) : error_(std::move(error)) {}  // NOLINT: meant to be implicit
  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }  // REQUIRES: it was not done

 private:
  std::optional<Error> error_;
};

}  // namespace lockkeeper
