// How the parsers build a Resource. Private to this room.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "key/automaton.h"
#include "key/resource.h"

namespace lockkeeper::key {

struct ResourceMaker {
  static Resource make(std::string text, Kind kind, std::string space,
                       std::vector<std::string> literal,
                       std::shared_ptr<const Automaton> automaton = nullptr) {
    Resource made;
    made.text_ = std::move(text);
    made.kind_ = kind;
    made.space_ = std::move(space);
    made.literal_ = std::move(literal);
    made.automaton_ = std::move(automaton);
    return made;
  }
  static const Automaton* automaton(const Resource& resource) { return resource.automaton_.get(); }
};

inline constexpr const char* kPathSpace = "/";

}  // namespace lockkeeper::key
