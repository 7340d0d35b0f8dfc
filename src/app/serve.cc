#include "app/serve.h"

#include <signal.h>

#include <climits>
#include <cstdlib>
#include <optional>

#include "app/etcd_place.h"
#include "base/text.h"
#include "host/service_manager.h"
#include "host/signals.h"
#include "hub/hub.h"
#include "realm/disk_path.h"
#include "realm/realm_request.h"
#include "wiring/etcd/etcd_store.h"

namespace lockkeeper::app {
namespace {

constexpr const char* kUsualAddress = "127.0.0.1:7420";
constexpr std::size_t kRealmsTold = 5;
constexpr std::size_t kConnectionsMax = 10'000;

Result<void> check_options(const cli::ServeOptions& options) {
  if (options.tls_cert.has_value() != options.tls_key.has_value()) {
    return fail(Code::kUsage, "--tls-cert and --tls-key belong together", "give both");
  }
  if (options.no_auth && options.token_file) {
    return fail(Code::kUsage, "--no-auth and --token-file contradict each other",
                "use only one of them");
  }
  return {};
}

Result<http::Options> server_options(const cli::ServeOptions& options,
                                     const realm::Environment& env) {
  http::Options server;
  LK_ASSIGN(server.inherited, host::inherited_socket(env));
  LK_ASSIGN(server.door.address, http::parse_address(options.listen.value_or(kUsualAddress)));
  server.door.names = options.hosts;
  if (options.tls_cert) server.tls = http::TlsFiles{*options.tls_cert, *options.tls_key};
  server.tls_beyond_loopback = true;
  server.limits.connections = kConnectionsMax;
  return server;
}

// The store to name for the realm of --store: of one on etcd, the folder on this machine.
Result<std::string> local_store(const std::string& given, service::Runtime& runtime,
                                std::optional<EtcdPlace>& on_etcd) {
  if (!wiring::is_etcd(given)) return given;
  LK_ASSIGN(const std::string wanted, etcd_folder(given, runtime.env));
  const std::string parent(realm::parent_path(wanted));
  LK_CHECK(make_folders(parent));
  char physical[PATH_MAX];  // as the realm will name it
  if (::realpath(parent.c_str(), physical) == nullptr) return fail(errno_error(errno, parent));
  const std::string folder = realm::join_path(physical, realm::last_name(wanted));
  on_etcd.emplace(given, folder, *runtime.clock);
  on_etcd->put_into(runtime);
  return "lmdb:" + folder;
}

// The realm around the caller's folder, for a hub that was not told which to serve.
Result<realm::Realm> realm_here(cli::VerbContext& context) {
  const realm::Environment& env = context.runtime().env;
  realm::FindRealm request = realm::realm_request(context.common().realm.value_or(""), env);
  return realm::find_realm(request);
}

Result<void> open_realms(cli::VerbContext& context, const cli::ServeOptions& options,
                         hub::HubRealms& realms, const std::string& store, bool only_named) {
  for (const std::string& text : options.realms) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      return fail(Code::kUsage, "--realm " + quote(text) + " has no folder",
                  "write --realm NAME=DIR");
    }
    if (!store.empty() && options.realms.size() > 1) {
      return fail(Code::kUsage, "--store is for one realm, and there are several", "omit it");
    }
    LK_CHECK(realms.add(text.substr(0, equals), text.substr(equals + 1), store));
  }
  if (only_named) return {};
  LK_ASSIGN(const std::vector<std::string> busy, realms.open_created());
  if (!busy.empty()) {
    context.out().warning("another hub serves " + shown_list(busy, kRealmsTold) +
                          "; this one does not");
  }
  if (!options.realms.empty() || options.auto_realms || !realms.all().empty()) return {};
  const bool on_etcd = wiring::is_etcd(context.common().store.value_or(""));
  LK_ASSIGN(const realm::Realm here, on_etcd ? realm_here(context) : context.realm({}));
  LK_ASSIGN(const std::string name, served_name(here, context.runtime().env));
  return realms.add(name, here.root, store);
}

// Whether it can be used is told at once, and not to the first client.
Result<void> open_shared(hub::Desk& desk, hub::HubRealms& realms, const std::string& store,
                         const EtcdPlace& place, const service::Runtime& runtime) {
  for (hub::HubRealm* const realm : realms.all()) {
    if (realm->site.realm().store_url != store) continue;
    LK_CHECK(realm->site.table().has_store());
    auto presence =
        std::make_unique<hub::Presence>(realm->site, *runtime.clock, *runtime.random, place.self());
    LK_CHECK(presence->keep_up(""));
    realm->share(std::move(presence));
    desk.shared = realm;
  }
  return {};
}

// Null: everybody is welcome. `file`: where they are.
Result<std::unique_ptr<hub::Tokens>> open_tokens(const cli::ServeOptions& options,
                                                 const realm::Environment& env, bool needed,
                                                 std::string& file) {
  if (options.no_auth) return nullptr;
  file = options.token_file.value_or("");
  if (file.empty()) {
    LK_ASSIGN(file, hub::default_token_file(env));
  }
  return hub::Tokens::open(file, needed);
}

// Where a browser on this machine finds it.
std::string place_of(const cli::ServeOptions& options, const http::Address& address) {
  if (!address.socket.empty()) return address.text();
  http::Address here = address;
  if (address.is_any()) here.host = address.v6 ? "::1" : "127.0.0.1";
  if (!options.tls_cert) return "http://" + here.text();
  if (options.hosts.empty()) return "https://" + here.text();
  return "https://" + options.hosts.front() + ":" + std::to_string(address.port);
}

void tell_start(cli::Output& out, bool encrypted, const http::Address& address,
                const hub::HubRealms& realms, const std::string& tokens) {
  std::vector<std::string> names;
  for (const hub::HubRealm* const realm : realms.all()) names.push_back(realm->name);
  const std::string scheme = encrypted ? "https://" : "http://";
  out.note("serving " + (address.socket.empty() ? scheme : "") + address.text() +
           (names.empty() ? ", no realm yet" : ", realms " + join(names, ", ")) +
           (tokens.empty() ? ", without tokens" : ", tokens in " + shell_quote(tokens)));
}

}  // namespace

Result<std::string> served_name(const realm::Realm& realm, const realm::Environment& env) {
  std::vector<Error> mistakes;  // told by whoever locks
  LK_ASSIGN(const realm::Settings settings, realm::load_settings(realm, env, &mistakes));
  std::string name = realm::name_on_hub(realm, settings);
  if (!name.empty()) return name;
  name = cut_utf8(realm.name, 100);
  std::ranges::replace_if(name, [](char c) { return !is_name_character(c); }, '-');
  return name.empty() || name == "." || name == ".." ? "realm" : name;
}

Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options) {
  return serve_hub(context, options, nullptr);
}

Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options,
                      const ServeForPage* page) {
  LK_CHECK(check_options(options));
  ::signal(SIGPIPE, SIG_IGN);
  const Fd ended = host::hold_end_signals();
  service::Runtime runtime = context.runtime();
  runtime.is_hub = true;
  LK_ASSIGN(http::Options server, server_options(options, runtime.env));
  if (server.inherited < 0) {  // before anything is touched
    LK_CHECK(http::check_reach(server.door.address, !options.no_auth, server.tls.has_value()));
  }
  LK_ASSIGN(const std::string folder, hub_folder(runtime.env));
  std::optional<EtcdPlace> on_etcd;
  LK_ASSIGN(const std::string store,
            local_store(context.common().store.value_or(""), runtime, on_etcd));
  hub::HubRealms realms(runtime, folder, options.auto_realms);
  hub::Desk desk(*runtime.clock);
  runtime.remote_alive = [&](const core::Attachment& client) {
    return hub::remote_alive(desk, client);
  };
  runtime.woken = [&](const std::vector<std::uint64_t>& words) { desk.waits.woken(words); };
  if (on_etcd) desk.may_vouch = [&] { return on_etcd->may_vouch(); };
  LK_CHECK(open_realms(context, options, realms, store, page != nullptr));
  if (on_etcd) LK_CHECK(open_shared(desk, realms, store, *on_etcd, runtime));
  std::string file;
  LK_ASSIGN(const auto tokens, open_tokens(options, runtime.env, page == nullptr, file));
  hub::Hub hub(desk, realms, tokens.get(), runtime, LOCKKEEPER_VERSION);
  if (tokens)
    server.door.admits = [&](const http::Request& request) { return hub.admits(request); };
  std::string told;
  server.every_second = [&] {
    const auto followed = hub.every_second();
    const std::string message = followed ? "" : followed.error().message;
    if (!message.empty() && message != told) {
      context.out().warning(message + "; the earlier tokens stay");
    }
    told = message;
  };
  server.at_end = [&] {
    host::tell_manager(runtime.env, "STOPPING=1");
    hub.close();
  };
  const bool encrypted = server.tls.has_value();
  LK_ASSIGN(const auto opened,
            http::Server::open(std::move(server), [&](const http::Request& request,
                                                      const std::shared_ptr<http::Reply>& reply) {
              hub.handle(request, reply);
            }));
  hub.count_connections([&] { return opened->connections(); });
  const std::string place = place_of(options, opened->address());
  for (hub::HubRealm* const realm : realms.all()) {
    LK_CHECK(realm->tell_place(place, tokens != nullptr));
    LK_CHECK(realm->keep_presence());
  }
  if (page != nullptr) {
    LK_CHECK(page->ready());
  } else {
    tell_start(context.out(), encrypted, opened->address(), realms, file);
  }
  host::tell_manager(runtime.env, "READY=1");
  if (on_etcd) {
    on_etcd->listen([&](const std::vector<std::string>& keys) { desk.rows_changed(keys); });
  }
  opened->run(ended.get());
  if (on_etcd) on_etcd->listen({});
  if (desk.shared != nullptr) desk.shared->presence()->leave();
  return 0;
}

}  // namespace lockkeeper::app
