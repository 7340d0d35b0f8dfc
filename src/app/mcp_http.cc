#include "app/mcp_http.h"

#include "base/text.h"
#include "http/token.h"
#include "layout/make_store.h"
#include "mcp/http/streamable.h"

namespace lockkeeper::app {
namespace {

constexpr const char* kTokenName = "http-token";

}  // namespace

Result<void> check_http(const cli::McpOptions& options) {
  if (!options.http) {
    if (!options.token_file && !options.no_auth) return {};
    return fail(Code::kUsage,
                std::string(options.no_auth ? "--no-auth" : "--token-file") + " needs --http",
                "add --http 127.0.0.1:7420");
  }
  if (options.token_file && options.no_auth) {
    return fail(Code::kUsage, "--no-auth and --token-file contradict each other",
                "use only one of them");
  }
  LK_ASSIGN(const http::Address address, http::parse_address(*options.http));
  if (!options.no_auth || address.is_loopback()) return {};
  return fail(
      Code::kUsage,
      "--no-auth accepts everybody, and " + address.text() + " can be reached from other machines",
      "omit --no-auth, or listen on 127.0.0.1");
}

Result<void> serve_mcp_http(const cli::McpOptions& options, const realm::Realm& realm,
                            const mcp::Catalogue& catalogue, mcp::Pool& pool,
                            mcp::Audience& audience, int ended, cli::Output& out) {
  http::Door door;
  LK_ASSIGN(door.address, http::parse_address(*options.http));
  std::string file;
  if (!options.no_auth) {
    if (!options.token_file) LK_CHECK(layout::create_store_folder(realm));
    file = options.token_file.value_or(realm.store_folder + "/" + kTokenName);
    LK_ASSIGN(door.token, http::read_or_make_token(file));
  }
  mcp::StreamableOptions how;
  how.tokens_differ = door.token && door.token->contains('\n');
  mcp::Streamable endpoint(catalogue, pool, audience, how);
  return mcp::serve_http(endpoint, std::move(door), ended, [&](const http::Address& address) {
    const std::string url = "http://" + address.text() + "/mcp";
    out.note("serving " + url +
             (file.empty() ? ", without a token" : ", token in " + shell_quote(file)));
  });
}

}  // namespace lockkeeper::app
