#include "relay/tenants.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json.h"
#include "host/process.h"

namespace lockkeeper::relay {
namespace {

constexpr const char* kFileName = "attached";
constexpr std::size_t kFileBytesMax = 16U << 20;
constexpr int kOwnBits = 48;  // of a number; above them is the person's mark

std::string new_session(Random& random) {
  std::string bytes;
  append_be64(bytes, random.next());
  append_be64(bytes, random.next());
  return to_hex(bytes);
}

}  // namespace

Json json_of(const core::Attachment& attachment) {
  return {{"slot", attachment.slot},
          {"pid_namespace", attachment.pid_namespace},
          {"pid", attachment.pid},
          {"start_ticks", attachment.start_ticks}};
}

Result<std::unique_ptr<Tenants>> Tenants::open(const std::string& folder, Random& random) {
  LK_ASSIGN(Folder opened, Folder::open(folder, "", Folder::Kind::kPrivate));
  std::unique_ptr<Tenants> tenants(new Tenants(std::move(opened), random));
  LK_CHECK(tenants->load());
  return tenants;
}

// What cannot be read is not known: then it begins with a session of its own.
Result<void> Tenants::load() {
  LK_ASSIGN(const std::optional<std::string> text, folder_.read(kFileName, kFileBytesMax));
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  const auto is_row = [](const Json& row) {
    return row.is_array() && row.size() == 5 &&
           std::ranges::all_of(row, [](const Json& one) { return one.is_number_integer(); });
  };
  const bool good = json.is_object() && json.contains("session") && json["session"].is_string() &&
                    json.contains("attached") && json["attached"].is_array() &&
                    std::ranges::all_of(json["attached"], is_row);
  if (!good) {
    session_ = new_session(random_);
    return save();
  }
  session_ = json["session"].get<std::string>();
  // Without the field, an earlier version has written it: nobody was attached before a beat.
  begun_ = json.value("begun", Json()).is_boolean() ? json["begun"].get<bool>()
                                                    : !json["attached"].empty();
  for (const Json& row : json["attached"]) {
    const core::Attachment attachment{row[1].get<std::uint64_t>(), row[2].get<std::uint64_t>(),
                                      row[3].get<std::int64_t>(), row[4].get<std::uint64_t>()};
    numbers_[attachment] = row[0].get<std::uint64_t>();
    inherited_.insert(numbers_[attachment]);
  }
  return {};
}

Result<void> Tenants::save() const {
  Json json{{"session", session_}, {"begun", begun_}, {"attached", Json::array()}};
  for (const auto& [attachment, number] : numbers_) {
    json["attached"].push_back({number, attachment.slot, attachment.pid_namespace, attachment.pid,
                                attachment.start_ticks});
  }
  // After a power cut none of them lives.
  const Replacing how{.mode = 0600, .uid = {}, .gid = {}, .alone = true, .synced = false};
  const int why = replace_durably_at(folder_.fd(), kFileName, json.dump(), how);
  if (why != 0) return folder_.failed(why, "write", kFileName);
  return {};
}

std::string Tenants::session() const {
  const std::lock_guard hold(mutex_);
  return session_;
}

bool Tenants::must_begin() const {
  const std::lock_guard hold(mutex_);
  return !begun_;
}

Result<std::uint64_t> Tenants::number_of(const core::Attachment& attachment, std::uint64_t mark) {
  const std::lock_guard hold(mutex_);
  const auto known = numbers_.find(attachment);
  if (known != numbers_.end()) return known->second;
  const std::uint64_t own = random_.next() >> (64 - kOwnBits);
  const std::uint64_t number = mark << kOwnBits | own;
  numbers_[attachment] = number;
  if (auto saved = save(); !saved) {
    numbers_.erase(attachment);
    return fail(std::move(saved.error()));
  }
  return number;
}

std::string Tenants::with_processes(std::string answer) const {
  static const std::string kMark = "\"pid_namespace\":" + std::to_string(core::Attachment::kRemote);
  if (answer.find(kMark) == std::string::npos) return answer;
  Json json = Json::parse(answer, nullptr, false);
  if (json.is_discarded()) return answer;
  const std::lock_guard hold(mutex_);
  std::map<std::uint64_t, core::Attachment> known;
  for (const auto& [attachment, number] : numbers_) known[number] = attachment;
  const std::function<void(Json&)> visit = [&](Json& at) {
    if (!at.is_structured()) return;
    for (Json& each : at) visit(each);
    if (!at.is_object() || !at.contains("start_ticks") || !at.contains("pid_namespace")) return;
    const bool remote = at["pid_namespace"] == core::Attachment::kRemote;
    if (!remote || !at["start_ticks"].is_number_unsigned()) return;
    const auto found = known.find(at["start_ticks"].get<std::uint64_t>());
    if (found != known.end()) at = json_of(found->second);
  };
  visit(json);
  return json.dump();
}

// REQUIRES: mutex_
bool Tenants::is_dead(const core::Attachment& attachment) {
  if (attachment.slot == 0) {
    const host::ProcessId process{attachment.pid_namespace, static_cast<int>(attachment.pid),
                                  attachment.start_ticks};
    return host::alive(process) == host::Alive::kDead;
  }
  if (!slots_ || !slots_->check_identity()) {
    auto opened = host::LiveSlots::open(folder_.path_of("live"), random_);
    if (!opened) return false;
    slots_.emplace(std::move(*opened));
  }
  return slots_->alive(attachment.slot) == host::Alive::kDead;
}

bool Tenants::look() {
  const std::lock_guard hold(mutex_);
  const std::size_t before = numbers_.size();
  std::erase_if(numbers_, [&](const auto& each) {
    const bool dead = is_dead(each.first);
    if (!dead) return false;
    gone_.insert(each.second);
    confirmed_ms_.erase(each.second);
    inherited_.erase(each.second);
    return true;
  });
  const bool died = numbers_.size() != before;
  if (died) static_cast<void>(save());  // whoever reads it later looks again
  return died;
}

Tenants::Report Tenants::report() const {
  const std::lock_guard hold(mutex_);
  Report report{session_, !begun_, {}, {}};
  for (const auto& [attachment, number] : numbers_) report.living.push_back(number);
  report.gone.assign(gone_.begin(), gone_.end());
  return report;
}

void Tenants::acknowledge(const std::vector<std::uint64_t>& gone) {
  const std::lock_guard hold(mutex_);
  for (const std::uint64_t number : gone) gone_.erase(number);
}

void Tenants::confirm(const std::vector<std::uint64_t>& numbers, std::int64_t now_ms) {
  const std::lock_guard hold(mutex_);
  for (const std::uint64_t number : numbers) confirmed_ms_.try_emplace(number, now_ms);
}

// REQUIRES: mutex_
bool Tenants::was_confirmed(std::uint64_t number, std::int64_t written_ms) const {
  const auto confirmed = confirmed_ms_.find(number);
  return confirmed != confirmed_ms_.end() && confirmed->second < written_ms;
}

void Tenants::drop(const std::vector<std::uint64_t>& numbers, std::int64_t written_ms) {
  if (numbers.empty()) return;
  const std::lock_guard hold(mutex_);
  const std::size_t before = numbers_.size();
  std::erase_if(numbers_, [&](const auto& each) {
    const bool named = std::ranges::find(numbers, each.second) != numbers.end();
    if (!named || !was_confirmed(each.second, written_ms)) return false;
    confirmed_ms_.erase(each.second);
    inherited_.erase(each.second);
    return true;
  });
  if (numbers_.size() != before) static_cast<void>(save());
}

Result<void> Tenants::begun(const std::string& session) {
  const std::lock_guard hold(mutex_);
  if (session_ != session || begun_) return {};
  begun_ = true;
  auto saved = save();
  begun_ = saved.has_value();
  return saved;
}

Result<void> Tenants::lose_session(const std::string& session, std::int64_t written_ms) {
  const std::lock_guard hold(mutex_);
  if (session_ != session) return {};
  auto numbers = numbers_;
  std::erase_if(numbers, [&](const auto& each) {
    return inherited_.contains(each.second) || was_confirmed(each.second, written_ms);
  });
  std::string other = new_session(random_);
  bool begun = false;
  const auto exchange = [&] {
    std::swap(session_, other);
    std::swap(begun_, begun);
    std::swap(numbers_, numbers);
  };
  exchange();
  if (auto saved = save(); !saved) {
    exchange();
    return saved;
  }
  inherited_.clear();
  std::erase_if(confirmed_ms_, [&](const auto& each) { return each.second < written_ms; });
  return {};
}

void Tenants::forget() {
  const std::lock_guard hold(mutex_);
  numbers_.clear();
  confirmed_ms_.clear();
  inherited_.clear();
  gone_.clear();
  static_cast<void>(save());  // whoever reads it later is refused as well
}

bool Tenants::empty() const {
  const std::lock_guard hold(mutex_);
  return numbers_.empty() && gone_.empty();
}

}  // namespace lockkeeper::relay
