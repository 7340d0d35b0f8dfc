#include "kv/etcd/doctor.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "kv/etcd/version.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr double kSlowMs = 100;
constexpr std::uint64_t kFullPercent = 80;

// "20 KiB", "2.0 GiB": two digits at least.
std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit > 0 && value < 10 ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text.data();
}

std::string ms_text(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ms < 10 ? "%.1f ms" : "%.0f ms", ms);
  return text.data();
}

std::string hex_id(std::uint64_t id) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(id));
  return text.data();
}

class Judge {
 public:
  Judge(const EtcdOptions& options, Survey survey) : options_(options) {
    report_.survey = std::move(survey);
  }

  EtcdReport all(const Result<std::optional<Seen::State>>& known) {
    for (const Asked& asked : survey().asked) say_member(asked);
    say_cluster();
    say_versions();
    say_space();
    say_alarms();
    say_commit();
    say_epoch(known);
    return std::move(report_);
  }

 private:
  const Survey& survey() const { return report_.survey; }
  void good(std::string about, std::string text) {
    report_.findings.push_back({Finding::Kind::kGood, std::move(about), {{}, std::move(text), {}}});
  }
  void note(std::string about, std::string text, std::string hint) {
    report_.findings.push_back(
        {Finding::Kind::kNote, std::move(about), {{}, std::move(text), std::move(hint)}});
  }
  void bad(std::string about, Error error) {
    report_.findings.push_back({Finding::Kind::kBad, std::move(about), std::move(error)});
  }

  const Member* member(std::uint64_t id) const {
    const auto found = std::ranges::find(survey().members, id, &Member::id);
    return found == survey().members.end() ? nullptr : &*found;
  }
  std::string name(std::uint64_t id) const {
    const Member* const known = member(id);
    return known != nullptr && !known->name.empty() ? known->name : hex_id(id);
  }
  // The member behind an endpoint, as far as somebody has told. 0: nobody has.
  std::uint64_t id_of(const Asked& asked) const {
    if (asked.status) return asked.status->header.member_id;
    for (const Member& one : survey().members) {
      for (const std::string& url : one.client_urls) {
        if (url.ends_with("//" + asked.endpoint.name())) return one.id;
      }
    }
    return 0;
  }
  std::string shown(const Asked& asked) const {
    const std::uint64_t id = id_of(asked);
    const std::string where = asked.endpoint.name();
    return member(id) != nullptr ? name(id) + " at " + where : where;
  }

  void say_member(const Asked& asked) {
    if (asked.error) return bad("member", *asked.error);
    std::string text = shown(asked) + ": ";
    if (!asked.status) {
      text += "answers";
    } else if (asked.status->is_learner) {
      return note("member", text + "a learner, which decides nothing",
                  "name the voting members in the address");
    } else if (asked.status->leader == 0) {
      return bad("member", {Code::kStoreUnavailable,
                            text + "runs, but reaches too few others: there is no leader",
                            "start the others, or repair the network between the members"});
    } else {
      text += asked.status->leader == asked.status->header.member_id ? "leader" : "follower";
    }
    if (!asked.version.empty()) text += ", etcd " + asked.version;
    good("member", text);
  }

  void say_cluster() {
    if (const auto other = other_cluster()) bad("cluster", *other);
    if (survey().hidden) {
      note("cluster", "the user of this address may not see all of it",
           "ask an administrator for: etcdctl endpoint status; etcdctl alarm list");
    }
    if (survey().members.empty()) {
      const bool nobody = std::ranges::all_of(
          survey().asked, [](const Asked& asked) { return asked.error.has_value(); });
      if (!nobody) return;
      return bad("cluster", {Code::kStoreUnavailable, "no member answers: nothing is granted",
                             "start them, or correct the address"});
    }
    std::size_t voters = 0, answer = 0;
    for (const Member& one : survey().members) {
      if (one.is_learner) {
        note("cluster", "the member " + name(one.id) + " is a learner: it does not decide yet",
             "let it: etcdctl member promote " + hex_id(one.id));
        continue;
      }
      ++voters;
      if (is_asked(one.id, true)) ++answer;
      if (!is_asked(one.id, false)) say_not_named(one);
    }
    say_voters(voters, answer);
  }

  std::optional<Error> other_cluster() const {
    const Asked* first = nullptr;
    for (const Asked& asked : survey().asked) {
      if (!asked.status) continue;
      if (first == nullptr) first = &asked;
      if (asked.status->header.cluster_id == first->status->header.cluster_id) continue;
      return Error{Code::kStoreUnavailable,
                   first->endpoint.name() + " and " + asked.endpoint.name() +
                       " belong to different clusters",
                   "name the members of one cluster in the address"};
    }
    return std::nullopt;
  }

  bool is_asked(std::uint64_t id, bool answers) const {
    return std::ranges::any_of(survey().asked, [&](const Asked& asked) {
      return id_of(asked) == id && (!answers || !asked.error);
    });
  }

  void say_not_named(const Member& one) {
    if (one.name.empty()) {
      return note("cluster", "the member " + hex_id(one.id) + " was added and has never run",
                  "start it, or take it away: etcdctl member remove " + hex_id(one.id));
    }
    // Behind another name, nobody can tell which endpoint it is.
    const bool told =
        std::ranges::all_of(survey().asked, [&](const Asked& asked) { return id_of(asked) != 0; });
    if (!told) return;
    note("cluster",
         "the member " + one.name + " (" + join(one.client_urls, ", ") + ") is not in the address",
         "add it: a hub asks no member that its address does not name");
  }

  void say_voters(std::size_t voters, std::size_t answer) {
    const std::size_t needed = voters / 2 + 1;
    const std::string how_many =
        counted(voters, "member") + ", of which " + std::to_string(needed) + " must run";
    if (!survey().epoch && answer < needed) {
      return bad("cluster",
                 {Code::kStoreUnavailable,
                  "no quorum: " + std::to_string(answer) + " of " + counted(voters, "member") +
                      (answer == 1 ? " answers, and " : " answer, and ") + std::to_string(needed) +
                      " are needed. Nothing is granted",
                  "start the others; if their disks are lost, restore a backup"});
    }
    if (voters == 1) {
      return note("cluster", "1 member: while it is down, nothing is granted",
                  "run three, on three machines");
    }
    if (voters % 2 == 0) {
      return note("cluster", how_many + ": no safer than " + std::to_string(voters - 1),
                  "add a member, or remove one");
    }
    good("cluster", how_many);
  }

  void say_versions() {
    std::set<std::string> versions;
    bool old = false;
    for (const Asked& asked : survey().asked) {
      if (asked.version.empty()) continue;
      versions.insert(asked.version);
      const bool users = !options_.address.user.empty();
      const auto checked =
          check_version(asked.version, users, options_.address.allow_old, asked.endpoint.name());
      old = old || !checked;
      if (!checked) bad("version", checked.error());
    }
    if (versions.size() > 1) {
      note("version",
           "the members have different versions: " +
               join(std::vector<std::string>(versions.begin(), versions.end()), ", "),
           "finish the update: one member after the other");
    } else if (versions.size() == 1 && !old) {
      good("version", "etcd " + *versions.begin() +
                          (options_.address.allow_old ? ", and the address allows any" : ""));
    }
  }

  // Of the member that is nearest to its quota.
  void say_space() {
    const Asked* fullest = nullptr;
    for (const Asked& asked : survey().asked) {
      if (!asked.status) continue;
      if (fullest == nullptr || share(asked) > share(*fullest)) fullest = &asked;
    }
    if (fullest == nullptr) return;
    const Status& status = *fullest->status;
    std::string text = "the database has " + bytes_text(status.size);
    if (fullest->quota == 0) return good("space", text + "; the quota is not told");
    text += " of " + bytes_text(fullest->quota);
    if (share(*fullest) < static_cast<double>(kFullPercent) / 100) return good("space", text);
    const bool holes = status.size_in_use < status.size / 2;
    note("space", text + " at " + shown(*fullest) + "; at the quota, nothing more is granted",
         holes ? "give back what is free in it: etcdctl defrag --cluster"
               : "compact and defragment it, or raise --quota-backend-bytes");
  }
  static double share(const Asked& asked) {
    if (asked.quota == 0) return 0;
    return static_cast<double>(asked.status->size) / static_cast<double>(asked.quota);
  }

  void say_alarms() {
    if (!survey().alarms) return;
    if (survey().alarms->empty()) return good("alarms", "none");
    for (const Alarm& alarm : *survey().alarms) {
      const std::string who = "the member " + name(alarm.member) + " has raised the alarm ";
      switch (alarm.kind) {
        case Alarm::Kind::kNoSpace:
          bad("alarms",
              {Code::kNoSpace, who + "NOSPACE: its quota is used up, and nothing is granted",
               "compact and defragment it, or raise --quota-backend-bytes; then: etcdctl alarm "
               "disarm"});
          break;
        case Alarm::Kind::kCorrupt:
          bad("alarms",
              {Code::kStoreCorrupt, who + "CORRUPT: its rows differ from those of the others",
               "replace that member by an empty one; then: etcdctl alarm disarm"});
          break;
        case Alarm::Kind::kOther:
          bad("alarms", {Code::kStoreUnavailable, who + "that lockkeeper does not know",
                         "see etcdctl alarm list"});
      }
    }
  }

  void say_commit() {
    if (!survey().epoch) {
      if (!told_unavailable()) bad("commit", survey().epoch.error());
      return;
    }
    const Result<double>& ms = survey().commit_ms;
    if (!ms && !(ms.error().code == Code::kNoSpace && told_of(Code::kNoSpace))) {
      return bad("commit", ms.error());
    }
    if (!ms) return;
    const std::string text =
        "takes " + ms_text(*ms) + ", the middle of " + std::to_string(kCommits);
    if (*ms < kSlowMs) return good("commit", text);
    note("commit", text + ": slow, and each grant takes at least that",
         "are the disks and the network of the members fast enough? etcdctl check perf");
  }
  bool told_of(Code code) const {
    return std::ranges::any_of(report_.findings, [&](const Finding& finding) {
      return finding.kind == Finding::Kind::kBad && finding.error.code == code;
    });
  }
  // What a person must do is said already.
  bool told_unavailable() const {
    return survey().epoch.error().code == Code::kStoreUnavailable &&
           told_of(Code::kStoreUnavailable);
  }

  void say_epoch(const Result<std::optional<Seen::State>>& known) {
    if (!known && known.error().code != Code::kStoreCorrupt) return bad("epoch", known.error());
    if (!known) {
      report_.went_back = known.error();
      return;
    }
    report_.known = *known;
    if (!survey().epoch) return;
    const std::optional<std::string>& text = *survey().epoch;
    if (text) report_.epoch = parse_epoch(*text);
    if (text && !report_.epoch) {
      return bad("epoch", {Code::kStoreCorrupt,
                           "the row " + quote(options_.address.prefix + "epoch") + " is damaged",
                           "is that prefix used by something else?"});
    }
    if (*known && (*known)->epoch.id != 0) {
      const auto sound =
          Seen::of(**known)->saw_epoch(survey().header, report_.epoch, (*known)->revision);
      if (!sound) {
        report_.went_back = sound.error();
        return;
      }
    }
    say_sound_epoch(*known);
  }

  void say_sound_epoch(const std::optional<Seen::State>& known) {
    const std::string revision = "revision " + std::to_string(survey().header.revision);
    if (!report_.epoch) {
      good("epoch", "none yet: no hub has served this prefix; " + revision);
    } else if (report_.epoch->schema != options_.schema_version) {
      bad("epoch", {Code::kStoreUnavailable,
                    "the rows have schema " + std::to_string(report_.epoch->schema) +
                        ", and this program has " + std::to_string(options_.schema_version),
                    "run the same version of lockkeeper on all hubs"});
    } else {
      good("epoch", "epoch " + std::to_string(report_.epoch->id) + ", " + revision +
                        (known ? "; the hub here has seen " + std::to_string(known->revision)
                               : std::string()));
    }
    if (known) return;
    note("epoch", "no hub has run here that would know whether the cluster went back",
         "look from a machine that has one");
  }

  const EtcdOptions& options_;
  EtcdReport report_;
};

}  // namespace

EtcdReport judge(const EtcdOptions& options, Survey survey,
                 const Result<std::optional<Seen::State>>& known) {
  return Judge(options, std::move(survey)).all(known);
}

Result<EtcdReport> inspect(const EtcdOptions& options) {
  std::shared_ptr<const TlsFiles> files;
  if (options.address.tls) {
    LK_ASSIGN(files, TlsFiles::read(options.address));
  }
  Result<std::optional<Seen::State>> known = std::nullopt;
  if (!options.seen_file.empty()) known = Seen::look(options.seen_file);
  return judge(options, survey(options.address, std::move(files), options.patience), known);
}

}  // namespace lockkeeper::kv::etcd
