#include "hub/mcp_rooms.h"

#include "base/text.h"
#include "mcp/audience.h"
#include "mcp/http/streamable.h"
#include "mcp/locks/lock_watch.h"
#include "mcp/locks/server.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kRoomsMax = 256;  // each has a thread that sleeps

mcp::locks::LockServerOptions options_for(const Person& person, const std::string& version) {
  mcp::locks::LockServerOptions options;
  options.caller.who.agent = "mcp";
  options.caller.strangers = true;
  options.caller.sign = [person](const core::Owner& owner) { return person.signed_owner(owner); };
  options.version = version;
  return options;
}

}  // namespace

struct McpRooms::Room {
  Room(Desk& desk, HubRealm& realm, const Person& person, mcp::Pool& pool,
       const std::string& version)
      : door(desk, realm, person, Door::From::kHere),
        site(realm.site, door),
        server(site, options_for(person, version)),
        watch(
            server.reader(), [this] { return audience.watched(); },
            [this](const std::string& uri) { audience.resource_changed(uri); }),
        catalogue(server.catalogue()),
        endpoint(catalogue, pool, audience, options()) {
    catalogue.watch = [this](const std::string& uri) { watch.expect(uri); };
    catalogue.arrived = [this](const std::string& visitor) { server.arrived(visitor); };
    catalogue.gone = [this](const std::string& visitor, bool orderly) {
      server.gone(visitor, orderly);
    };
  }
  static mcp::StreamableOptions options() {
    mcp::StreamableOptions options;
    options.tokens_differ = true;
    return options;
  }

  Door door;
  service::Site site;
  mcp::locks::LockServer server;
  mcp::Audience audience;
  mcp::locks::LockWatch watch;
  mcp::Catalogue catalogue;
  mcp::Streamable endpoint;
};

McpRooms::McpRooms(Desk& desk, HubRealms& realms, mcp::Pool& pool, std::string version)
    : desk_(desk), realms_(realms), pool_(pool), version_(std::move(version)) {}
McpRooms::~McpRooms() = default;

Result<McpRooms::Room*> McpRooms::room_of(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kRead));
  LK_ASSIGN(HubRealm* const realm, realms_.find(visit.target.value("realm"), visit.person));
  // Other roles, for example after a rotation, are another door.
  const Person& person = visit.person;
  const std::string key = realm->name + '\n' + person.name + '\n' + std::to_string(person.roles) +
                          '\n' + join(person.realms, ",");
  const std::lock_guard hold(mutex_);
  auto& room = rooms_[key];
  if (!room) {
    if (rooms_.size() > kRoomsMax) {
      rooms_.erase(key);
      return fail(Code::kLimitExceeded, "too many people use MCP on this hub", "try again later");
    }
    room = std::make_unique<Room>(desk_, *realm, person, pool_, version_);
  }
  return room.get();
}

void McpRooms::handle(const Visit& visit) {
  const auto room = room_of(visit);
  if (!room) return answer(*visit.reply, room.error());
  (*room)->endpoint.handle(visit.request, visit.reply);
}

void McpRooms::sweep() {
  const std::lock_guard hold(mutex_);
  for (const auto& [key, room] : rooms_) room->endpoint.sweep();
}

void McpRooms::close() {
  const std::lock_guard hold(mutex_);
  for (const auto& [key, room] : rooms_) room->endpoint.close();
}

}  // namespace lockkeeper::hub
