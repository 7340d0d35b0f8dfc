// The small parsers of durations, times, numbers, names, addresses and plans, and the texts that
// are made for people and for shells.
#include <array>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/context.h"
#include "cli/output.h"
#include "fuzz.h"
#include "key/unicode.h"
#include "kv/memory/faulty_store.h"
#include "realm/identity.h"
#include "realm/store_url.h"

namespace lockkeeper::fuzz {
namespace {

void check_times(std::string_view text) {
  const auto length = parse_duration_ms(text, {.allow_none = true});
  if (!length) {
    require_readable(length.error());
  } else if (*length != kNoEnd) {
    require(*length >= 0 && *length <= kLongestDurationMs, "a length out of bounds");
    std::string shown = format_duration(*length);
    std::erase(shown, ' ');
    const auto again = parse_duration_ms(shown);
    require(again && *again <= *length, "what is shown is longer: " + shown);
  }
  const auto moment = parse_time(text);
  if (!moment) return require_readable(moment.error());
  // With a zone it may lie outside the years that are shown.
  if (*moment < -62'167'219'200'000 || *moment > 253'402'300'799'999) return;
  const auto again = parse_time(format_time(*moment));
  require(again && *again == *moment, "a time is shown as another: " + format_time(*moment));
}

// What a shell makes of one word with single quotes in it.
std::string as_the_shell_reads(std::string_view word) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && word[i] == '\\') {
      text += word[++i];
    } else {
      require(quoted || std::string_view(" \t\n;&|<>()$`\"*?[]#~!{}").find(word[i]) ==
                            std::string_view::npos,
              "a bare character that the shell reads");
      text += word[i];
    }
  }
  require(!quoted, "an open quote");
  return text;
}

void check_texts(std::string_view text) {
  const bool utf8 = is_valid_utf8(text);
  require(key::nfc(text).has_value() == utf8, "two opinions about UTF-8");
  require_readable({Code::kFailed, quote(text), quote(text, 10)});
  require_readable({Code::kFailed, key::in_quotes(text), cli::printable(text) + "."});
  if (text.find('\0') == std::string_view::npos) {
    require(as_the_shell_reads(shell_quote(text)) == text, "the shell reads another word");
  }
  const std::string printable = cli::printable(text);
  require(cli::width(cli::cut(printable, 20)) <= 20, "cut too late");
  const bool blank = printable.find_first_not_of(' ') == std::string::npos;
  require(!cli::wrap(printable, 30).empty() || blank, "lost in wrapping");
  constexpr std::array<std::string_view, 4> kWords = {"acquire", "release", "--wait", ""};
  static_cast<void>(nearest(text, kWords));
  require(from_hex(to_hex(text)) == text, "hexadecimal digits");
  const std::string bytes = from_hex(text);
  require(bytes.empty() || bytes.size() * 2 == text.size(), "half a digit");
}

}  // namespace

void run(Input input) {
  const std::string_view text = input.rest();
  check_times(text);
  check_texts(text);
  if (const auto number = cli::parse_number(text, "--n", 1000)) {
    require(*number >= 1 && *number <= 1000, "a number out of bounds");
  } else {
    require_readable(number.error());
  }
  for (auto* check : {realm::check_agent_name, realm::check_session_name}) {
    if (const auto good = check(text, "--agent"); !good) {
      require_readable(good.error());
    } else {
      require(is_valid_utf8(text) && text.size() <= realm::kNameBytesMax && !text.empty(),
              "a name that breaks the rules");
    }
  }
  realm::Realm realm;
  realm.store_folder = "/realm";
  const auto store =
      realm::choose_store(realm, text, [](const char*) { return std::optional<std::string>(); });
  if (!store) require_readable(store.error());
  require(realm.store_folder.starts_with('/'), "a store without a place");
  if (const auto fault = kv::parse_process_fault(text); !fault) {
    require_readable(fault.error());
  } else {
    require(fault->number > 0, "a fault at no call");
  }
}

}  // namespace lockkeeper::fuzz
