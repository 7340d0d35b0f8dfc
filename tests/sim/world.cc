#include "world.h"

namespace lockkeeper::sim {

World::World()
    : World(std::vector<std::string>{"./",
                                     "src/",
                                     "src/lib/",
                                     "src/a.py",
                                     "src/b.py",
                                     "src/lib/c.py",
                                     "src/lib/d.py",
                                     "src/*.py",
                                     "src/**/*.py",
                                     "**/c.py",
                                     "src/[ab].py",
                                     "{src,docs}/*",
                                     "docs/",
                                     "docs/x.md",
                                     "foo",
                                     "foo/a",
                                     "foo/a/b",
                                     "foo/*",
                                     "api:GET /v1/users",
                                     "db:migration-slot",
                                     "flag:beta-ui",
                                     "flag:beta-*",
                                     "flag:alpha",
                                     "task:T1"}) {}

World::World(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    auto parsed = key::parse(text, {});
    if (!parsed) throw Violation("cannot parse " + text);
    by_text_[parsed->resource.text()] = size();
    resources_.push_back(std::move(parsed->resource));
  }
  for (const key::Resource& a : resources_) {
    for (const key::Resource& b : resources_) {
      const auto common = key::overlap(a, b);
      if (!common) throw Violation("cannot compare " + a.text() + " and " + b.text());
      overlap_.push_back(common->has_value());
      covers_.push_back(key::covers(a, b));
    }
  }
}

int World::index_of(const std::string& text) const {
  const auto found = by_text_.find(text);
  if (found == by_text_.end()) throw Violation("the table speaks of " + text);
  return found->second;
}

}  // namespace lockkeeper::sim
