// The arguments of one verb: declared once, then parsed, shown by --help and offered by completion.
//
// `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, short flags in a cluster (`-qh`), `--`
// ends the flags. An optional value (`--wait[=DURATION]`) is taken after `=`, or from the next word
// if that is a duration: a file of that name is written ./10m. If a single value is repeated, the
// last one counts. Not CLI11, because that rewrites words such as `[slug]`, `{}` and `++`:
// docs/decisions/arguments.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace lockkeeper::cli {

class Arguments {
 public:
  // kAgents to kLayouts: what the table knows now. kHeld and kOwnLeases are the caller's, kTaken
  // and kLeases are anybody's.
  enum class Complete {
    kNothing,
    kFiles,
    kFolders,
    kAgents,
    kHeld,
    kTaken,
    kOwnLeases,
    kLeases,
    kLayouts,
    kWords
  };

  // One declared argument, for help and completion.
  struct Declared {
    std::string name{};   // "--mode"; "RESOURCE" for a word; "-- COMMAND…"
    std::string brief{};  // "-q", or empty
    std::string value{};  // "NAME"; empty for a flag
    std::string help{};
    bool value_optional = false;
    bool optional = false;  // a command that need not be given
    bool common = false;    // every verb has it
    bool many = false;      // takes all remaining words
    bool hidden = false;    // parsed, but not shown anywhere
    Complete complete = Complete::kNothing;
    std::vector<std::string> words{};  // the possible values, if the list is short

    // Of a word or command, as the usage shows it: "FILE", "[-- COMMAND…]".
    std::string usage() const { return optional ? "[" + name + "]" : name; }
    bool is_command() const { return name.starts_with("-- "); }
    bool is_flag() const { return name.starts_with("--") && !is_command(); }
    bool is_word() const { return !name.starts_with("--"); }
    // "--mode VALUE": the value is the next word.
    bool takes_next() const { return is_flag() && !value.empty() && !value_optional; }
  };

  // Each of these declares one argument and where its value goes. The targets must outlive parse(),
  // which sets them.
  void flag(const std::string& name, bool& target, const std::string& help,
            const std::string& brief = {});
  void value(const std::string& name, std::optional<std::string>& target,
             const std::string& placeholder, const std::string& help,
             const std::string& brief = {});
  void required_value(const std::string& name, std::string& target, const std::string& placeholder,
                      const std::string& help);
  void values(const std::string& name, std::vector<std::string>& target,
              const std::string& placeholder, const std::string& help);
  // Without a value, the target becomes "".
  void optional_value(const std::string& name, std::optional<std::string>& target,
                      const std::string& placeholder, const std::string& help);
  // Positional words, in the order of these calls: a required one, an optional one, all remaining
  // ones. A word too many is a usage error.
  void word(const std::string& placeholder, std::string& target, const std::string& help);
  void optional_word(const std::string& placeholder, std::optional<std::string>& target,
                     const std::string& help);
  void words(const std::string& placeholder, std::vector<std::string>& target,
             const std::string& help);
  // What follows `--`, apart from the words; for `run`.
  void command(std::vector<std::string>& target, const std::string& help, bool optional = false);

  // What completion offers for the argument declared last.
  void offer(Complete complete) { declared_.back().complete = complete; }
  void offer(std::vector<std::string> choices);
  // Arguments declared from now on belong to every verb.
  void begin_common() {
    common_ = true;
    hidden_ = false;
  }
  // Arguments declared from now on are parsed but not shown, unless declared before.
  void begin_hidden() { hidden_ = true; }

  // usage: names the word that was not understood and the nearest known one.
  Result<void> parse(const std::vector<std::string>& words);

  // The index of a flag in declared(), by its long or short name.
  std::optional<std::size_t> find(std::string_view name) const;
  const std::vector<Declared>& declared() const { return declared_; }
  // "lockkeeper acquire [OPTIONS] RESOURCE…"
  std::string usage(std::string_view verb) const;
  // The declared arguments in two columns, common ones last.
  std::string help() const;

 private:
  using Target =
      std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*>;
  void declare(Declared declared, Target target);
  Result<void> take_long(const std::vector<std::string>& words, std::size_t& at);
  Result<void> take_brief(const std::vector<std::string>& words, std::size_t& at);
  std::optional<std::string> missing_dashes(const std::vector<std::string>& words,
                                            std::size_t at) const;
  Result<void> take_next(std::size_t index, const std::vector<std::string>& words, std::size_t& at);
  Result<void> take_word(const std::string& word, std::size_t& slot);
  Result<void> check_given() const;
  void store(std::size_t index, std::string value);
  Error unknown_flag(std::string_view name) const;
  std::string meant_by_letter(char letter) const;

  std::vector<Declared> declared_;
  std::vector<Target> targets_;  // beside declared_
  std::vector<bool> given_;      // beside declared_
  bool common_ = false;
  bool hidden_ = false;
};

}  // namespace lockkeeper::cli
