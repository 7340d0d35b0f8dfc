#include "chaos/faults/power.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"

namespace lockkeeper::faults {
namespace {

namespace fs = std::filesystem;
using stage::read_text;
using stage::write_text;

// A file that is mostly holes, in place or new.
void write_sparse(const std::string& path, const Content& content) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string& bytes = content.bytes;
  EXPECT_EQ(::ftruncate(fd.get(), 0), 0);
  EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(content.size)), 0);
}

// Without the holes at its end.
std::string read_sparse(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes;
  char block[4096];
  for (off_t from = 0; (from = ::lseek(fd.get(), from, SEEK_DATA)) >= 0;) {
    const ssize_t n = ::pread(fd.get(), block, sizeof block, from);
    if (n <= 0) break;
    bytes.resize(static_cast<std::size_t>(from));
    bytes.append(block, static_cast<std::size_t>(n));
    from += n;
  }
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

}  // namespace

PowerStage::PowerStage(const std::string& durability)
    : full_(durability == "full"), trace_(stage_.path("trace")) {
  stage_.set_durability(durability);
  fs::create_directories(stage_.path("state/lockkeeper/epochs"));
  new_boot(0);
  stage_.have({{"BOOT", stage_.path("boot")},
               {"TRACE", trace_},
               {"UNDER", stage_.store() + ":" + stage_.path("state/lockkeeper/epochs")}});
}

void PowerStage::new_boot(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  const std::string id = "00000000-0000-0000-0000-" + std::string(12 - digits.size(), '0') + digits;
  write_text(stage_.path("boot"), id + "\n");
}

std::uint64_t PowerStage::epoch_id() const {
  const std::string text = read_text(stage_.store() + "/epoch");
  const std::size_t at = text.find("\nid ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + 4));
}

Answer PowerStage::act(const std::string& actor, const Words& words, const Holdings& after) {
  Launch launch;
  std::string number;
  {
    const std::lock_guard lock(mutex_);
    Words with_json = words;
    with_json.insert(with_json.begin() + 1, "--json");
    launch = stage_.launch(actor, with_json);
    number = actor + " " + std::to_string(deeds_[actor].size());
  }
  mark_trace(trace_, "begin " + number);
  const Answer answer = stage_.finish(std::move(launch));
  EXPECT_EQ(answer.status, 0) << actor << ": " << words[0] << "\n" << answer.all();
  const std::lock_guard lock(mutex_);
  if (words[0] == "acquire") top_fence_ = std::max(top_fence_, answer.fence());
  holdings_[actor] = after;
  deeds_[actor].push_back({.after = after, .fence = top_fence_, .epoch = epoch_id()});
  mark_trace(trace_, "end " + number);
  capture("gate");
  if (!full_) capture("data.mdb");
  return answer;
}

void PowerStage::capture(const std::string& name) {
  const std::string path = stage_.store() + "/" + name;
  std::vector<Copy>& copies = copies_[path];
  const std::string mark = "copy " + name + " " + std::to_string(copies.size());
  mark_trace(trace_, mark);
  copies.push_back({mark, 0, read_sparse(path)});
}

Holdings PowerStage::held_by(const std::string& actor) {
  const std::lock_guard lock(mutex_);
  return holdings_[actor];
}

void PowerStage::take(const std::string& actor, const std::string& resource) {
  Holdings after = held_by(actor);
  after.insert(resource);
  act(actor, {"acquire", resource, "--ttl", "1h"}, after);
}

void PowerStage::free(const std::string& actor, const std::string& resource) {
  Holdings after = held_by(actor);
  after.erase(resource);
  act(actor, {"release", resource}, after);
}

void PowerStage::renew(const std::string& actor, const std::string& resource) {
  act(actor, {"renew", resource, "--ttl", "2h"}, held_by(actor));
}

void PowerStage::run(const std::string& actor, const std::string& resource) {
  act(actor, {"run", resource, "--", "true"}, held_by(actor));
}

void PowerStage::reboot() {
  new_boot(++boots_);
  if (full_) return;
  // Nobody holds anything from the first deed under the new boot on; until then it is not known.
  for (auto& [actor, held] : holdings_) held.clear();
}

void PowerStage::finish() {
  records_ = read_trace(trace_);
  stage_.have({{"TRACE", ""}});
  for (std::size_t at = 0; at < records_.size(); ++at) {
    if (records_[at].kind != TraceKind::kMark) continue;
    const std::string& words = records_[at].bytes;
    for (auto& [name, copies] : copies_) {
      for (Copy& copy : copies) {
        if (copy.mark == words) copy.at = at;
      }
    }
    const bool begins = words.starts_with("begin ");
    if (!begins && !words.starts_with("end ")) continue;
    const std::string rest = words.substr(begins ? 6 : 4);
    const std::size_t blank = rest.find(' ');
    Deed& deed = deeds_[rest.substr(0, blank)].at(std::stoull(rest.substr(blank + 1)));
    (begins ? deed.begun : deed.ended) = at;
  }
  fs::create_hard_link(stage_.store() + "/gate", stage_.path("gate.keep"));
}

// Any sector as one of the copies had it, or empty, or as the trace has it.
void PowerStage::overlay(Content& content, const std::string& name, std::size_t at,
                         Random& random) const {
  std::vector<const std::string*> known;
  for (const Copy& copy : copies_.at(name)) {
    if (copy.at <= at) known.push_back(&copy.content);
  }
  if (known.empty()) return;
  std::size_t reach = 0;
  for (const std::string* copy : known) reach = std::max(reach, copy->size());
  reach = std::min<std::size_t>(reach, content.size);
  const std::uint64_t mode = random_below(random, 3);
  for (std::size_t from = 0; from < reach; from += kSector) {
    const std::string& copy =
        mode == 0 ? *known.back() : *known[random_below(random, known.size())];
    if (from >= copy.size() || (mode == 2 && random_below(random, 2) == 0)) continue;
    content.put(from, std::string_view(copy).substr(from, std::min(kSector, reach - from)));
  }
}

void PowerStage::lay_down(Disk::Image image, std::size_t at, Random& random) {
  const std::string gate = stage_.store() + "/gate";
  for (const std::string& folder : {stage_.store(), stage_.path("state/lockkeeper/epochs")}) {
    for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
  }
  for (auto& [name, content] : image) {
    if (copies_.contains(name)) overlay(content, name, at, random);
    if (name == gate) fs::create_hard_link(stage_.path("gate.keep"), gate);
    write_sparse(name, content);
  }
}

void PowerStage::cut(std::size_t at, Random& random) {
  if (at < applied_) {
    disk_ = Disk();
    applied_ = 0;
  }
  for (; applied_ < at; ++applied_) disk_.apply(records_[applied_]);
  lay_down(disk_.cut(random), at, random);
  judge(at, random);
}

void PowerStage::judge(std::size_t at, Random& random) {
  constexpr std::int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;
  const std::int64_t wrong = random_below(random, 2) == 0 ? 0 : -10 * kYearNs;
  write_text(stage_.path("wall"), std::string(reinterpret_cast<const char*>(&wrong), sizeof wrong));
  stage_.have({{"WALL", stage_.path("wall")}});  // a machine may wake up in the past
  new_boot(++boots_);
  std::uint64_t fence = 0;
  std::uint64_t epoch = 0;
  for (const auto& [actor, deeds] : deeds_) {
    for (const Deed& deed : deeds) {
      if (deed.ended >= at) continue;
      fence = std::max(fence, deed.fence);
      epoch = std::max(epoch, deed.epoch);
    }
  }
  const Answer probe = stage_.expect(0, "prober", {"acquire", "probe"});
  if (probe.status != 0) return;
  EXPECT_GT(probe.fence(), fence) << "I3: a fence came again";
  EXPECT_LT(probe.fence(), std::uint64_t{1} << 53);
  EXPECT_GT(epoch_id(), epoch) << "I3: no new epoch";
  judge_holdings(at, stage_.list()["leases"]);
  stage_.expect(0, "", {"doctor"});
  if (random_below(random, 4) != 0) return;
  new_boot(++boots_);
  const Answer again = stage_.expect(0, "prober", {"acquire", "again"});
  if (again.status == 0) {
    EXPECT_GT(again.fence(), probe.fence()) << "I3: second boot";
  }
}

void PowerStage::judge_holdings(std::size_t at, const Json& leases) const {
  std::map<std::string, Holdings> found;
  for (const Json& lease : leases) {
    found[lease["agent"]].insert(lease["resources"][0]["key"].get<std::string>());
  }
  EXPECT_TRUE(found["prober"].contains("probe"));
  for (const auto& [actor, deeds] : deeds_) {
    if (!full_) {
      EXPECT_EQ(found[actor], Holdings()) << "a lease outlived its boot: " << actor;
      continue;
    }
    Holdings before;
    const Deed* flying = nullptr;
    for (const Deed& deed : deeds) {
      if (deed.ended < at) before = deed.after;
      if (deed.begun < at && deed.ended >= at) flying = &deed;
    }
    const bool fine =
        found[actor] == before || (flying != nullptr && found[actor] == flying->after);
    EXPECT_TRUE(fine) << "I5: " << actor << " held " << testing::PrintToString(before)
                      << (flying != nullptr ? " or " : "")
                      << (flying != nullptr ? testing::PrintToString(flying->after) : "")
                      << ", now " << testing::PrintToString(found[actor]);
  }
}

}  // namespace lockkeeper::faults
