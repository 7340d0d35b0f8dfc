#include "relay/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/json.h"
#include "base/text.h"
#include "host/file_ops.h"
#include "host/local_socket.h"
#include "host/pipes.h"
#include "host/process.h"
#include "host/signals.h"
#include "relay/contact.h"
#include "relay/hub_link.h"
#include "relay/places.h"
#include "relay/tenants.h"
#include "remote/relay_line.h"

namespace lockkeeper::relay {
namespace {

constexpr int kProbeMs = 20;  // how soon a death is seen
constexpr int kNobodyMs = 1'000;
constexpr std::int64_t kIdleMs = 30'000;
constexpr int kLookMs = 100;  // how soon a beat goes out that is due
constexpr std::int64_t kBeatAgainMs = 1'000;
constexpr int kAwaitMostMs = 1'000;
constexpr int kLoginMs = 8'000;
constexpr int kOneOfManyMs = 4'000;  // of several hubs, while somebody looks on
constexpr std::chrono::milliseconds kLeaveAgain(100);
constexpr std::size_t kLineBytesMax = 4U << 20;
constexpr std::size_t kConnectionsMax = 1'000;
constexpr const char* kBeatFile = "beat";
constexpr const char* kLockFile = "relay.lock";

std::string error_line(const Error& error) {
  const Json json{
      {"error",
       {{"code", code_name(error.code)}, {"message", error.message}, {"hint", error.hint}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Relay {
 public:
  Relay(Tenants& tenants, Contact& contact, host::Pipe wake)
      : tenants_(tenants), contact_(contact), wake_(std::move(wake)) {}

  // Until nobody needs it, `folder` is gone or `ended` can be read.
  void serve(const Folder& folder, int listening, int ended);

 private:
  // One connection.
  struct Talker {
    int socket = -1;
    std::string process;
    bool awaiting = false;   // its thread hears nothing meanwhile
    bool abandoned = false;  // the process has gone, and what it waited for is left
  };
  using Rules = std::map<std::string, std::string>;  // of keys, by realm

  void talk(const Fd& socket, std::uint64_t talker);
  std::vector<std::pair<std::uint64_t, int>> awaiting();
  void set_awaiting(std::uint64_t talker, bool awaiting);
  bool has_left(std::uint64_t talker);
  void check_awaiting(std::uint64_t talker);
  void beat_on();
  std::string answer(std::uint64_t talker, const std::string& process, const std::string& realm,
                     const std::string& line);
  std::string note_rules(const std::string& process, const std::string& realm, const Json& call);
  std::string with_rules(const std::string& process, const std::string& realm, std::string body);
  Result<std::string> await(std::uint64_t talker, const std::string& process,
                            const std::string& realm, Json& call);
  using Numbers = std::vector<std::uint64_t>;
  Result<Numbers> translate(Json& call);
  Result<void> translate_one(Json& with, const char* name, Numbers& numbers);
  Result<std::string> forward(const std::string& realm, std::string body, int held_ms,
                              bool about_tenants);
  void joined(std::uint64_t talker, const std::string& process);
  void left(const std::string& process);
  void leave_queue(const std::string& id);
  bool try_leave(const std::string& id);

  Tenants& tenants_;
  Contact& contact_;
  const host::Pipe wake_;

  Places places_;

  std::mutex mutex_;  // protects what is below
  std::condition_variable urgent_;
  bool died_ = false;
  std::map<std::uint64_t, Talker> talkers_;
  std::uint64_t last_talker_ = 0;
  std::map<std::string, Rules> rules_;  // by process, until the hub has seen them
};

// --- beats ---------------------------------------------------------------------------------------

// A hub that does not know the token any more (logout, a token that was removed) will not know it
// in a second either, and nobody here can keep anything there.
void Relay::beat_on() {
  std::unique_lock hold(mutex_);
  std::int64_t next = 0;
  for (;;) {
    const std::int64_t now = host::since_boot_ms();
    const auto time =
        std::chrono::milliseconds(std::clamp<std::int64_t>(next - now, kLookMs, 1'000));
    urgent_.wait_for(hold, time, [this] { return died_; });
    const bool due = died_ || host::since_boot_ms() >= next;
    died_ = false;
    // With several addresses the session is what makes late calls void, so it must go on.
    const bool needed = !tenants_.empty() || (contact_.has_several() && !talkers_.empty());
    if (!due || !needed) continue;
    hold.unlock();
    const Result<void> beaten = contact_.beat();
    const bool refused = !beaten && !is_silence(beaten.error().code);
    if (refused && contact_.is_over()) tenants_.forget();
    const bool again = !beaten && !refused && !contact_.is_over();
    next = host::since_boot_ms() + (again ? kBeatAgainMs : realm::kBeatEveryMs);
    hold.lock();
  }
}

// --- calls ---------------------------------------------------------------------------------------

// A slot or a pid means nothing elsewhere: the hub gets a number.
Result<void> Relay::translate_one(Json& with, const char* name, Numbers& numbers) {
  const auto found = with.find(name);
  if (found == with.end() || !found->is_object()) return {};
  const auto number = [&](const char* field) -> std::uint64_t {
    const auto value = found->find(field);
    return value != found->end() && value->is_number_integer() ? value->get<std::uint64_t>() : 0;
  };
  const core::Attachment attachment{number("slot"), number("pid_namespace"),
                                    static_cast<std::int64_t>(number("pid")),
                                    number("start_ticks")};
  if (!attachment.attached() || attachment.is_remote()) return {};
  LK_CHECK(contact_.keep());
  LK_ASSIGN(const std::uint64_t own, tenants_.number_of(attachment, contact_.mark()));
  static_cast<void>(!::write(wake_.writer.get(), "", 1));
  *found = json_of(core::Attachment::remote(own));
  numbers.push_back(own);
  return {};
}

// The numbers that it brings.
Result<Relay::Numbers> Relay::translate(Json& call) {
  Numbers numbers;
  const auto with = call.find("with");
  if (with == call.end()) return numbers;
  const auto one = [&](Json& each) -> Result<void> {
    if (!each.is_object()) return {};
    for (const char* const name : {"attachment", "by"}) {
      LK_CHECK(translate_one(each, name, numbers));
    }
    return {};
  };
  if (with->is_array()) {  // acquire_together
    for (Json& each : *with) LK_CHECK(one(each));
  } else {
    LK_CHECK(one(*with));
  }
  return numbers;
}

Result<std::string> Relay::forward(const std::string& realm, std::string body, int held_ms,
                                   bool about_tenants) {
  HubCall call{.target = "/v1/call?realm=" + realm,
               .body = std::move(body),
               .ms = kCallMs + held_ms,
               .held_ms = held_ms};
  LK_ASSIGN(std::string text, contact_.post(std::move(call), about_tenants));
  std::erase(text, '\n');
  return text;
}

// A process opens before its first call. Its rules go along with that call, so that the two are one
// round trip.
std::string Relay::note_rules(const std::string& process, const std::string& realm,
                              const Json& call) {
  const Json& rules = object_at(object_at(call, "with"), "rules");
  const std::lock_guard hold(mutex_);
  rules_[process][realm] = rules.dump();
  return Json{{"reply", {{"rules", rules}}}}.dump();
}

std::string Relay::with_rules(const std::string& process, const std::string& realm,
                              std::string body) {
  const std::lock_guard hold(mutex_);
  const Rules& all = rules_[process];
  const auto found = all.find(realm);
  if (found == all.end() || !body.starts_with("{\"")) return body;
  return "{\"rules\":" + found->second + "," + body.substr(1);
}

// A grant is taken only if the process is still there; otherwise its place is left. Without that, a
// process that has died in the queue could keep what everybody behind it waits for. (F3)
Result<std::string> Relay::await(std::uint64_t talker, const std::string& process,
                                 const std::string& realm, Json& call) {
  Json& with = call["with"];
  // Sooner than it asked for is as good: it asks again.
  const Json asked = with.value("at_most_ms", Json());
  if (asked.is_number_integer() && asked > kAwaitMostMs) with["at_most_ms"] = kAwaitMostMs;
  with["looks"] = true;
  auto text = forward(realm, with_rules(process, realm, call.dump()), kAwaitMostMs, false);
  if (!text || has_left(talker)) return text;
  const Json reply = Json::parse(*text, nullptr, false);
  const Json& value = object_at(object_at(reply, "reply"), "value");
  if (text_at(value, "outcome") != "granted") return text;
  with["looks"] = false;
  return forward(realm, call.dump(), kAwaitMostMs, false);
}

std::string Relay::answer(std::uint64_t talker, const std::string& process,
                          const std::string& realm, const std::string& line) {
  if (!realm::is_hub_name(realm)) {
    return error_line({Code::kInvalidInput, quote(realm) + " is not the name of a realm", ""});
  }
  Json call = Json::parse(line, nullptr, false);
  if (!call.is_object()) return error_line({Code::kInvalidInput, "the call is not JSON", ""});
  if (!contact_.ever()) {  // the first one tells whether they understand each other
    if (const auto met = contact_.beat(); !met) return error_line(met.error());
  }
  if (text_at(call, "call") == "open") return note_rules(process, realm, call);
  const auto translated = translate(call);
  if (!translated) return error_line(translated.error());
  const bool awaits = text_at(call, "call") == "await" && call["with"].is_object();
  const Places::Turn turn = places_.begin(realm, call);
  const std::string body = translated->empty() ? line : call.dump();
  if (awaits) set_awaiting(talker, true);
  const auto text = awaits
                        ? await(talker, process, realm, call)
                        : forward(realm, with_rules(process, realm, body), 0, !translated->empty());
  if (awaits) set_awaiting(talker, false);
  if (!text) return error_line(text.error());
  if (awaits && has_left(talker)) return *text;  // nobody hears it, and its place is left
  tenants_.confirm(*translated, host::since_boot_ms());
  {
    const std::lock_guard hold(mutex_);
    const auto known = rules_.find(process);
    if (known != rules_.end()) known->second.erase(realm);
  }
  places_.note(process, realm, call, *text);
  return text_at(call, "call") == "list" ? tenants_.with_processes(*text) : *text;
}

// --- waits ---------------------------------------------------------------------------------------

void Relay::joined(std::uint64_t talker, const std::string& process) {
  places_.joined(process);
  const std::lock_guard hold(mutex_);
  talkers_[talker].process = process;
}

void Relay::set_awaiting(std::uint64_t talker, bool awaiting) {
  {
    const std::lock_guard hold(mutex_);
    talkers_[talker].awaiting = awaiting;
  }
  if (awaiting) static_cast<void>(!::write(wake_.writer.get(), "", 1));
}

bool Relay::has_left(std::uint64_t talker) {
  pollfd socket{-1, POLLRDHUP, 0};
  {
    const std::lock_guard hold(mutex_);
    socket.fd = talkers_[talker].socket;
  }
  return ::poll(&socket, 1, 0) > 0;
}

std::vector<std::pair<std::uint64_t, int>> Relay::awaiting() {
  std::vector<std::pair<std::uint64_t, int>> all;
  const std::lock_guard hold(mutex_);
  for (const auto& [number, talker] : talkers_) {
    if (talker.awaiting && !talker.abandoned) all.emplace_back(number, talker.socket);
  }
  return all;
}

// Its process has closed the connection while its thread waits for the hub.
void Relay::check_awaiting(std::uint64_t number) {
  std::string process;
  {
    const std::lock_guard hold(mutex_);
    const auto found = talkers_.find(number);
    if (found == talkers_.end() || found->second.abandoned) return;
    found->second.abandoned = true;
    process = found->second.process;
  }
  std::thread([this, process] { left(process); }).detach();
}

void Relay::left(const std::string& process) {
  const auto waits = places_.left(process);
  if (!waits) return;
  {
    const std::lock_guard hold(mutex_);
    rules_.erase(process);
  }
  for (const std::string& id : *waits) leave_queue(id);
}

void Relay::leave_queue(const std::string& id) {
  // After a minute the hub gives its place away by itself.
  const std::int64_t until = host::since_boot_ms() + realm::kSessionMs;
  while (!try_leave(id) && host::since_boot_ms() < until) {
    std::this_thread::sleep_for(kLeaveAgain);
  }
  places_.forget(id);
}

// False: no hub can be reached.
bool Relay::try_leave(const std::string& id) {
  const auto [turn, waiting] = places_.begin_to_leave(id);
  if (!waiting) return true;
  const Json with{{"caller", waiting->caller}, {"id", id}, {"why", "interrupted"}, {"gone", true}};
  const auto text =
      forward(waiting->realm, Json{{"call", "leave"}, {"with", with}}.dump(), 0, false);
  return text || !is_silence(text.error().code);
}

// --- connections ---------------------------------------------------------------------------------

// One process's connection, to its end. A request is two lines.
void Relay::talk(const Fd& socket, std::uint64_t talker) {
  std::string unread;
  std::string process;
  char piece[16384];
  for (;;) {
    const auto first = unread.find('\n');
    const auto second = first == std::string::npos ? first : unread.find('\n', first + 1);
    if (second == std::string::npos) {
      if (unread.size() > kLineBytesMax) break;
      const ssize_t n = ::recv(socket.get(), piece, sizeof piece, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      unread.append(piece, static_cast<std::size_t>(n));
      continue;
    }
    const auto blank = unread.find(' ');
    if (blank > first) break;
    const std::string who = unread.substr(0, blank);
    if (process.empty()) joined(talker, process = who);
    if (who != process) break;
    const std::string realm = unread.substr(blank + 1, first - blank - 1);
    const std::string line = unread.substr(first + 1, second - first - 1);
    unread.erase(0, second + 1);
    std::string reply = answer(talker, process, realm, line) + "\n";
    std::string_view rest = reply;
    while (!rest.empty()) {
      const ssize_t n = ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (!rest.empty()) break;
  }
  bool abandoned = false;
  {
    const std::lock_guard hold(mutex_);
    abandoned = talkers_[talker].abandoned;
    talkers_.erase(talker);
  }
  if (!process.empty() && !abandoned) left(process);
}

void Relay::serve(const Folder& folder, int listening, int ended) {
  std::thread([this] { beat_on(); }).detach();
  std::int64_t needed = host::since_boot_ms();
  for (;;) {
    const bool nobody = tenants_.empty();
    const auto waiting = awaiting();
    std::vector<pollfd> wanted = {
        {listening, POLLIN, 0}, {ended, POLLIN, 0}, {wake_.reader.get(), POLLIN, 0}};
    for (const auto& [number, socket] : waiting) wanted.push_back({socket, POLLRDHUP, 0});
    ::poll(wanted.data(), wanted.size(), nobody ? kNobodyMs : kProbeMs);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (wanted[i + 3].revents != 0) check_awaiting(waiting[i].first);
    }
    if (wanted[1].revents != 0) return;
    if (wanted[2].revents != 0) {
      char drained[64];
      static_cast<void>(!::read(wake_.reader.get(), drained, sizeof drained));
    }
    const bool died = tenants_.look();
    const std::int64_t now = host::since_boot_ms();
    {
      const std::lock_guard hold(mutex_);
      died_ = died_ || died;
      if (!talkers_.empty() || !tenants_.empty()) needed = now;
    }
    if (died) urgent_.notify_all();
    if (now - needed >= kIdleMs || !folder.is_there()) return;
    if (wanted[0].revents == 0) continue;
    const auto socket = std::make_shared<Fd>(host::accept_local(listening));
    if (!*socket) continue;
    std::uint64_t talker = 0;
    {
      const std::lock_guard hold(mutex_);
      if (talkers_.size() >= kConnectionsMax) continue;
      talker = ++last_talker_;
      talkers_[talker].socket = socket->get();
    }
    std::thread([this, socket, talker] { talk(*socket, talker); }).detach();
  }
}

}  // namespace

Result<void> run(const std::string& text, const std::string& version, const realm::Environment& env,
                 Random& random, const std::function<Result<Ready>()>& leave) {
  LK_ASSIGN(const realm::ServerUrls urls, realm::parse_server_urls(text));
  LK_ASSIGN(const std::string path, realm::relay_folder(realm::text_of(urls), env));
  LK_CHECK(make_folders(path));
  LK_CHECK(login_for(realm::text_of(urls), env));
  LK_ASSIGN(const Ready ready, leave());
  ::signal(SIGPIPE, SIG_IGN);
  LK_ASSIGN(const Folder folder, Folder::open(path, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const std::optional<Fd> alone, host::try_lock(folder, kLockFile));
  if (!alone) {
    ready(0);
    return {};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";  // for whoever wonders
  static_cast<void>(!::ftruncate(alone->get(), 0));
  static_cast<void>(!::pwrite(alone->get(), pid.data(), pid.size(), 0));
  const Fd ended = host::hold_end_signals();
  LK_ASSIGN(std::unique_ptr<Tenants> tenants, Tenants::open(path, random));
  LK_ASSIGN(Fd beat_file, open_or_create(folder.path_of(kBeatFile), 0600));
  LK_ASSIGN(host::Pipe wake, host::make_pipe());
  for (const int fd : {wake.reader.get(), wake.writer.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  LK_ASSIGN(const Fd listening, host::listen_local(folder.path_of(remote::kRelaySocket)));
  Contact contact(urls, env, version, *tenants, std::move(beat_file));
  Relay relay(*tenants, contact, std::move(wake));
  ready(0);
  relay.serve(folder, listening.get(), ended.get());
  static_cast<void>(folder.remove(remote::kRelaySocket));
  ::_exit(0);  // its threads may still talk, and all that counts is on disk
}

std::vector<realm::TriedHub> try_hubs(const realm::Login& login, const std::string& version,
                                      Random& random) {
  std::vector<realm::TriedHub> all;
  const auto urls = realm::parse_server_urls(login.url);
  if (!urls) return {{login.url, fail(Error(urls.error()))}};
  for (const realm::ServerUrl& url : *urls) {
    HubLink link({url}, login);
    std::string bytes;
    append_be64(bytes, random.next());
    append_be64(bytes, random.next());
    // It begins nothing: a session that nobody knows has nothing to lose.
    const Tenants::Report nobody{to_hex(bytes), false, {}, {}};
    const int ms = urls->size() == 1 ? kLoginMs : kOneOfManyMs;
    auto beaten = send_beat(link, version, nobody, {.ms = ms});
    all.push_back({url.text(), beaten ? Result<std::string>(std::move(beaten->person))
                                      : fail(std::move(beaten.error()))});
  }
  return all;
}

}  // namespace lockkeeper::relay
