// How the parsers build a Resource. Private to this folder.
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
    made.body_ = std::make_shared<const Resource::Body>(Resource::Body{
        std::move(text), kind, std::move(space), std::move(literal), std::move(automaton)});
    return made;
  }
  static const Automaton* automaton(const Resource& resource) {
    return resource.body_->automaton.get();
  }
};

inline constexpr const char* kPathSpace = "/";

}  // namespace lockkeeper::key
