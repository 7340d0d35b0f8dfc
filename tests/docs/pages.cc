#include "docs/pages.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace lockkeeper::docs {
namespace {

namespace fs = std::filesystem;

std::size_t level(const Line& line) {
  if (line.code) return 0;
  const std::size_t hashes = line.text.find_first_not_of('#');
  return hashes != std::string::npos && line.text[hashes] == ' ' ? hashes : 0;
}

}  // namespace

Page read_page(const std::string& path) {
  Page page{path, {}};
  std::ifstream stream(fs::path(LOCKKEEPER_SOURCE_DIR) / path);
  bool fenced = false;
  for (std::string text; std::getline(stream, text);) {
    const bool fence = text.find("```") == text.find_first_not_of(' ') && !text.empty();
    page.lines.push_back({static_cast<int>(page.lines.size()) + 1, text, fenced || fence});
    if (fence) fenced = !fenced;
  }
  return page;
}

std::vector<Page> all_pages() {
  const fs::path root = LOCKKEEPER_SOURCE_DIR;
  std::vector<std::string> paths;
  const auto add = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() && entry.path().extension() == ".md") {
      paths.push_back(fs::relative(entry.path(), root).string());
    }
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry);
  for (const char* folder : {"docs", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) add(entry);
  }
  std::ranges::sort(paths);
  std::vector<Page> pages;
  for (const std::string& path : paths) pages.push_back(read_page(path));
  return pages;
}

std::set<std::string> anchors(const Page& page) {
  std::set<std::string> found;
  for (const Line& line : page.lines) {
    const std::size_t hashes = level(line);
    if (hashes == 0) continue;
    std::string anchor;
    for (const char c : line.text.substr(hashes + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80) {
        anchor += static_cast<char>(std::tolower(byte));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    found.insert(anchor);
  }
  return found;
}

std::vector<Line> section(const Page& page, const std::string& heading) {
  std::vector<Line> lines;
  std::size_t inside = 0;
  for (const Line& line : page.lines) {
    const std::size_t here = level(line);
    if (inside > 0 && here > 0 && here <= inside) break;
    if (inside > 0) lines.push_back(line);
    if (here > 0 && line.text == heading) inside = here;
  }
  return lines;
}

}  // namespace lockkeeper::docs
