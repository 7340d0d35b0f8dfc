// The Markdown pages of this repository, cut into lines.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace lockkeeper::docs {

struct Line {
  int number = 0;
  std::string text;
  bool code = false;  // inside a fenced block, or one of its fences
};

struct Page {
  std::string path;  // from the top of the sources
  std::vector<Line> lines;
};

// Every page, sorted by path: docs/, examples/ and those at the top.
std::vector<Page> all_pages();
Page read_page(const std::string& path);

// "## Errors and exit status" is "errors-and-exit-status", as code hosts have it.
std::set<std::string> anchors(const Page& page);

// The lines behind a heading of this text ("## acquire"), up to the next of its level or above.
std::vector<Line> section(const Page& page, const std::string& heading);

}  // namespace lockkeeper::docs
