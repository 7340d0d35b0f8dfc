#include "app/open.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/serve.h"
#include "base/bytes.h"
#include "base/text.h"
#include "host/file_ops.h"
#include "host/listener.h"
#include "host/spawn.h"
#include "hub/people/passes.h"
#include "hub/people/person.h"
#include "realm/user.h"

namespace lockkeeper::app {
namespace {

constexpr std::uint16_t kUsualPort = 7420;
constexpr std::size_t kPlaceBytes = 4'096;

// nullopt: no hub serves this store. A hub that has just begun is waited for.
Result<std::optional<hub::HubPlace>> running_hub(const std::string& store) {
  constexpr int kTries = 50;
  constexpr useconds_t kPauseUs = 100'000;
  for (int i = 0; i < kTries; ++i) {
    LK_ASSIGN(const auto folder, Folder::find(store));
    if (!folder) return std::nullopt;
    LK_ASSIGN(const bool runs, host::is_locked(*folder, hub::kHubLockName));
    if (!runs) return std::nullopt;
    LK_ASSIGN(const auto line, folder->read(hub::kHubLockName, kPlaceBytes));
    if (auto place = hub::parse_place(line.value_or(""))) return place;
    ::usleep(kPauseUs);
  }
  return fail(Code::kFailed, "a hub serves the locks in " + quote(store) + " but says not where",
              "open its address in a browser, or stop it and try again");
}

// Whose actions the history will show.
std::string person_here(const realm::Environment& env) {
  if (auto name = realm::variable(env, "USER"); name && hub::is_person_name(*name)) return *name;
  const auto user = realm::find_user(::geteuid());
  return user && hub::is_person_name(user->name) ? user->name : "me";
}

std::string file_url(const std::string& path) {
  std::string url = "file://";
  for (const char c : path) {
    url += is_name_character(c) || c == '/' ? std::string(1, c)
                                            : "%" + to_hex(std::string_view(&c, 1));
  }
  return url;
}

// False: nothing here can open it.
bool show_in_browser(const std::string& path) {
  constexpr int kTries = 20;
  constexpr useconds_t kPauseUs = 100'000;
  host::Program program;
  program.argv = {"xdg-open", file_url(path)};
  program.in = program.out = program.err = host::kNothing;
  program.group = host::Program::Group::kSession;
  const auto started = host::start(program);
  if (!started || started->exec_errno != 0) return false;
  // It may be the browser itself, which stays. What fails does so soon.
  for (int i = 0; i < kTries; ++i) {
    int status = 0;
    if (::waitpid(started->pid, &status, WNOHANG) == started->pid) {
      return host::shell_status(status) == 0;
    }
    ::usleep(kPauseUs);
  }
  return true;
}

struct Opening {
  cli::VerbContext& context;
  const cli::OpenOptions& options;
  const std::string store;
};

Result<void> show_page(const Opening& opening, const hub::HubPlace& place, bool started) {
  cli::Output& out = opening.context.out();
  if (place.is_socket()) {
    return fail(Code::kFailed,
                "the hub of this realm listens on the socket " + quote(place.address) +
                    ", which no browser opens",
                "stop it and try again, or start it with --listen 127.0.0.1:7420");
  }
  std::string url = place.address + "/";
  if (place.asks && place.user != ::geteuid()) {
    const auto other = realm::find_user(place.user);
    return fail(Code::kOperationNotPermitted,
                "the hub of this realm is run by " +
                    (other ? other->name : "user " + std::to_string(place.user)) +
                    ", and only they can let you in",
                "ask them for a token, and open " + url);
  }
  if (place.asks) {
    LK_ASSIGN(const std::string pass, hub::make_pass(opening.store, place.realm,
                                                     person_here(opening.context.runtime().env)));
    url += "#pass=" + pass;
  }
  bool print = opening.options.print;
  if (!print) {
    LK_ASSIGN(const std::string way, hub::make_way(opening.store, url));
    print = !show_in_browser(way);
    if (print) out.note("no browser could be started; open this address yourself");
  }
  out.object(
      {{"url", print ? url : place.address + "/"}, {"opened", !print}, {"started", started}});
  if (print) {
    out.text(url);
    if (place.asks) out.note("it logs in once, within a minute");
  } else {
    out.text("opened " + place.address + "/ in your browser");
  }
  out.flush();
  return {};
}

}  // namespace

Result<int> open_page(cli::VerbContext& context, const cli::OpenOptions& options) {
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  const Opening opening{context, options, realm.store_folder};
  LK_ASSIGN(const auto place, running_hub(opening.store));
  if (place) {
    LK_CHECK(show_page(opening, *place, false));
    return 0;
  }
  cli::ServeOptions serve;
  serve.listen = host::may_have_listener(kUsualPort) ? "127.0.0.1:0"
                                                     : "127.0.0.1:" + std::to_string(kUsualPort);
  LK_ASSIGN(const std::string name, served_name(realm, context.runtime().env));
  serve.realms = {name + "=" + realm.root};
  ServeForPage page;
  page.ready = [&]() -> Result<void> {
    LK_ASSIGN(const auto own, running_hub(opening.store));
    if (!own) return fail(Code::kFailed, "the hub has lost its lock in " + quote(opening.store));
    LK_CHECK(show_page(opening, *own, true));
    context.out().note("no hub was running: this one serves the page until Ctrl-C");
    return {};
  };
  return serve_hub(context, serve, &page);
}

}  // namespace lockkeeper::app
