// CoordMCP's environment variables.
#include "base/parse.h"
#include "base/text.h"
#include "dialect/coordmcp/calls.h"
#include "realm/user.h"

namespace lockkeeper::dialect::coordmcp {

Result<Config> read_config(const realm::Environment& env) {
  Config config;
  if (const auto dir = realm::variable(env, "COORDMCP_DATA_DIR")) {
    config.data_dir = *dir;
  } else if (const auto home = realm::home_folder(env)) {
    config.data_dir = *home + "/.coordmcp/data";
  }
  if (!config.data_dir.starts_with('/')) {
    return fail(Code::kInvalidInput,
                "CoordMCP's data folder " + quote(config.data_dir) + " is not an absolute path",
                "set COORDMCP_DATA_DIR or HOME to an absolute path");
  }
  if (const auto hours = realm::variable(env, "COORDMCP_LOCK_TIMEOUT_HOURS")) {
    LK_ASSIGN(config.timeout_ms, parse_hours(*hours, "COORDMCP_LOCK_TIMEOUT_HOURS"));
    config.timeout_hours = *hours;
  }
  if (const auto most = realm::variable(env, "COORDMCP_MAX_FILE_LOCKS_PER_AGENT")) {
    config.max_locks = number_in<std::size_t>(*most).value_or(0);
    if (config.max_locks == 0) {
      return fail(Code::kInvalidInput,
                  "COORDMCP_MAX_FILE_LOCKS_PER_AGENT " + quote(*most) + " is not a number above 0",
                  "set it to a number such as 100");
    }
  }
  if (const auto clean = realm::variable(env, "COORDMCP_AUTO_CLEANUP_STALE_LOCKS")) {
    const bool no = *clean == "false" || *clean == "False" || *clean == "0" || *clean == "no";
    const bool yes = *clean == "true" || *clean == "True" || *clean == "1" || *clean == "yes";
    if (!no && !yes) {
      return fail(
          Code::kInvalidInput,
          "COORDMCP_AUTO_CLEANUP_STALE_LOCKS " + quote(*clean) + " is neither true nor false",
          "write true or false");
    }
    config.auto_cleanup = yes;
  }
  return config;
}

}  // namespace lockkeeper::dialect::coordmcp
