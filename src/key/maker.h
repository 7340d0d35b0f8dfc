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
                       std::vector<std::string> literal) {
    return made({std::move(text), kind, std::move(space), std::move(literal)});
  }
  static Resource make_glob(std::string text, Kind kind, std::string space,
                            std::vector<std::string> literal, std::string ending,
                            Automaton automaton) {
    return made({std::move(text), kind, std::move(space), std::move(literal), std::move(ending),
                 std::make_shared<const Automaton>(std::move(automaton))});
  }
  static const Automaton* automaton(const Resource& resource) {
    return resource.body_->automaton.get();
  }
  static const std::string& ending(const Resource& resource) { return resource.body_->ending; }

 private:
  static Resource made(Resource::Body body) {
    Resource resource;
    resource.body_ = std::make_shared<const Resource::Body>(std::move(body));
    return resource;
  }
};

inline constexpr const char* kPathSpace = "/";

}  // namespace lockkeeper::key
