#include "dialect/mkdir/names.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::dialect::mkdir {
namespace {

class Reader {
 public:
  Reader(std::string_view name, Colons colons, const IsFolder* is_folder = nullptr)
      : name_(name), colons_(colons), is_folder_(is_folder) {}

  Readings read() {
    std::string path;
    extend(0, path, false);
    return std::move(found_);
  }

 private:
  // Depth first, slashes before underscores, so that the plain reading comes first. False: too
  // many.
  bool extend(std::size_t at, std::string& path, bool colon) {
    const std::size_t size = path.size();
    const std::size_t next = std::min(name_.find('_', at), name_.size());
    path += name_.substr(at, next - at);
    const bool go_on = next == name_.size() ? keep(path, colon) : branch(next, path, colon);
    path.resize(size);
    return go_on;
  }

  bool branch(std::size_t at, std::string& path, bool colon) {
    const bool slash = name_.substr(at).starts_with("__") && may_enter(path);
    if (slash && !with(at + 2, '/', path, colon)) return false;
    if (!with(at + 1, '_', path, colon)) return false;
    return colons_ == Colons::kNo || with(at + 1, ':', path, true);
  }

  bool may_enter(const std::string& path) {
    if (is_folder_ == nullptr || path.empty()) return true;
    return folders_asked_++ < kFoldersMax && (*is_folder_)(path);
  }

  bool with(std::size_t next, char read, std::string& path, bool colon) {
    path += read;
    const bool go_on = extend(next, path, colon);
    path.pop_back();
    return go_on;
  }

  bool keep(const std::string& path, bool colon) {
    found_.complete = seen_++ < kReadingsMax;
    if (found_.complete && colon == (colons_ == Colons::kYes)) found_.paths.push_back(path);
    return found_.complete;
  }

  const std::string_view name_;
  const Colons colons_;
  const IsFolder* const is_folder_;  // null: all are
  std::size_t folders_asked_ = 0;
  Readings found_;
  std::size_t seen_ = 0;
};

}  // namespace

std::string sanitised(std::string_view path) {
  std::string name;
  for (const char c : path) {
    if (c == '/' || c == '\\') {
      name += "__";
    } else {
      name += c == ':' ? '_' : c;
    }
  }
  return name;
}

Readings readings(std::string_view name, Colons colons) {
  Readings found = Reader(name, colons).read();
  if (!found.complete && colons == Colons::kNo) {
    found.paths.resize(1);
    found.paths.emplace_back(name);
  }
  return found;
}

std::vector<std::string> readings_in(std::string_view name, Colons colons,
                                     const IsFolder& is_folder) {
  return Reader(name, colons, &is_folder).read().paths;
}

std::string encoded(std::string_view name) {
  return escape_sign(name, '#');
}

std::string decoded(std::string_view name) {
  return unescape_sign(name, '#');
}

}  // namespace lockkeeper::dialect::mkdir
