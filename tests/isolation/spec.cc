#include "isolation/spec.h"

#include <algorithm>
#include <sstream>

namespace lockkeeper::isolation {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class Parser {
 public:
  Result<Spec> run(std::string_view text) {
    std::istringstream in{std::string(text)};
    for (std::string raw; std::getline(in, raw);) {
      ++line_;
      const std::string line = trimmed(raw.substr(0, raw.find('#')));
      if (!line.empty()) LK_CHECK(take(line));
    }
    if (spec_.title.empty()) return wrong("there is no title");
    if (spec_.moves.empty()) return wrong("nothing happens");
    if (spec_.end.empty()) return wrong("the end is not told");
    return std::move(spec_);
  }

 private:
  enum class Part { kHead, kSession, kOrder, kEnd };
  static constexpr std::string_view kOfTheWorld[] = {"pass", "reboot", "vanish", "stops", "starts"};

  std::unexpected<Error> wrong(const std::string& what) const {
    return fail(Code::kInvalidInput, "line " + std::to_string(line_) + ": " + what);
  }

  Result<void> take(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return wrong("a line of nothing but strange blanks");
    if (words[0] == "session") return take_session(words);
    if (line == "order") {
      part_ = Part::kOrder;
      return {};
    }
    if (line == "end") {
      part_ = Part::kEnd;
      return {};
    }
    switch (part_) {
      case Part::kHead:
        if (!line.starts_with("title ")) return wrong("expected: title TEXT");
        spec_.title = trimmed(line.substr(6));
        return {};
      case Part::kSession:
        return take_step(line);
      case Part::kOrder:
        return take_move(line);
      case Part::kEnd:
        spec_.end.push_back(line);
        return {};
    }
    return {};
  }

  Result<void> take_session(const std::vector<std::string>& words) {
    Session session{words.size() > 1 ? words[1] : "", "", "", ""};
    session.agent = session.name;
    bool read = words.size() % 2 == 0;
    for (std::size_t i = 2; read && i < words.size(); i += 2) {
      read = words[i] == "as" || words[i] == "id" || words[i] == "at";
      std::string& what = words[i] == "as"   ? session.agent
                          : words[i] == "id" ? session.id
                                             : session.at;
      what = words[i + 1];
    }
    if (!read) return wrong("expected: session NAME [as AGENT] [id SESSION] [at MACHINE]");
    spec_.sessions.push_back(std::move(session));
    part_ = Part::kSession;
    return {};
  }

  Result<void> take_step(const std::string& line) {
    const auto colon = line.find(": ");
    if (!line.starts_with("step ") || colon == std::string::npos) {
      return wrong("expected: step NAME: ACTION");
    }
    Step step{trimmed(line.substr(5, colon - 5)), spec_.sessions.back().name,
              words_of(line.substr(colon + 2)), line_};
    if (known(step.name)) return wrong("step " + step.name + " is there twice");
    spec_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> take_move(const std::string& line) {
    const auto arrow = line.find("->");
    Move move;
    move.line = line_;
    move.words = words_of(line.substr(0, arrow));
    if (arrow != std::string::npos) move.expected = trimmed(line.substr(arrow + 2));
    if (move.words.empty()) return wrong("nothing stands before '->'");
    if (move.words.size() == 1 && known(move.words[0])) {
      move.step = move.words[0];
      if (move.expected.empty()) return wrong("what must come of " + move.step + "?");
    } else if (!std::ranges::count(kOfTheWorld, move.words[0])) {
      return wrong("there is no step '" + move.words[0] + "'");
    }
    spec_.moves.push_back(std::move(move));
    return {};
  }

  bool known(const std::string& name) const {
    return std::any_of(spec_.steps.begin(), spec_.steps.end(),
                       [&](const Step& step) { return step.name == name; });
  }

  Spec spec_;
  Part part_ = Part::kHead;
  int line_ = 0;
};

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
  return Parser().run(text);
}

}  // namespace lockkeeper::isolation
