#include "core/audit_layouts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/text.h"
#include "core/foreign.h"
#include "core/mirrored.h"

namespace lockkeeper::core {
namespace {

using Say = std::function<void(std::string)>;

// The part of a lease that concerns layouts.
struct Seen {
  bool foreign = false;
  std::string known_key;                 // of a foreign one: the key under which it is known
  std::vector<std::string> mirrored_at;  // of one of ours
};

class LayoutAudit {
 public:
  LayoutAudit(kv::Txn& txn, const Say& say) : txn_(txn), say_(say) {}

  Result<void> run() {
    LK_CHECK(leases());
    LK_CHECK(known());
    LK_CHECK(to_remove());
    LK_CHECK(mirrored());
    for (const std::string& key : expected_known_) {
      say_("a foreign lease is known under no artefact: " + to_hex(key));
    }
    for (const std::string& key : expected_rows_) {
      say_("a lease is mirrored where no row says so: " + to_hex(key));
    }
    return {};
  }

 private:
  Result<void> each(const char* prefix, const kv::Txn::Visit& visit) {
    return txn_.scan(kv::prefix_range(prefix), visit, kv::Read::kPeek);
  }

  Result<void> leases() {
    return each("l", [&](const kv::Row& row) {
      if (row.key.size() == 5) return true;  // an agent's counter
      const LeaseId id{row.key.substr(1)};
      const auto lease = decode_lease(id, row.value, row.created);
      if (!lease || (!lease->foreign && lease->mirrored_at.empty())) return true;
      Seen seen{lease->foreign, "", lease->mirrored_at};
      if (lease->foreign) {
        seen.known_key = known_foreign_key(lease->terms.layout, foreign_artefact(*lease));
        expected_known_.insert(seen.known_key);
      }
      for (const std::string& place : lease->mirrored_at)
        expected_rows_.insert(mirror_key(place, id));
      leases_.emplace(id, std::move(seen));
      return true;
    });
  }

  Result<void> known() {
    return each("k", [&](const kv::Row& row) {
      const auto known = decode_known_foreign(row.value);
      if (!known || known_foreign_key(known->layout, known->artefact) != row.key) {
        say_("a foreign lock cannot be read: " + to_hex(row.key));
        return true;
      }
      const auto lease = leases_.find(known->lease);
      if (lease == leases_.end()) return true;  // it ended by time; the next scan forgets it
      if (!lease->second.foreign || lease->second.known_key != row.key) {
        say_("the foreign lock " + quote(known->artefact) + " is known as lease " +
             known->lease.text() + ", which is another");
      }
      expected_known_.erase(std::string(row.key));
      return true;
    });
  }

  Result<void> to_remove() {
    return each("u", [&](const kv::Row& row) {
      const LeaseId id{row.key.substr(1)};
      const auto places = decode_places(row.value);
      if (!places || places->empty()) {
        say_("what is to be removed of a lease cannot be read: " + to_hex(row.key));
        return true;
      }
      const auto lease = leases_.find(id);
      for (const std::string& place : *places) {
        const bool still = lease != leases_.end() && contains(lease->second.mirrored_at, place);
        if (still) say_("lease " + id.text() + " is mirrored by what is to be removed");
        if (!still) expected_rows_.insert(mirror_key(place, id));
      }
      return true;
    });
  }

  Result<void> mirrored() {
    return each("o", [&](const kv::Row& row) {
      const auto found = read_mirror_row(row);
      if (!found ||
          mirror_key(mirror_place(found->layout, found->artefact), found->lease) != row.key) {
        say_("a mirrored lease cannot be read: " + to_hex(row.key));
        return true;
      }
      if (expected_rows_.erase(std::string(row.key)) == 0) {
        say_("the artefact " + quote(found->artefact) + " in " + found->layout +
             " shows no lease and nobody will remove it");
      }
      return true;
    });
  }

  static bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::ranges::find(list, text) != list.end();
  }

  kv::Txn& txn_;
  const Say& say_;
  std::map<LeaseId, Seen> leases_;  // foreign or mirrored
  std::set<std::string> expected_known_;
  std::set<std::string> expected_rows_;
};

}  // namespace

Result<void> audit_layouts(kv::Txn& txn, const Say& say) {
  return LayoutAudit(txn, say).run();
}

}  // namespace lockkeeper::core
