// `serve`: the hub. Declares its flags, then calls CliEnvironment::serve. `open`: its page, by
// CliEnvironment::open. `token`: who may use it.
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "base/text.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "hub/people/tokens.h"

namespace lockkeeper::cli {
namespace {

void declare_token_file(Arguments& arguments, std::optional<std::string>& file) {
  arguments.value("--token-file", file, "FILE",
                  "the hub's tokens (default:\n~/.config/lockkeeper/hub-tokens)");
  arguments.offer(Arguments::Complete::kFiles);
}

Result<std::string> token_file(const VerbContext& context, const std::optional<std::string>& file) {
  if (file) return *file;
  return hub::default_token_file(context.runtime().env);
}

service::Json person_json(const hub::Person& person) {
  service::Json roles = service::Json::array();
  for (const hub::Role role :
       {hub::Role::kRead, hub::Role::kLock, hub::Role::kBreak, hub::Role::kAdmin}) {
    if (person.has(role)) roles.push_back(hub::role_name(role));
  }
  return {{"name", person.name}, {"roles", std::move(roles)}, {"realms", person.realms}};
}

Result<int> token_add(VerbContext& context) {
  std::vector<std::string> names, roles, realms;
  std::optional<std::string> file;
  Arguments& arguments = context.arguments();
  arguments.words("NAME", names, "the person or machine; part of its agents' names");
  arguments.values("--role", roles, "ROLE",
                   "read, lock, break or admin; may be repeated\n(default: read and lock)");
  arguments.offer({"read", "lock", "break", "admin"});
  arguments.values("--for", realms, "REALM",
                   "a realm, or a pattern with *; may be repeated\n(default: every realm)");
  declare_token_file(arguments, file);
  if (const auto status = context.parse_some(names, "a name")) return *status;
  if (names.size() > 1) return context.refuse_usage("takes one name");
  hub::Person person{names.front(), 0, realms.empty() ? std::vector<std::string>{"*"} : realms};
  if (!hub::is_person_name(person.name)) {
    return fail(Code::kInvalidInput, "the name " + quote(person.name) + " cannot be used",
                "use letters, digits, '.', '_' and '-', at most 64");
  }
  for (const std::string& realm : person.realms) {
    if (!realm.empty() && realm.find_first_of(", \t\r\n#") == std::string::npos) continue;
    return fail(Code::kInvalidInput, "the realm " + quote(realm) + " cannot be used",
                "write a name such as github.com/org/repo, or a pattern such as github.com/org/*");
  }
  if (roles.empty()) roles = {"read", "lock"};
  for (const std::string& name : roles) {
    LK_ASSIGN(const hub::Role role, hub::parse_role(name));
    person.roles |= static_cast<unsigned>(role);
  }
  LK_ASSIGN(const std::string path, token_file(context, file));
  LK_ASSIGN(const std::string token, hub::add_token(path, person));
  service::Json json = person_json(person);
  json["token"] = token;
  context.out().object(json);
  context.out().text(token);
  context.out().note("this is shown once; " + shell_quote(path) + " has only its digest");
  return 0;
}

Result<int> token_list(VerbContext& context) {
  std::optional<std::string> file;
  declare_token_file(context.arguments(), file);
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const std::string path, token_file(context, file));
  LK_ASSIGN(const hub::TokenEntries entries, hub::read_tokens(path));
  service::Json json{{"tokens", service::Json::array()}};
  for (const hub::TokenEntry& entry : entries) {
    json["tokens"].push_back(person_json(entry.person));
    const std::string line = hub::to_line(entry);
    context.out().text(line.substr(0, line.find(" sha256:")));
  }
  context.out().object(json);
  return 0;
}

Result<int> token_remove(VerbContext& context) {
  std::vector<std::string> names;
  std::optional<std::string> file;
  context.arguments().words("NAME", names, "whose tokens");
  declare_token_file(context.arguments(), file);
  if (const auto status = context.parse_some(names, "a name")) return *status;
  if (names.size() > 1) return context.refuse_usage("takes one name");
  LK_ASSIGN(const std::string path, token_file(context, file));
  LK_ASSIGN(const std::size_t removed, hub::remove_tokens(path, names.front()));
  context.out().object({{"removed", removed}});
  context.out().text("removed " + counted(removed, "token") + " of " + names.front() +
                     "; a running hub refuses " + (removed == 1 ? "it" : "them") +
                     " within a second");
  return 0;
}

constexpr Verb kTokenSubcommands[] = {
    {"add", "Make a token for a person or a machine, and print it",
     "  lockkeeper token add alice\n"
     "  lockkeeper token add ci --role read --for 'github.com/org/*'\n"
     "  lockkeeper token add ops --role read --role break --role admin\n",
     token_add},
    {"list", "Show whose tokens there are, and what they may do", "  lockkeeper token list\n",
     token_list, Does::kLook},
    {"remove", "Remove the tokens of a person or a machine", "  lockkeeper token remove alice\n",
     token_remove},
};

}  // namespace

std::span<const Verb> token_subcommands() {
  return kTokenSubcommands;
}

Result<int> serve_verb(VerbContext& context) {
  ServeOptions options;
  Arguments& arguments = context.arguments();
  arguments.value("--listen", options.listen, "ADDRESS",
                  "where (default: 127.0.0.1:7420); unix:PATH for a\nsocket of this user alone");
  arguments.values("--realm", options.realms, "NAME=DIR",
                   "serve this repository under a name; may be repeated\n(default: the current "
                   "one)");
  arguments.flag("--auto-realms", options.auto_realms, "create the realms that clients name");
  arguments.value("--tls-cert", options.tls_cert, "FILE", "the certificate with its chain, PEM");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--tls-key", options.tls_key, "FILE", "its key, PEM");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--host", options.hosts, "NAME",
                   "a host name that clients use for this server; may\nbe repeated");
  declare_token_file(arguments, options.token_file);
  arguments.flag("--no-auth", options.no_auth, "accept everybody; loopback only");
  if (const auto status = context.parse()) return *status;
  LOCKKEEPER_ASSERT(context.environment().serve);
  return context.environment().serve(context, options);
}

Result<int> open_verb(VerbContext& context) {
  OpenOptions options;
  context.arguments().flag("--print", options.print,
                           "print the address instead; it logs in once, within a\nminute");
  if (const auto status = context.parse()) return *status;
  LOCKKEEPER_ASSERT(context.environment().open);
  return context.environment().open(context, options);
}

}  // namespace lockkeeper::cli
