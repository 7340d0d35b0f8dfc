// What the waiters of a session's parts cost somebody who has nothing to do with them.
#include "bench/must.h"
#include "bench/questions/questions.h"
#include "bench/questions/waiting.h"

namespace lockkeeper::bench {
namespace {

constexpr int kWaiters = 150;
constexpr std::size_t kChecksLeast = 200;

// Checks of a path that nobody wants, while they wait.
Samples checks_beside(const Setup& setup, const std::string& sessions, Answer& answer) {
  const std::string folder = setup.fresh("parts");
  Place place(folder, Kept::kProcess);
  service::Locks holder(place.site(), {"holder", ""});
  take_it(holder);
  const Waiting waiting(kWaiters, [&](int i) {
    Place own(folder, Kept::kProcess);
    service::Locks locks(own.site(), {"waiter", sessions + std::to_string(i)});
    take_it(locks);
  });
  if (!waiting.all_queued(holder)) {
    answer.skipped.push_back("sessions " + sessions + "N: they did not all come to wait");
    return {};
  }
  service::Locks stranger(place.site(), {"stranger", ""});
  service::CheckCommand command;
  command.wanted.texts = {"docs/guide.md"};
  return std::move(alternate({[&] { return timed([&] { must(stranger.check(command)); }); }},
                             setup.seconds, kChecksLeast)
                       .front());
}

}  // namespace

void ask_parts(const Setup& setup, Answer& answer) {
  for (const auto& [name, sessions] :
       {std::pair{"150 sessions wait", "s"}, std::pair{"150 parts of one session wait", "S/"}}) {
    setup.progress->say(name);
    Samples samples = checks_beside(setup, sessions, answer);
    if (samples.count() > 0) answer.rows.push_back({name, "process", std::move(samples), ""});
  }
  answer.ratio("150 parts of one session wait", "150 sessions wait",
               {.what = "while 150 plain sessions wait", .must = 1.5, .aim = 1.1});
}

}  // namespace lockkeeper::bench
