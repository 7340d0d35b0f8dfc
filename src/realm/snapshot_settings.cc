#include "realm/snapshot_settings.h"

#include <algorithm>
#include <limits>

#include "base/parse.h"
#include "base/text.h"
#include "realm/config.h"
#include "realm/hook_settings.h"

namespace lockkeeper::realm {
namespace {

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};
// The largest first; format_bytes() takes the first that fits.
constexpr ByteUnit kByteUnits[] = {
    {"GiB", 1024 * kMiB}, {"MiB", kMiB}, {"KiB", 1024}, {"", 1}, {"B", 1}};

// What copies of a file are called.
constexpr std::string_view kCopyEndings[] = {".bak",  ".backup", ".orig", ".old",
                                             ".save", ".swp",    "~"};

}  // namespace

std::vector<std::string> default_secrets() {
  return {".env*",
          "*.env",
          "*.pem",
          "*.key",
          "*.p12",
          "*.pfx",
          "*.jks",
          "*.keystore",
          "id_rsa*",
          "id_dsa*",
          "id_ecdsa*",
          "id_ed25519*",
          ".netrc",
          ".npmrc",
          ".pypirc",
          ".git-credentials",
          "credentials",
          "credentials.json",
          "credentials.y*ml",
          "credentials.toml",
          "credentials.ini",
          "secrets.json",
          "secrets.y*ml",
          "secrets.toml",
          ".aws/",
          ".ssh/",
          ".gnupg/",
          ".htpasswd",
          ".docker/config.json",
          "*.tfstate",
          "service-account*.json",
          "kubeconfig",
          ".kube/"};
}

bool snapshot_is_secret(const Settings& settings, std::string_view path) {
  // As file systems that ignore case would find it, and without what editors add to copies.
  std::vector<std::string> patterns = settings.snapshots_only_hash.value;
  for (std::string& pattern : patterns) pattern = lowered(pattern);
  std::string name = lowered(path);
  for (bool again = true; again;) {
    if (matches_ignore_patterns(patterns, name)) return true;
    again = false;
    for (const std::string_view copy : kCopyEndings) {
      if (!name.ends_with(copy)) continue;
      name.resize(name.size() - copy.size());
      again = true;
    }
  }
  return false;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view unit = text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto number = number_in<std::uint64_t>(text.substr(0, digits));
  for (const ByteUnit& known : kByteUnits) {
    if (!number || lowered(known.name) != lowered(unit)) continue;
    if (*number > std::numeric_limits<std::uint64_t>::max() / known.bytes) break;
    return *number * known.bytes;
  }
  return fail(Code::kInvalidInput, quote(text, 60) + " is not a number of bytes",
              "write 256MiB, 64KiB or 1GiB");
}

std::string format_bytes(std::uint64_t bytes) {
  for (const ByteUnit& unit : kByteUnits) {
    if (bytes % unit.bytes == 0 && bytes >= unit.bytes) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return "0";
}

}  // namespace lockkeeper::realm
