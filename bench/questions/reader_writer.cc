// A reader and a writer that never pause: neither may be kept waiting by the other.
#include <unistd.h>

#include "base/assert.h"
#include "bench/crew.h"
#include "bench/must.h"
#include "bench/peers/ours.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

double read_once(layout::LockTable& table, int i) {
  const core::AcquireRequest wanted = ask_for({path_at(9, i)}, "reader");
  return timed([&] {
    must(table.read([&](core::Table& rows) -> Result<void> {
      LK_ASSIGN(const core::CheckReply reply, rows.check(wanted, 0));
      LOCKKEEPER_ASSERT(reply.free);
      return {};
    }));
  });
}

}  // namespace

void ask_reader_writer(const Setup& setup, Answer& answer) {
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("reader-writer");
  Place(folder, Kept::kProcess).hold_paths(setup.held);
  setup.progress->say("measuring");
  const Member reader{0, [&]() -> Once {
                        const auto place = std::make_shared<Place>(folder, Kept::kProcess);
                        return [place, i = 0]() mutable { return read_once(place->table(), i++); };
                      }};
  const Member writer{0, [&]() -> Once {
                        const auto place = std::make_shared<Place>(folder, Kept::kProcess);
                        return [place, i = 0]() mutable {
                          const auto wanted = ask_for({path_at(8, i++)}, "writer");
                          return timed([&] { table_pair(place->table(), wanted); });
                        };
                      }};
  CrewResult result = run_crew(setup, {reader, writer});
  const char* names[] = {"the reader's check", "the writer's acquire + release"};
  for (std::size_t i = 0; i < 2; ++i) {
    const double worst_ms = result.members[i].max() / 1000;
    answer.rows.push_back({names[i], "process", std::move(result.members[i]), ""});
    answer.targets.push_back({.what = std::string("at worst for ") + names[i],
                              .value = worst_ms,
                              .unit = "ms",
                              .must = 100});
  }
}

}  // namespace lockkeeper::bench
