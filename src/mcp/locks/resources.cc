#include "mcp/locks/resources.h"

#include <algorithm>
#include <set>

#include "service/report.h"

namespace lockkeeper::mcp {
namespace {

constexpr const char* kLeases = "lock://leases";
constexpr const char* kWaiters = "lock://waiters";
constexpr const char* kEvents = "lock://events";
constexpr std::string_view kUnder = "lock://leases/";
constexpr std::size_t kEventsShown = 100;
constexpr auto kLook = std::chrono::milliseconds(250);

Answer contents(const std::string& uri, const Json& json) {
  Answer answer;
  answer.result["contents"] = Json::array(
      {{{"uri", uri}, {"mimeType", "application/json"}, {"text", service::dump(json)}}});
  return answer;
}

Answer trouble(const Error& error) {
  return Answer::failed(code::kInternalError, error.message, service::error_json(error));
}

// %20 and its like; a '%' that begins none stays.
std::string unescaped(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (coded) {
      plain += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

Answer prompt_text(const std::string& description, const std::string& text) {
  Answer answer;
  answer.result["description"] = description;
  answer.result["messages"] =
      Json::array({{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}});
  return answer;
}

}  // namespace

std::vector<Resource> lock_resources() {
  const std::string json = "application/json";
  return {
      {kLeases, "leases", "Held locks", "Every lease, with its holder and its end", json},
      {kWaiters, "waiters", "Waiting requests", "Who waits for what, in the queue's order", json},
      {kEvents, "events", "History", "The last hundred events", json}};
}

std::vector<Resource> lock_templates() {
  return {{"lock://leases/{path}", "leases-under", "Locks on a path",
           "Leases that overlap this file, folder or pattern", "application/json"}};
}

std::optional<Answer> read_lock_resource(service::Locks& locks, const std::string& uri) {
  if (uri == kEvents) {
    const auto events = locks.log({});
    if (!events) return trouble(events.error());
    Json json{{"events", Json::array()}};
    const std::size_t first = events->size() > kEventsShown ? events->size() - kEventsShown : 0;
    for (std::size_t i = first; i < events->size(); ++i) {
      json["events"].push_back(service::event_json((*events)[i]));
    }
    return contents(uri, json);
  }
  service::ListCommand command;
  const bool under = uri.starts_with(kUnder) && uri.size() > kUnder.size();
  if (under) command.under.texts = {unescaped(std::string_view(uri).substr(kUnder.size()))};
  if (!under && uri != kLeases && uri != kWaiters) return std::nullopt;
  const auto reply = locks.list(command);
  if (!reply && under) return std::nullopt;  // a path that breaks a rule names nothing
  if (!reply) return trouble(reply.error());
  Json json = service::list_json(*reply);
  json.erase(uri == kWaiters ? "leases" : "waiters");
  return contents(uri, json);
}

std::vector<Prompt> lock_prompts() {
  Prompt how;
  how.name = "work_with_locks";
  how.title = "How to work with locks";
  how.description = "What an agent should know before it changes files here";
  how.get = [description = how.description](Call&, const Json&) {
    return prompt_text(
        description,
        "Several agents work in this repository. Call lock_status before you plan. Lock all that "
        "you "
        "are going to change in one lock_acquire, with a reason and a realistic ttl. If something "
        "is "
        "held, work on something else, wait with wait_s, or write to its holder with lock_message. "
        "Change nothing that you have not locked. Call lock_release as soon as a part is done.");
  };
  Prompt plan;
  plan.name = "plan_my_edits";
  plan.title = "Plan my edits";
  plan.description = "Which files a task needs, which of them are free, and in what order";
  plan.arguments = {{"task", "what is to be done", true},
                    {"files", "files that it will touch, separated by blanks", false}};
  plan.get = [description = plan.description](Call&, const Json& arguments) {
    if (!arguments.contains("task") || !arguments["task"].is_string()) {
      return Answer::failed(code::kInvalidParams, "the argument \"task\" is missing");
    }
    std::string text = "Task: " + arguments["task"].get<std::string>() + "\n";
    if (arguments.contains("files") && arguments["files"].is_string()) {
      text += "Files: " + arguments["files"].get<std::string>() + "\n";
    }
    return prompt_text(
        description, text +
                         "List every file that the task will change. Call lock_status with all of "
                         "them. Begin with what is free; for what is held say who holds it and "
                         "whether to wait, to ask, or to do something else first. Then lock the "
                         "first part with one lock_acquire.");
  };
  return {how, plan};
}

std::vector<std::string> complete_lock_argument(service::Locks& locks, const Json& ref,
                                                const std::string& name, const std::string& typed) {
  std::set<std::string> found;
  const auto reply = locks.list({});
  if (!reply || ref.value("type", "") != "ref/resource") return {};
  for (const service::ListedLease& each : reply->leases) {
    if (name != "path") break;
    for (const core::Claim& claim : each.lease.claims) {
      if (claim.resource.text().starts_with(typed)) found.insert(claim.resource.text());
    }
  }
  return {found.begin(), found.end()};
}

LockWatch::LockWatch(service::Locks& locks, std::function<bool()> wanted,
                     std::function<void(const std::string& uri)> changed)
    : locks_(locks), wanted_(std::move(wanted)), changed_(std::move(changed)) {
  thread_ = std::thread([this] { loop(); });
}

LockWatch::~LockWatch() {
  ending_ = true;
  thread_.join();
}

void LockWatch::loop() {
  std::optional<std::uint64_t> seen;
  for (; !ending_; std::this_thread::sleep_for(kLook)) {
    if (!wanted_()) {
      seen.reset();
      continue;
    }
    service::LogCommand command;
    command.since_seq = seen.value_or(0);
    const auto events = locks_.log(command);
    if (!events) continue;
    const std::uint64_t last = events->empty() ? seen.value_or(0) : events->back().seq;
    const bool first = !seen.has_value();
    seen = last;
    if (first || events->empty()) continue;
    for (const char* const uri : {kLeases, kWaiters, kEvents}) changed_(uri);
  }
}

}  // namespace lockkeeper::mcp
