// `top`: leases, queue and events at a terminal, live.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/keyboard.h"
#include "cli/verbs/keep_first.h"
#include "cli/verbs/log_view.h"
#include "cli/verbs/top_view.h"
#include "cli/verbs/verbs.h"
#include "host/signals.h"
#include "service/messages.h"
#include "service/questions.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kEventsKnown = 200;
constexpr std::size_t kAnswerBytes = 2'000;
constexpr int kTickMs = 100;
constexpr std::int64_t kLookMs = 250;
constexpr std::int64_t kListMs = 1'000;
constexpr std::int64_t kListRest =
    10;  // of the time between two lists, at most one tenth is a list
constexpr std::int64_t kToldMs = 6'000;

std::int64_t mono_ms(const VerbContext& context) {
  return context.runtime().clock->now().mono_ms;
}

Result<void> learn(VerbContext& context, OpenLocks& open, TopFacts& facts) {
  LK_ASSIGN(service::ListReply reply, open.locks.list({}));
  LK_ASSIGN(std::vector<core::Event> events, service::last_events(open.site, kEventsKnown));
  facts.reply = std::move(reply);
  facts.events = std::move(events);
  facts.viewer = {open.locks.owner(), context.now_wall_ms()};
  return {};
}

class TopSession {
 public:
  TopSession(VerbContext& context, OpenLocks& open, TopFacts facts, TopChoice choice)
      : context_(context),
        open_(open),
        facts_(std::move(facts)),
        choice_(std::move(choice)),
        keyboard_(context.out()),
        picture_(context.out(), Picture::Where::kWhole) {}

  // The exit status.
  int run();

 private:
  enum class Asks { kNothing, kFilter, kBreak, kReason, kMessage };

  bool look();
  void draw();
  void press(const Key& key);
  void answer(const Key& key);
  void done();
  void start(Asks asks);
  void move(std::ptrdiff_t by);
  void tell(std::string text);
  Result<std::string> break_chosen(const TopRow& row, const std::string& reason);
  Result<std::string> send_message(const TopRow& row, const std::string& text);
  const TopRow* chosen() const;

  VerbContext& context_;
  OpenLocks& open_;
  TopFacts facts_;
  TopChoice choice_;
  std::vector<TopRow> rows_;
  TopFoot foot_;
  Asks asks_ = Asks::kNothing;
  std::optional<TopRow> about_;  // the row that an answer is about, whatever is chosen meanwhile
  Keyboard keyboard_;
  Picture picture_;
  ScreenSize size_;
  std::uint64_t newest_ = 0;
  std::int64_t looked_ms_ = 0;
  std::int64_t listed_ms_ = 0;
  std::int64_t cost_ms_ = 0;  // of the last list
  std::int64_t told_ms_ = 0;
  bool over_ = false;
};

const TopRow* TopSession::chosen() const {
  const auto found = std::ranges::find(rows_, choice_.chosen, &TopRow::id);
  return found == rows_.end() ? nullptr : &*found;
}

void TopSession::tell(std::string text) {
  foot_.told = std::move(text);
  told_ms_ = mono_ms(context_);
}

// The events say at once that something has changed; only the list says who is dead. True: there is
// something new to show.
bool TopSession::look() {
  const std::int64_t now = mono_ms(context_);
  if (now - looked_ms_ < kLookMs) return false;
  looked_ms_ = now;
  const auto newest = service::newest_event(open_.site);
  const bool changed = newest && *newest != newest_;
  const std::int64_t pause = kListRest * cost_ms_;
  if (now - listed_ms_ < (changed ? pause : std::max(kListMs, pause))) return false;
  const auto learned = learn(context_, open_, facts_);
  if (!learned) {
    const std::string seen = local_time(facts_.viewer.now_wall_ms).substr(11);
    foot_.trouble = "as it was at " + seen + ": " + learned.error().message;
    return true;
  }
  foot_.trouble.clear();
  if (newest) newest_ = *newest;
  listed_ms_ = mono_ms(context_);
  cost_ms_ = listed_ms_ - now;
  return true;
}

void TopSession::draw() {
  if (foot_.trouble.empty()) facts_.viewer.now_wall_ms = context_.now_wall_ms();
  if (!foot_.told.empty() && mono_ms(context_) - told_ms_ > kToldMs) foot_.told.clear();
  const ScreenSize now = screen_size(context_.out());
  if (now != size_) picture_.disturbed();
  size_ = now;
  rows_ = top_rows(facts_, choice_);
  picture_.draw(top_screen(facts_, rows_, choice_, foot_, size_));
}

void TopSession::move(std::ptrdiff_t by) {
  if (rows_.empty()) return;
  const auto found = std::ranges::find(rows_, choice_.chosen, &TopRow::id);
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  // Without a choice the first step chooses the first row.
  const std::ptrdiff_t at =
      found == rows_.end() ? (by > 0 ? by - 1 : 0) : found - rows_.begin() + by;
  choice_.chosen = rows_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, last))].id;
}

void TopSession::start(Asks asks) {
  const TopRow* const row = chosen();
  if (asks == Asks::kFilter) {
    foot_.prompt = TopPrompt{"", "Show only what contains:", choice_.filter};
  } else if (row == nullptr) {
    return tell("choose a line first, with ↑ and ↓");
  } else if (asks == Asks::kBreak && row->waits) {
    return tell("this request waits: only a lease can be broken");
  } else if (asks == Asks::kMessage && row->foreign) {
    return tell("another tool holds it, which reads no messages");
  } else if (asks == Asks::kBreak) {
    foot_.prompt = TopPrompt{"Break " + row->name + " of " + shown(row->owner.agent) +
                                 "? Its holder is told, its queue goes on.",
                             "y breaks it, any other key keeps it", ""};
  } else {
    foot_.prompt = TopPrompt{"It is shown with the agent's next command.",
                             "Message to " + shown(row->owner.agent) + ":", ""};
  }
  if (row != nullptr) about_ = *row;
  foot_.told.clear();
  asks_ = asks;
}

Result<std::string> TopSession::break_chosen(const TopRow& row, const std::string& reason) {
  service::BreakCommand command;
  command.lease_ids = {row.id.text()};
  command.reason = reason;
  command.foreign = row.foreign;
  keep_first(context_, open_, snapshot::Why::kBreak, row.owner.agent);
  LK_ASSIGN(const auto broken, open_.locks.break_leases(command));
  if (broken.empty()) return "it had ended already";
  return "broke " + row.name + ", held by " + service::owner_text(row.owner);
}

Result<std::string> TopSession::send_message(const TopRow& row, const std::string& text) {
  service::SendCommand command;
  command.to = row.owner;
  command.text = text;
  service::Messages messages(open_.site, open_.locks.owner());
  LK_CHECK(messages.send(command));
  return "sent to " + service::owner_text(row.owner) + ", which sees it with its next command";
}

void TopSession::done() {
  const std::string text = foot_.prompt->answer;
  const Asks asks = std::exchange(asks_, Asks::kNothing);
  foot_.prompt.reset();
  if (asks == Asks::kFilter) return;
  if (asks == Asks::kMessage && text.empty()) return tell("nothing was sent: it had no text");
  const auto outcome =
      asks == Asks::kReason ? break_chosen(*about_, text) : send_message(*about_, text);
  tell(outcome ? *outcome : outcome.error().message);
  looked_ms_ = listed_ms_ = 0;  // do not wait for the next look
}

void TopSession::answer(const Key& key) {
  if (asks_ == Asks::kBreak) {
    // Not Enter: text that was meant for another prompt must not break anything.
    const bool yes = key.text == "y";
    asks_ = yes ? Asks::kReason : Asks::kNothing;
    if (!yes) return foot_.prompt.reset();
    foot_.prompt->label = "Reason (optional; Enter breaks, Esc does not):";
    return;
  }
  std::string& text = foot_.prompt->answer;
  switch (key.kind) {
    case Key::Kind::kText:
      if (text.size() + key.text.size() <= kAnswerBytes) text += key.text;
      break;
    case Key::Kind::kBack:
      while (!text.empty() && is_utf8_continuation(text.back())) text.pop_back();
      if (!text.empty()) text.pop_back();
      break;
    case Key::Kind::kEraseLine:
      text.clear();
      break;
    case Key::Kind::kEscape:
      if (asks_ == Asks::kFilter) choice_.filter.clear();
      asks_ = Asks::kNothing;
      foot_.prompt.reset();
      return;
    case Key::Kind::kEnter:
      return done();
    default:
      return;
  }
  if (asks_ == Asks::kFilter) choice_.filter = text;
}

void TopSession::press(const Key& key) {
  if (key.kind == Key::Kind::kEnd) over_ = true;
  if (key.kind == Key::Kind::kRedraw) return picture_.disturbed();
  if (key.kind == Key::Kind::kSuspend) {
    keyboard_.suspend();
    return picture_.disturbed();
  }
  if (foot_.prompt) return answer(key);
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, size_.rows / 2));
  const auto all = static_cast<std::ptrdiff_t>(rows_.size());
  const auto is = [&](const char* text) { return key.text == text; };
  if (key.kind == Key::Kind::kUp || is("k")) return move(-1);
  if (key.kind == Key::Kind::kDown || is("j")) return move(1);
  if (key.kind == Key::Kind::kPageUp) return move(-page);
  if (key.kind == Key::Kind::kPageDown) return move(page);
  if (key.kind == Key::Kind::kFirst || is("g")) return move(-all);
  if (key.kind == Key::Kind::kLast || is("G")) return move(all);
  if (is("/")) return start(Asks::kFilter);
  if (is("b")) return start(Asks::kBreak);
  if (is("m")) return start(Asks::kMessage);
  if (is("q")) over_ = true;
  if (is("?") || is("h")) choice_.help = !choice_.help;
  if (is("s")) {
    const auto next = (static_cast<std::size_t>(choice_.sort) + 1) % std::size(kTopSorts);
    choice_.sort = static_cast<TopSort>(next);
  }
  if (key.kind != Key::Kind::kEscape) return;
  choice_.filter.clear();
  choice_.help = false;
  choice_.chosen = {};
}

int TopSession::run() {
  const host::SignalWatch signals;
  std::int64_t drawn = 0;  // the second that the picture shows; 0: draw it again
  while (!over_ && signals.signal() == 0) {
    const bool changed = look() || screen_size(context_.out()) != size_;
    const std::int64_t second = context_.now_wall_ms() / 1000;
    if (changed || second != drawn) draw();
    drawn = second;
    for (const Key& key : keyboard_.wait(kTickMs)) {
      press(key);
      drawn = 0;
    }
  }
  return signals.signal() == 0 ? 0 : signals.exit_status();
}

Result<TopSort> parse_sort(const std::optional<std::string>& text) {
  if (!text) return TopSort::kPath;
  const auto found = std::ranges::find(kTopSorts, *text);
  if (found != std::end(kTopSorts)) return static_cast<TopSort>(found - std::begin(kTopSorts));
  return fail(Code::kInvalidInput, "--sort " + quote(*text) + " is not a column",
              "use path, agent, since, ends or waiting");
}

}  // namespace

Result<int> top_verb(VerbContext& context) {
  std::optional<std::string> filter, sort;
  bool once = false;
  context.allow_bad_settings();
  Arguments& arguments = context.arguments();
  arguments.value("--filter", filter, "TEXT",
                  "only what contains it: resource, agent, session,\ntask or reason");
  arguments.value("--sort", sort, "COLUMN", "path (default), agent, since, ends or waiting");
  arguments.offer({"path", "agent", "since", "ends", "waiting"});
  arguments.flag("--once", once, "print it once; the default in a pipe");
  if (const auto status = context.parse()) return *status;
  TopChoice choice;
  LK_ASSIGN(choice.sort, parse_sort(sort));
  choice.filter = filter.value_or("");
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  TopFacts facts;
  facts.realm = open->site.realm().name;
  LK_CHECK(learn(context, *open, facts));
  Output& out = context.out();
  const bool live = context.environment().in_is_terminal && out.options().out_is_terminal &&
                    out.options().draws && !out.json() && !out.quiet() && !once;
  if (live) return TopSession(context, *open, std::move(facts), std::move(choice)).run();
  if (out.json()) {
    keep_matching(facts, choice.filter);
    service::Json json = service::list_json(facts.reply);
    json["events"] = service::Json::array();
    for (const core::Event& event : facts.events) {
      json["events"].push_back(service::event_json(event));
    }
    out.object(json);
    return 0;
  }
  for (const Line& line : top_once(std::move(facts), choice, out.columns())) out.line(line);
  return 0;
}

}  // namespace lockkeeper::cli
