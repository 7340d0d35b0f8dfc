#include "linear/history.h"

#include <algorithm>
#include <sstream>

namespace lockkeeper::linear {
namespace {

using Words = std::vector<std::string>;

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::vector<std::string> parted(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::int64_t number(const std::string& text) {
  std::size_t used = 0;
  std::int64_t value = -1;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (text.empty() || used != text.size() || value < 0) throw BadHistory("not a number: " + text);
  return value;
}

std::int64_t number_or_none(const std::string& text) {
  return text == "none" ? kNoEnd : number(text);
}

std::string none_or(std::int64_t value) {
  return value == kNoEnd ? "none" : std::to_string(value);
}

// "name=value" → value, if it is that name.
std::optional<std::string> value_of(const std::string& word, const std::string& name) {
  if (!word.starts_with(name + "=")) return std::nullopt;
  return word.substr(name.size() + 1);
}

Verb verb_of(const std::string& word) {
  for (const Verb verb :
       {Verb::kAcquire, Verb::kRelease, Verb::kRenew, Verb::kCheck, Verb::kBreak}) {
    if (word == name_of(verb)) return verb;
  }
  throw BadHistory("an unknown verb: " + word);
}

Asked asked_of(const Words& words, std::size_t at) {
  Asked asked;
  asked.verb = verb_of(words.at(at));
  asked.keep_ttl = asked.verb == Verb::kRenew;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("x:") || word.starts_with("k:")) {
      asked.wishes.push_back({word.substr(2), core::Mode::kExclusive});
    } else if (word.starts_with("s:")) {
      asked.wishes.push_back({word.substr(2), core::Mode::kShared});
    } else if (word == "wait" || word == "own") {
      (word == "wait" ? asked.wait : asked.only_own_hold) = true;
    } else if (const auto lease = value_of(word, "lease")) {
      asked.lease = *lease;
    } else if (const auto ttl = value_of(word, "ttl")) {
      asked.ttl_ms = number_or_none(*ttl);
      asked.keep_ttl = false;
    } else if (const auto process = value_of(word, "attach")) {
      asked.attach = *process;
    } else if (const auto fence = value_of(word, "fence")) {
      asked.fence = static_cast<std::uint64_t>(number(*fence));
    } else if (const auto grace = value_of(word, "grace")) {
      asked.grace_ms = number(*grace);
    } else if (const auto id = value_of(word, "id")) {
      asked.request_id = *id;
    } else if (const auto under = value_of(word, "under")) {
      const std::size_t colon = under->find(':');
      asked.under = under->substr(0, colon);
      asked.under_fence = static_cast<std::uint64_t>(number(under->substr(colon + 1)));
    } else {
      throw BadHistory("an unknown argument: " + word);
    }
  }
  return asked;
}

void check_word(Verb verb, const std::string& word) {
  static const std::map<Verb, std::set<std::string>> kWords{
      {Verb::kAcquire,
       {"granted", "renewed", "held", "timeout", "interrupted", "deadlock", "lost", "misused"}},
      {Verb::kRelease, {"released", "kept", "not_held", "not_owner", "not_found", "lost"}},
      {Verb::kRenew, {"renewed", "not_owner", "not_found", "lost"}},
      {Verb::kCheck, {"checked", "lost"}},
      {Verb::kBreak, {"broken", "not_found"}}};
  if (word == "failed" || word == "unknown" || kWords.at(verb).contains(word)) return;
  throw BadHistory(std::string(name_of(verb)) + " cannot be answered by " + word);
}

Told told_of(const Words& words, std::size_t at, Verb verb) {
  Told told;
  told.word = words.at(at);
  check_word(verb, told.word);
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto lease = value_of(word, "lease")) {
      told.lease = *lease;
    } else if (const auto fence = value_of(word, "fence")) {
      told.fence = static_cast<std::uint64_t>(number(*fence));
    } else if (const auto until = value_of(word, "until")) {
      told.until_ms = number_or_none(*until);
    } else if (const auto by = value_of(word, "by")) {
      const Words names = parted(*by);
      told.by.emplace(names.begin(), names.end());
    } else if (const auto lost = value_of(word, "lost")) {
      told.lost = parted(*lost);
    } else if (word == "free" || word == "mine" || word == "current") {
      (word == "free" ? told.free : word == "mine" ? told.mine : told.current) = true;
    } else {
      throw BadHistory("an unknown part of an answer: " + word);
    }
  }
  return told;
}

class Parser {
 public:
  void line(const std::string& text) {
    std::istringstream stream(text);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0].starts_with('#')) return;
    if (words[0] == "x" && words.size() == 4) {
      history_.deaths[words[1]] = {number(words[2]), number(words[3])};
      return;
    }
    if (words.size() < 3) throw BadHistory("too short");
    const auto op = static_cast<std::uint64_t>(number(words[1]));
    if (words[0] == ">" && words.size() >= 6) {
      Call call;
      call.number = op;
      call.invoked = number(words[2]);
      call.process = words[3];
      call.owner = words[4];
      call.asked = asked_of(words, 5);
      if (!at_.emplace(op, history_.calls.size()).second) throw BadHistory("an op called twice");
      history_.calls.push_back(std::move(call));
      return;
    }
    if (words[0] != "<" && words[0] != "q") throw BadHistory("an unknown kind of line");
    const auto found = at_.find(op);
    if (found == at_.end()) throw BadHistory("an answer to what was not asked");
    Call& call = history_.calls[found->second];
    const std::int64_t time = number(words[2]);
    if (time < call.invoked) throw BadHistory("answered before it was asked");
    if (words[0] == "q") {
      call.queued = time;
    } else {
      if (call.answered()) throw BadHistory("answered twice");
      call.returned = time;
      call.told = told_of(words, 3, call.asked.verb);
    }
  }

  History take() {
    std::ranges::stable_sort(history_.calls, {}, &Call::invoked);
    return std::move(history_);
  }

 private:
  History history_;
  std::map<std::uint64_t, std::size_t> at_;
};

}  // namespace

const char* name_of(Verb verb) {
  static const char* const kNames[] = {"acquire", "release", "renew", "check", "break"};
  return kNames[static_cast<std::size_t>(verb)];
}

core::Owner owner_of(const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string text_of(const core::Owner& owner) {
  return owner.session.empty() ? owner.agent : owner.agent + "@" + owner.session;
}

std::optional<core::Owner> whole_of(const core::Owner& owner) {
  const std::size_t slash = owner.session.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string whole = owner.session.substr(0, slash);
  return core::Owner{owner.agent, whole == "-" ? "" : whole};
}

History parse_history(const std::string& text) {
  Parser parser;
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) {
    ++count;
    try {
      parser.line(line);
    } catch (const std::exception& error) {
      throw BadHistory("line " + std::to_string(count) + ": " + error.what() + ": " + line);
    }
  }
  return parser.take();
}

std::string invocation_line(const Call& call) {
  const Asked& asked = call.asked;
  std::string text = "> " + std::to_string(call.number) + " " + std::to_string(call.invoked) + " " +
                     call.process + " " + call.owner + " " + name_of(asked.verb);
  const bool named = asked.verb == Verb::kRelease || asked.verb == Verb::kBreak;
  for (const Wish& wish : asked.wishes) {
    text += named ? " k:" : wish.mode == core::Mode::kShared ? " s:" : " x:";
    text += wish.resource;
  }
  if (!asked.lease.empty()) text += " lease=" + asked.lease;
  if (asked.fence) text += " fence=" + std::to_string(*asked.fence);
  const bool length = asked.verb == Verb::kAcquire || asked.verb == Verb::kRenew;
  if (length && !asked.keep_ttl) text += " ttl=" + none_or(asked.ttl_ms);
  if (!asked.attach.empty()) text += " attach=" + asked.attach;
  if (asked.grace_ms != 0) text += " grace=" + std::to_string(asked.grace_ms);
  if (!asked.request_id.empty()) text += " id=" + asked.request_id;
  if (!asked.under.empty()) {
    text += " under=" + asked.under + ":" + std::to_string(asked.under_fence);
  }
  if (asked.wait) text += " wait";
  if (asked.only_own_hold) text += " own";
  return text + "\n";
}

std::string queued_line(const Call& call) {
  return "q " + std::to_string(call.number) + " " + std::to_string(call.queued) + "\n";
}

std::string return_line(const Call& call) {
  const Told& told = call.told;
  std::string text =
      "< " + std::to_string(call.number) + " " + std::to_string(call.returned) + " " + told.word;
  if (!told.lease.empty()) text += " lease=" + told.lease;
  if (told.fence != 0) text += " fence=" + std::to_string(told.fence);
  if (told.until_ms) text += " until=" + none_or(*told.until_ms);
  if (told.free) text += " free";
  if (told.mine) text += " mine";
  if (told.current) text += " current";
  if (told.by) text += " by=" + joined(*told.by);
  if (!told.lost.empty()) text += " lost=" + joined({told.lost.begin(), told.lost.end()});
  return text + "\n";
}

std::string death_line(const std::string& process, const Death& death) {
  return "x " + process + " " + std::to_string(death.from) + " " + std::to_string(death.to) + "\n";
}

std::string to_text(const History& history) {
  std::string text;
  for (const Call& call : history.calls) {
    text += invocation_line(call);
    if (call.queued != kNever) text += queued_line(call);
    if (call.answered()) text += return_line(call);
  }
  for (const auto& [process, death] : history.deaths) text += death_line(process, death);
  return text;
}

}  // namespace lockkeeper::linear
