// How plain data becomes JSON and comes back. One function template describes the fields of each
// struct, and both directions use it, so that they cannot differ:
//
//   template <class Archive>
//   void fields(Archive& archive, ReleaseCall& call) {
//     archive("caller", call.caller);
//     archive("all", call.all);
//   }
//
// Internal to the room.
#pragma once

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace lockkeeper::service::wire {

class Writer {
 public:
  explicit Writer(Now now) : now_(now) {}
  Now now() const { return now_; }

  template <typename T>
  void operator()(const char* name, T& value) {
    json_[name] = write(value);
  }

  template <typename T>
  Json write(std::optional<T>& value) {
    return value ? write(*value) : Json();
  }
  template <typename T>
  Json write(std::vector<T>& values) {
    Json json = Json::array();
    for (T& value : values) json.push_back(write(value));
    return json;
  }
  template <typename T>
  Json write(T& value) {
    if constexpr (std::integral<T> || std::same_as<T, std::string>) {
      return value;
    } else if constexpr (requires { put(*this, value); }) {
      return put(*this, value);
    } else {
      Writer inner(now_);
      inner.json_ = Json::object();
      fields(inner, value);
      return std::move(inner.json_);
    }
  }

 private:
  const Now now_;
  Json json_;
};

class Reader {
 public:
  Reader(const Json& json, Now now, std::string& fault) : json_(json), now_(now), fault_(fault) {}
  Now now() const { return now_; }
  const Json& json() const { return json_; }

  // A field that is absent or null keeps its default.
  template <typename T>
  void operator()(const char* name, T& value) {
    const auto found = json_.find(name);
    if (found == json_.end() || found->is_null()) return;
    if (!read(*found, value)) blame(name);
  }
  // The first field that cannot be read is the one to name; the inmost of nested ones.
  void blame(const std::string& name) {
    if (fault_.empty()) fault_ = name;
  }

  bool read(const Json& json, bool& value) {
    if (json.is_boolean()) value = json.get<bool>();
    return json.is_boolean();
  }
  bool read(const Json& json, std::string& value) {
    if (json.is_string()) value = json.get<std::string>();
    return json.is_string();
  }
  template <std::integral T>
  bool read(const Json& json, T& value) {
    if (!json.is_number_integer()) return false;
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (fits) value = json.get<T>();
    return fits;
  }
  template <typename T>
  bool read(const Json& json, std::optional<T>& value) {
    return read(json, value.emplace());
  }
  template <typename T>
  bool read(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return false;
    values.clear();
    for (const Json& one : json) {
      if (!read(one, values.emplace_back())) return false;
    }
    return true;
  }
  template <typename T>
  bool read(const Json& json, T& value) {
    Reader inner(json, now_, fault_);
    if constexpr (requires { take(inner, value); }) {
      return take(inner, value);
    } else {
      if (!json.is_object()) return false;
      fields(inner, value);
      return fault_.empty();
    }
  }

 private:
  const Json& json_;
  const Now now_;
  std::string& fault_;
};

}  // namespace lockkeeper::service::wire
