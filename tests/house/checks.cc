#include "house/checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "house/plan.h"
#include "house/source_text.h"

namespace lockkeeper::house {
namespace {

constexpr std::string_view kSources = "src/";
constexpr std::string_view kCMake = "/CMakeLists.txt";

bool is_source(const std::string& path) {
  return path.ends_with(".cc") || path.ends_with(".h");
}

bool is_below_src(const std::string& path) {
  return path.starts_with(kSources);
}

std::string room_of_file(const std::string& path) {
  return room_of(std::string_view(path).substr(kSources.size()));
}

struct Include {
  std::size_t line;
  bool quoted;
  std::string target;
};

std::vector<Include> includes_of(const File& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  const std::string code = code_only(file.text);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_search(line.begin(), line.end(), match, kInclude)) {
      found.push_back({number, match[1].str() == "\"", match[2].str()});
    }
  }
  return found;
}

// --- purity
// ---------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 26> kImpureHeaders = {
    "chrono",       "random",     "thread",      "filesystem", "fstream",
    "iostream",     "future",     "mutex",       "semaphore",  "condition_variable",
    "unistd.h",     "fcntl.h",    "time.h",      "ctime",      "signal.h",
    "csignal",      "pthread.h",  "spawn.h",     "dirent.h",   "sched.h",
    "shared_mutex", "stop_token", "semaphore.h", "poll.h",     "base/fd.h",
    "base/random.h"};

bool is_impure_header(std::string_view target) {
  return target.starts_with("sys/") || target.starts_with("linux/") ||
         std::ranges::find(kImpureHeaders, target) != kImpureHeaders.end();
}

// Words that are forbidden wherever they stand, and functions that are when called freely: a
// member such as `event.time()` is something else.
const std::regex& impure_words() {
  static const std::regex kWords(
      R"(\b(SystemClock|SystemRandom|Clock|random_device|getpid|getppid|gettid|getsid|getenv)"
      R"(|clock_gettime|gettimeofday|usleep|nanosleep|sleep_for|sleep_until|fopen|getrandom)\b)"
      R"(|(^|[^\w.>:]|std::|[^\w]::)(time|clock|rand|srand|random|sleep|fork|open|system)\s*\()");
  return kWords;
}

// --- Linux
// ----------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 13> kLinuxHeaders = {
    "sys/epoll.h",   "sys/eventfd.h",  "sys/fanotify.h", "sys/inotify.h", "sys/prctl.h",
    "sys/random.h",  "sys/sendfile.h", "sys/signalfd.h", "sys/statfs.h",  "sys/syscall.h",
    "sys/timerfd.h", "sys/vfs.h",      "sched.h"};

bool is_linux_header(std::string_view target) {
  return target.starts_with("linux/") ||
         std::ranges::find(kLinuxHeaders, target) != kLinuxHeaders.end();
}

// macOS has neither the word nor, for most of them, anything that means the same.
const std::regex& linux_words() {
  static const std::regex kWords(
      R"(\b(F_OFD_\w+|F_SETLEASE|FUTEX_\w+|SYS_\w+|syscall|(?:epoll|inotify|fanotify|pidfd)_\w+)"
      R"(|eventfd|signalfd\w*|timerfd_\w+|memfd_create|prctl|PR_SET_\w+|unshare|setns|CLONE_\w+)"
      R"(|renameat2|RENAME_\w+|O_TMPFILE|O_PATH|statx|statfs|getrandom|gettid|pipe2|accept4|dup3)"
      R"(|execvpe|SOCK_CLOEXEC|SOCK_NONBLOCK|SOCK_SEQPACKET|sigabbrev_np|CLOCK_BOOTTIME|SI_KERNEL)"
      R"(|SIGEV_THREAD_ID|sendfile|copy_file_range|sync_file_range|close_range|openat2)\b)");
  return kWords;
}

// --- CMake
// ----------------------------------------------------------------------------------------

struct RoomCall {
  std::string name;
  std::vector<std::string> links;
  std::set<std::string> deps;
};

std::vector<RoomCall> room_calls(const std::string& text) {
  static const std::regex kComment("#[^\n]*");
  static const std::regex kCall(R"(lockkeeper_room\s*\(([^)]*)\))");
  static const std::set<std::string> kKeywords = {"NAME", "SOURCES", "LINKS",
                                                  "DEPS", "TESTS",   "TEST_LINKS"};
  const std::string code = std::regex_replace(text, kComment, "");
  std::vector<RoomCall> calls;
  for (std::sregex_iterator it(code.begin(), code.end(), kCall), end; it != end; ++it) {
    RoomCall call;
    std::string keyword;
    std::istringstream words((*it)[1].str());
    for (std::string word; words >> word;) {
      if (kKeywords.contains(word)) {
        keyword = word;
      } else if (keyword == "NAME") {
        call.name = word;
      } else if (keyword == "LINKS") {
        call.links.push_back(word);
      } else if (keyword == "DEPS") {
        call.deps.insert(word);
      }
    }
    calls.push_back(call);
  }
  return calls;
}

// All that is linked by way of `room`, itself included.
std::set<std::string> closure(const std::map<std::string, std::set<std::string>>& links,
                              const std::string& room) {
  std::set<std::string> seen;
  std::vector<std::string> open = {room};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (const auto entry = links.find(next); entry != links.end()) {
      open.insert(open.end(), entry->second.begin(), entry->second.end());
    }
  }
  return seen;
}

// The CMake name of the library that an include in <> is of; empty for the system's own.
std::string library_of(const std::string& include) {
  static const std::vector<std::pair<std::string_view, std::string>> kLibraries = {
      {"nlohmann/", "nlohmann_json::nlohmann_json"},
      {"fmt/", "dep_fmt"},
      {"boost/", "dep_boost"},
      {"toml++/", "dep_toml"},
      {"xxhash.h", "dep_xxhash"},
      {"lmdb.h", "dep_lmdb"},
      {"utf8proc.h", "dep_utf8proc"},
      {"yaml.h", "dep_yaml"},
      {"zstd.h", "dep_zstd"},
      {"nettle/", "dep_nettle"},
      {"nghttp2/", "dep_nghttp2"},
      {"openssl/", "dep_ssl"},
  };
  for (const auto& [header, library] : kLibraries) {
    if (include.starts_with(header)) return library;
  }
  return {};
}

// --- style
// ----------------------------------------------------------------------------------------

// Whether the text between the last statement and an opening brace is a function's head: it has
// parameters, and no `=` outside of them, and declares no type or namespace.
bool is_function_head(std::string_view head) {
  static const std::regex kOther(R"(\b(namespace|class|struct|union|enum|extern)\b)");
  static const std::regex kOperator(R"(operator\s*[=<>!]+)");
  const std::string plain = std::regex_replace(std::string(head), kOperator, "operator");
  int depth = 0;
  bool has_parameters = false;
  std::string outside;
  for (const char c : plain) {
    if (c == ')') --depth;
    if (depth == 0) outside += c;
    if (c == '(') {
      ++depth;
      has_parameters = true;
    }
  }
  return has_parameters && outside.find('=') == std::string::npos &&
         !std::regex_search(outside, kOther);
}

struct Function {
  std::size_t line;
  std::size_t lines;
};

std::string without_preprocessor(const std::string& code) {
  std::string out;
  bool continued = false;
  for (const std::string_view line : lines_of(code)) {
    const auto first = line.find_first_not_of(" \t");
    const bool directive = continued || (first != std::string_view::npos && line[first] == '#');
    continued = directive && line.ends_with('\\');
    if (!directive) out += line;
    out += '\n';
  }
  return out;
}

bool is_product(const File& file) {
  return is_source(file.path) && is_below_src(file.path) && !is_test_file(file.path);
}

void find_words(const File& file, const std::regex& words, std::vector<Violation>& out) {
  const std::string code = without_preprocessor(code_only(file.text));
  std::size_t number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, words)) continue;
    const auto& word = match[1].matched ? match[1] : match[match.size() - 1];
    out.push_back({file.path, number, "uses " + word.str()});
  }
}

std::vector<Function> functions_of(const File& file) {
  std::vector<Function> found;
  std::size_t line = 1;
  std::size_t depth = 0;
  std::size_t function_depth = 0;  // 0: outside of any
  std::size_t function_line = 0;
  std::string head;
  for (const char c : without_preprocessor(code_only(file.text))) {
    if (c == '\n') ++line;
    if (c == '{') {
      ++depth;
      if (function_depth == 0 && is_function_head(head)) {
        function_depth = depth;
        function_line = line;
      }
    }
    if (c == '}') {
      if (function_depth == depth && depth != 0) {
        found.push_back({function_line, line - function_line + 1});
        function_depth = 0;
      }
      if (depth > 0) --depth;
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else {
      head += c;
    }
  }
  return found;
}

void check_lines(const File& file, const Limits& limits, std::vector<Violation>& out) {
  static const std::regex kUnfinished(R"(\b(TO)"
                                      R"(DO|FIX)"
                                      R"(ME|XX)"
                                      R"(X)\b)");
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    if (const std::size_t width = columns(line); width > limits.columns) {
      out.push_back({file.path, number, std::to_string(width) + " columns"});
    }
    if (std::regex_search(line.begin(), line.end(), kUnfinished)) {
      out.push_back({file.path, number, "unfinished work is an issue, not a comment"});
    }
  }
  const bool header = file.path.ends_with(".h");
  if (number > (header ? limits.header_lines : limits.source_lines)) {
    out.push_back({file.path, 0, std::to_string(number) + " lines: split it by idea"});
  }
}

}  // namespace

bool is_test_file(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.ends_with("_test.cc") || name.starts_with("test_") ||
         name.find("_testing.") != std::string::npos || name.starts_with("testing.");
}

std::vector<Violation> check_includes(const std::vector<File>& files) {
  std::vector<Violation> out;
  for (const File& file : files) {
    if (!is_source(file.path) || !is_below_src(file.path)) continue;
    const std::string room = room_of_file(file.path);
    if (room.empty()) {
      out.push_back({file.path, 0, "its folder is not in the plan of the house"});
      continue;
    }
    const auto allowed = allowed_rooms(room, is_test_file(file.path));
    for (const Include& include : includes_of(file)) {
      const std::string target = room_of(include.target);
      if (target.empty() && include.quoted) {
        out.push_back({file.path, include.line,
                       "includes \"" + include.target + "\", which is not rooted at src/"});
      }
      if (target.empty() || target == room) continue;
      if (!allowed.contains(target)) {
        out.push_back({file.path, include.line, room + " must not include " + include.target});
      }
      // The interface alone: whoever sees more of kv depends on how it is made.
      const bool backend = room.starts_with("kv/") || room == "app";
      if (target == "kv" && !backend && include.target != "kv/store.h") {
        out.push_back({file.path, include.line, room + " may see of kv only kv/store.h"});
      }
      if (is_test_file(include.target) && !is_test_file(file.path)) {
        out.push_back({file.path, include.line, "includes " + include.target + ", for tests"});
      }
    }
  }
  return out;
}

std::vector<Violation> check_purity(const std::vector<File>& files) {
  std::vector<Violation> out;
  for (const File& file : files) {
    if (!is_product(file) || !is_pure(room_of_file(file.path))) continue;
    for (const Include& include : includes_of(file)) {
      if (is_impure_header(include.target)) {
        out.push_back({file.path, include.line, "includes " + include.target});
      }
    }
    find_words(file, impure_words(), out);
  }
  return out;
}

std::vector<Violation> check_doors(const std::vector<File>& files) {
  static const std::regex kWords(R"(\b(core::Table|core::State|core::Settler|kv::Txn)\b)");
  std::vector<Violation> out;
  for (const File& file : files) {
    if (is_product(file) && is_door(room_of_file(file.path))) find_words(file, kWords, out);
  }
  return out;
}

std::vector<Violation> check_portability(const std::vector<File>& files) {
  static const std::regex kProc(R"~(^(?!\s*//).*"/(proc|sys)[/"])~");
  std::vector<Violation> out;
  for (const File& file : files) {
    if (!is_source(file.path) || !is_below_src(file.path) || is_test_file(file.path)) continue;
    if (may_use_linux(room_of_file(file.path))) continue;
    for (const Include& include : includes_of(file)) {
      if (is_linux_header(include.target)) {
        out.push_back({file.path, include.line, "includes " + include.target});
      }
    }
    const std::string code = without_preprocessor(code_only(file.text));
    const auto stripped = lines_of(code);
    const auto whole = lines_of(file.text);
    for (std::size_t i = 0; i < stripped.size() && i < whole.size(); ++i) {
      std::match_results<std::string_view::const_iterator> match;
      const auto finds = [&](std::string_view line, const std::regex& what) {
        return std::regex_search(line.begin(), line.end(), match, what);
      };
      if (finds(stripped[i], linux_words()) || finds(whole[i], kProc)) {
        out.push_back({file.path, i + 1, "uses " + match[1].str() + ", which only Linux has"});
      }
    }
  }
  return out;
}

std::vector<Violation> check_links(const std::vector<File>& files) {
  std::vector<Violation> out;
  std::map<std::string, std::set<std::string>> links;
  for (const File& file : files) {
    if (!is_below_src(file.path) || !file.path.ends_with(kCMake)) continue;
    const std::string room = room_of_file(file.path);
    for (const RoomCall& call : room_calls(file.text)) {
      if (call.name != cmake_name(room)) {
        out.push_back({file.path, 0, "the room " + call.name + " is not named as its folder"});
      }
      std::set<std::string> allowed;
      for (const std::string& name : allowed_rooms(room, false)) allowed.insert(cmake_name(name));
      for (const std::string& link : call.links) {
        if (!allowed.contains(link)) {
          out.push_back({file.path, 0, call.name + " must not link " + link});
        }
        links[call.name].insert(link);
      }
      links[call.name];  // a room that links nothing is known as well
    }
  }
  for (const File& file : files) {
    if (!is_source(file.path) || !is_below_src(file.path) || is_test_file(file.path)) continue;
    const std::string room = cmake_name(room_of_file(file.path));
    if (!links.contains(room)) continue;  // a program, not a room
    const auto linked = closure(links, room);
    for (const Include& include : includes_of(file)) {
      const std::string target = cmake_name(room_of(include.target));
      if (!target.empty() && !linked.contains(target)) {
        out.push_back({file.path, include.line, room + " includes but does not link " + target});
      }
    }
  }
  return out;
}

std::vector<Violation> check_libraries(const std::vector<File>& files) {
  std::map<std::string, std::set<std::string>> included;   // by a file, of ours
  std::map<std::string, std::set<std::string>> libraries;  // whose headers a file itself includes
  std::map<std::string, std::set<std::string>> named;      // by a room
  for (const File& file : files) {
    if (!is_below_src(file.path)) continue;
    for (const Include& include :
         is_source(file.path) ? includes_of(file) : std::vector<Include>{}) {
      if (include.quoted) {
        included[file.path].insert(std::string(kSources) + include.target);
      } else if (const std::string library = library_of(include.target); !library.empty()) {
        libraries[file.path].insert(library);
      }
    }
    for (const RoomCall& call : room_calls(file.path.ends_with(kCMake) ? file.text : "")) {
      named[call.name] = call.deps;
    }
  }
  std::vector<Violation> out;
  std::set<std::string> told;
  for (const auto& [path, own] : included) {
    const std::string room = cmake_name(room_of_file(path));
    if (!path.ends_with(".cc") || is_test_file(path) || !named.contains(room)) continue;
    for (const std::string& header : closure(included, path)) {
      for (const std::string& library : libraries[header]) {
        if (named[room].contains(library) || !told.insert(room + library).second) continue;
        out.push_back({path, 0,
                       room + " reads headers of " + library + " (in " + header +
                           ") and does not name it in DEPS"});
      }
    }
  }
  return out;
}

std::vector<Violation> check_public_headers(const std::vector<File>& files) {
  std::vector<Violation> out;
  for (const File& file : files) {
    if (!file.path.starts_with("include/")) continue;
    for (const Include& include : includes_of(file)) {
      const bool own = include.quoted && include.target.starts_with("lockkeeper/");
      const bool of_c = include.target == "stddef.h" || include.target == "stdint.h";
      const bool standard = !include.quoted && include.target != "expected" &&
                            (of_c || include.target.find_first_of("./") == std::string::npos);
      if (!own && !standard) {
        out.push_back({file.path, include.line, "a public header includes " + include.target});
      }
    }
  }
  return out;
}

std::vector<Violation> check_style(const std::vector<File>& files, const Limits& limits) {
  std::vector<Violation> out;
  for (const File& file : files) {
    if (!is_source(file.path)) continue;
    check_lines(file, limits, out);
    if (file.path.ends_with(".h") && file.text.find("#pragma once\n") == std::string::npos) {
      out.push_back({file.path, 0, "has no #pragma once"});
    }
    if (is_test_file(file.path)) continue;  // a test may be one long story
    for (const Function& function : functions_of(file)) {
      if (function.lines > limits.function_lines) {
        out.push_back({file.path, function.line,
                       "a function of " + std::to_string(function.lines) + " lines"});
      }
    }
  }
  return out;
}

}  // namespace lockkeeper::house
