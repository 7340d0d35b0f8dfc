#include "crew/brief.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "service/names.h"

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kNeighboursMax = 100;
constexpr std::size_t kListed = 200;  // resources of one list in the text

void add_list(std::string& text, const char* title, const std::vector<key::Resource>& resources) {
  if (resources.empty()) return;
  text += std::string(title) + "\n";
  for (std::size_t i = 0; i < resources.size() && i < kListed; ++i) {
    text += "- " + resources[i].text() + "\n";
  }
  if (resources.size() > kListed) {
    text += "- and " + std::to_string(resources.size() - kListed) + " more\n";
  }
}

// The quotes around a character of a shell line.
enum class Quotes { kNone, kSingle, kDouble };

Quotes after(Quotes quotes, char c) {
  const Quotes own = c == '\'' ? Quotes::kSingle : c == '"' ? Quotes::kDouble : Quotes::kNone;
  if (quotes == Quotes::kNone) return own;
  return quotes == own ? Quotes::kNone : quotes;
}

std::string variable_in(Quotes quotes, const char* variable) {
  std::string use = std::string("${") + variable + "}";
  if (quotes == Quotes::kDouble) return use;
  if (quotes == Quotes::kSingle) return "'\"" + use + "\"'";
  return "\"" + use + "\"";
}

const Placeholder* placeholder_at(std::string_view text) {
  for (const Placeholder& placeholder : placeholders()) {
    if (text.starts_with("{" + std::string(placeholder.name) + "}")) return &placeholder;
  }
  return nullptr;
}

bool starts_comment(std::string_view line, std::size_t at) {
  return line[at] == '#' && (at == 0 || std::string_view(" \t\n;&|()").contains(line[at - 1]));
}

std::string shell_line(std::string_view line) {
  std::string result;
  Quotes quotes = Quotes::kNone;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && quotes != Quotes::kSingle && i + 1 < line.size()) {
      result += line.substr(i++, 2);  // an escaped quote opens nothing
      continue;
    }
    if (const Placeholder* const placeholder = placeholder_at(line.substr(i))) {
      result += variable_in(quotes, placeholder->variable);
      i += std::string_view(placeholder->name).size() + 1;
      continue;
    }
    if (quotes == Quotes::kNone && starts_comment(line, i)) {
      const std::size_t end = std::min(line.find('\n', i), line.size());
      result += line.substr(i, end - i);  // a quote in it opens nothing
      i = end - 1;
      continue;
    }
    quotes = after(quotes, line[i]);
    result += line[i];
  }
  return result;
}

std::string filled_word(std::string_view word, const std::map<std::string, std::string>& values) {
  std::string result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const Placeholder* const placeholder = placeholder_at(word.substr(i));
    const auto value = placeholder == nullptr ? values.end() : values.find(placeholder->name);
    if (value == values.end()) {
      result += word[i];
      continue;
    }
    result += value->second;
    i += value->first.size() + 1;
  }
  return result;
}

}  // namespace

std::vector<Neighbour> neighbours_outside(service::Locks& locks, const std::string& ours) {
  std::vector<Neighbour> list;
  const auto held = locks.list({});
  if (!held) return list;
  for (const service::ListedLease& each : held->leases) {
    if (list.size() == kNeighboursMax) break;
    if (each.lease.owner.session.starts_with(ours)) continue;
    list.push_back(
        {each.lease.owner.agent, service::spelled_texts(each.lease), each.lease.terms.reason});
  }
  return list;
}

std::string scope_text(const plan::Job& job, const std::string& root,
                       const std::vector<Neighbour>& neighbours, const std::string& branch) {
  std::string text = "You are " + job.id + ", one of several agents working in " + root + ".\n";
  if (!branch.empty()) {
    text = "You are " + job.id + ", one of several agents that work on this repository.\n" +
           "You work in " + root + ", a git worktree of your own on the branch\n" + branch +
           ". Stay on it. When you are done, your work is committed and merged for you.\n";
  }
  if (!job.description.empty()) text += "Your task: " + job.description + "\n";
  add_list(text, "You hold the locks on:", job.locks);
  if (job.writes.empty()) {
    text += "You may not change any file.\n";
  } else {
    add_list(text, "You may change:", job.writes);
  }
  add_list(text, "You may not change, even there:", job.denies);
  add_list(text, "You may read, as needed:", job.reads);
  if (!neighbours.empty()) text += "Other agents hold these; do not change them:\n";
  for (const Neighbour& neighbour : neighbours) {
    text += "- " + shown(neighbour.agent) + ": " + shown_list(neighbour.resources, kListed);
    if (neighbour.in_plan) text += " (in this plan)";
    if (!neighbour.reason.empty()) text += " (" + quote(neighbour.reason) + ")";
    text += "\n";
  }
  text +=
      "Do not change anything else without a lock. If you need another file, run:\n"
      "  lockkeeper acquire FILE --reason WHY\n"
      "If it is held, work on something else or add --wait=10m. Changes outside your scope are\n"
      "reported.\n";
  return text;
}

std::vector<std::string> filled_command(const plan::Command& command,
                                        const std::map<std::string, std::string>& values) {
  if (command.shell) return {"/bin/sh", "-c", shell_line(command.words.front())};
  std::vector<std::string> words;
  for (const std::string& word : command.words) words.push_back(filled_word(word, values));
  return words;
}

std::string cut_text(const std::string& text, const std::string& whole_in) {
  if (text.size() <= kVariableBytesMax) return text;
  return cut_utf8(text, kVariableBytesMax) + "\n… the whole text is in " + whole_in + "\n";
}

}  // namespace lockkeeper::crew
