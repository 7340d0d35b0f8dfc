#include "install/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "host/pipes.h"
#include "host/spawn.h"
#include "realm/disk_path.h"

namespace lockkeeper::install {
namespace {

constexpr std::size_t kProgramBytesMax = 1U << 30;
constexpr std::size_t kVersionBytesMax = 200;
constexpr unsigned kProgramMode = 0755;

constexpr auto kSystemFolders = std::to_array<std::string_view>(
    {"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/", "/usr/local/bin/", "/usr/local/sbin/",
     "/usr/lib/", "/usr/libexec/", "/usr/local/lib/", "/opt/", "/nix/store/", "/gnu/store/",
     "/snap/", "/home/linuxbrew/.linuxbrew/"});

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first{};
  struct stat second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool is_there(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

bool has_same_bytes(const std::string& a, const std::string& b) {
  const auto first = read_file(a, kProgramBytesMax);
  const auto second = read_file(b, kProgramBytesMax);
  return first && second && *first == *second;
}

// What it prints, within a second or so.
std::optional<std::string> first_output(const std::string& program) {
  auto pipe = host::make_pipe();
  if (!pipe) return std::nullopt;
  host::Program asked;
  asked.argv = {program, "--version"};
  asked.in = asked.err = host::kNothing;
  asked.out = pipe->writer.get();
  const auto started = host::start(asked);
  pipe->writer.reset();
  if (!started || started->exec_errno != 0) return std::nullopt;
  std::string text;
  char buffer[256];
  while (text.size() < kVersionBytesMax) {
    const ssize_t n = ::read(pipe->reader.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  if (text.size() >= kVersionBytesMax) ::kill(started->pid, SIGKILL);
  const auto status = host::wait_for(started->pid);
  return status == 0 ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

std::string program_copy(const Machine& machine) {
  return data_folder(machine) + "/bin/lockkeeper";
}

bool is_in_system_folder(std::string_view program) {
  // npm replaces its folder at each upgrade, and then the program is missing for a while.
  if (program.contains("/node_modules/")) return false;
  return std::ranges::any_of(kSystemFolders,
                             [&](std::string_view folder) { return program.starts_with(folder); });
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto split = [](std::string_view text) {
    const std::size_t dash = std::min(text.find_first_of("-+"), text.size());
    return std::pair(words_in(text.substr(0, dash), "."), text.substr(dash));
  };
  const auto [numbers_a, rest_a] = split(a);
  const auto [numbers_b, rest_b] = split(b);
  for (std::size_t i = 0; i < std::max(numbers_a.size(), numbers_b.size()); ++i) {
    const auto number = [i](const std::vector<std::string>& numbers) {
      return i < numbers.size() ? number_in<std::uint32_t>(numbers[i]).value_or(0) : 0;
    };
    const std::uint32_t one = number(numbers_a);
    const std::uint32_t other = number(numbers_b);
    if (one != other) return one < other ? -1 : 1;
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty() ? 1 : -1;
  return rest_a.compare(rest_b);
}

std::optional<std::string> version_of(const std::string& program) {
  const auto text = first_output(program);
  if (!text) return std::nullopt;
  for (const std::string& word : words_in(*text, " \t\r\n")) {
    if (is_ascii_digit(word.front()) && word.contains('.')) return word;
  }
  return std::nullopt;
}

Result<InstalledProgram> look_at_program(const Machine& machine, const ProgramRequest& request) {
  using How = InstalledProgram::How;
  if (!request.self.starts_with('/') || hidden_in(request.self)) {
    return fail(Code::kInvalidInput,
                "the program " + quote(request.self) + " is not an absolute path in UTF-8");
  }
  InstalledProgram found;
  if (is_in_system_folder(request.self)) {
    found.path = request.self;
    return found;
  }
  found.path = program_copy(machine);
  if (hidden_in(found.path)) {
    return fail(Code::kInvalidInput, "the path " + quote(found.path) + " is not plain UTF-8",
                "set XDG_DATA_HOME to another folder");
  }
  found.how = How::kUpToDate;
  if (is_same_file(request.self, found.path) || has_same_bytes(request.self, found.path)) {
    return found;
  }
  found.how = How::kCopied;
  if (!is_there(found.path)) return found;
  const auto version = request.ask(found.path);
  found.other_version = version.value_or("");
  const bool newer = version && compare_versions(*version, request.version) > 0;
  found.how = newer && !request.downgrade ? How::kKeptNewer : How::kReplaced;
  return found;
}

Result<InstalledProgram> install_program(const Machine& machine, const ProgramRequest& request) {
  using How = InstalledProgram::How;
  LK_ASSIGN(InstalledProgram found, look_at_program(machine, request));
  if (found.how != How::kCopied && found.how != How::kReplaced) return found;
  LK_ASSIGN(const std::string bytes, read_file(request.self, kProgramBytesMax));
  LK_ASSIGN(found.folders, make_folders(realm::parent_path(found.path)));
  Replacing how;
  how.mode = kProgramMode;
  LK_CHECK(replace_file_durably(found.path, bytes, how));
  return found;
}

Result<bool> remove_program(const Machine& machine) {
  const std::string path = program_copy(machine);
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return fail(errno_error(errno, path, Code::kFailed));
  }
  const std::string folder = realm::parent_path(path);
  ::rmdir(folder.c_str());
  ::rmdir(realm::parent_path(folder).c_str());
  return true;
}

}  // namespace lockkeeper::install
