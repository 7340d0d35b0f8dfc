// Judges one command: takes off what only starts another program, and remembers folders and
// variables.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "enforce/shell/word.h"

namespace lockkeeper::enforce::shell {
namespace {

// A program whose arguments are a command.
struct Starter {
  std::string_view name;
  std::string_view valued;  // letters of options that take the next word
  std::string_view longs;   // the same for long options, between blanks
  std::size_t skipped = 0;  // words before the command
};

constexpr auto kStarters = std::to_array<Starter>({
    {"builtin", "", ""},
    {"busybox", "", ""},
    {"caffeinate", "tw", ""},
    {"chronic", "", ""},
    {"chrt", "pTPD", "", 1},
    {"command", "", ""},
    {"doas", "uC", ""},
    {"eatmydata", "", ""},
    {"env", "uC", " --unset --chdir "},
    {"exec", "a", ""},
    {"fakeroot", "", ""},
    {"flock", "wE", " --wait --timeout --conflict-exit-code ", 1},
    {"ionice", "cnp", " --class --classdata "},
    {"ltrace", "aelnopsuwx", ""},
    {"nice", "n", " --adjustment "},
    {"nohup", "", ""},
    {"parallel", "jIaSN", " --jobs --colsep --joblog --arg-file "},
    {"setsid", "", ""},
    {"stdbuf", "ioe", " --input --output --error "},
    {"strace", "abeEIopPsSuUX", ""},
    {"sudo", "ughpCrtDRTU", " --user --group --host --prompt --chdir --chroot --other-user "},
    {"taskset", "", "", 1},
    {"time", "fo", " --format --output "},
    {"timeout", "ks", " --kill-after --signal ", 1},
    {"unbuffer", "", ""},
    {"watch", "n", " --interval "},
    {"xargs", "ILnPsdEa",
     " --max-args --max-procs --max-chars --max-lines --delimiter --arg-file --eof "},
});
// Programs with a subcommand that starts another program.
constexpr auto kSubStarters =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"bundle", "exec"},
                                                                  {"lockkeeper", "run"},
                                                                  {"mise", "exec"},
                                                                  {"npm", "exec"},
                                                                  {"pipenv", "run"},
                                                                  {"pnpm", "exec"},
                                                                  {"poetry", "run"},
                                                                  {"uv", "run"},
                                                                  {"yarn", "exec"}});
// Programs that give a text to a shell with -c.
constexpr auto kGivers = std::to_array<std::string_view>({"npx", "runuser", "script", "sg", "su"});
constexpr auto kShells =
    std::to_array<std::string_view>({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"});
constexpr auto kDeclare =
    std::to_array<std::string_view>({"declare", "export", "local", "readonly", "typeset"});

std::string program_of(const Word& word) {
  return word.text.substr(word.text.rfind('/') + 1);
}

bool is_long_valued(std::string_view longs, std::string_view word) {
  return longs.find(" " + std::string(word) + " ") != std::string_view::npos;
}

// {} is what only xargs or find knows.
Word filled_in(Word word) {
  for (std::size_t at = 0; (at = word.text.find("{}", at)) != std::string::npos; ++at) {
    word.text.replace(at, 2, "*");
    word.known = false;
  }
  return word;
}

// How many words an option takes: itself, and perhaps its value. `valued`: letters.
std::size_t option_size(std::string_view word, std::string_view valued, std::string_view longs) {
  if (word.starts_with("--")) return is_long_valued(longs, word) ? 2 : 1;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (valued.find(word[i]) != std::string_view::npos) return i + 1 == word.size() ? 2 : 1;
  }
  return 1;
}

// Of a command that is being judged.
class Judging {
 public:
  Judging(Words words, Reading& reading, Memory& memory, std::size_t nesting)
      : words_(std::move(words)), reading_(reading), memory_(memory), nesting_(nesting) {}

  bool judge();

 private:
  std::span<const Word> rest(std::size_t from) const {
    return std::span(words_).subspan(std::min(from, words_.size()));
  }
  void take_assignments();
  void take_environment();
  bool take_starter(const Starter& starter);
  void take_options(const Starter& starter);
  void remember(const Word& assignment);
  bool start_shell();
  bool reads_input(const Word& file);
  void change_folder(const std::string& program);
  void give_script();
  bool take_sub_starter(const std::string& program);
  void set_options();
  bool builtin(const std::string& program);
  void other(const std::string& program);
  void find();
  void remove();
  void git();
  void anything();
  void script(std::span<const Word> words);
  bool declare(const std::string& program);

  Words words_;
  Reading& reading_;
  Memory& memory_;
  std::size_t nesting_;
  Words environment_;  // NAME=VALUE before the command
  bool changes_folder_ = false;
  Folder started_in_;
};

void Judging::take_assignments() {
  const auto begin = words_.begin();
  const auto end = std::ranges::find(words_, std::size_t{0}, &Word::name_size);
  std::move(begin, end, std::back_inserter(environment_));
  words_.erase(begin, end);
}

// env and sudo take any NAME=VALUE, also in quotes.
void Judging::take_environment() {
  for (Word& word : words_) {
    const std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || equals == 0) break;
    word.name_size = equals;
  }
  take_assignments();
}

void Judging::remember(const Word& assignment) {
  const std::string name = assignment.text.substr(0, assignment.name_size);
  Word value = assignment;
  const bool appends = assignment.text[assignment.name_size] == '+';
  value.text.erase(0, assignment.name_size + (appends ? 2U : 1U));
  value.name_size = 0;
  if (!value.known && value.text.empty()) value = any_word();
  if (appends) return memory_.spoil(name);
  memory_.set(name, std::move(value));
}

void Judging::take_options(const Starter& starter) {
  std::size_t at = 1;
  while (at < words_.size()) {
    const std::string& text = words_[at].text;
    if (text == "--") {
      ++at;
      break;
    }
    if (!text.starts_with('-') || text.size() < 2) break;
    const std::size_t size = option_size(text, starter.valued, starter.longs);
    const bool folder = (starter.name == "env" && (text == "-C" || text == "--chdir")) ||
                        (starter.name == "sudo" && (text == "-D" || text == "--chdir"));
    if (folder && at + 1 < words_.size()) {
      memory_.folder = folder_at(memory_.folder, words_[at + 1], memory_);
    }
    at += size;
  }
  at = std::min(at + starter.skipped, words_.size());
  words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(at));
}

// False: it starts nothing.
bool Judging::take_starter(const Starter& starter) {
  const std::string option = words_.size() > 1 ? words_[1].text : std::string();
  if (starter.name == "command" && (option == "-v" || option == "-V")) return false;
  if (starter.name == "env" && (option == "-S" || option == "--split-string")) {
    script(rest(2));
    return false;
  }
  take_options(starter);
  // flock FILE -c SCRIPT; watch takes all its words for one
  const bool gives = starter.name == "flock" && words_.size() > 1 && words_[0].text == "-c";
  if (gives || starter.name == "watch") {
    script(gives ? rest(1).first(1) : rest(0));
    return false;
  }
  if (starter.name == "parallel") {
    words_.erase(std::ranges::find(words_, ":::", &Word::text), words_.end());
    if (!words_.empty()) words_.push_back(any_word());
  }
  if (starter.name == "env" || starter.name == "sudo") take_environment();
  if (starter.name != "xargs") return true;
  // What it reads comes last, or wherever -I says.
  for (Word& word : words_) {
    word = filled_in(word);
  }
  if (!words_.empty()) words_.push_back(any_word());
  return true;
}

void Judging::script(std::span<const Word> words) {
  std::string text;
  for (const Word& word : words) {
    if (!word.known) reading_.unclear("a script is known to the shell alone");
    text += (text.empty() ? "" : " ") + word.text;
  }
  read_script(text, reading_, memory_, nesting_ + 1);
}

// bash -lc SCRIPT. True: it reads its script from standard input.
bool Judging::start_shell() {
  const Stay stay(memory_);
  for (std::size_t at = 1; at < words_.size(); ++at) {
    const std::string& text = words_[at].text;
    const bool option = text.size() > 1 && (text.starts_with('-') || text.starts_with('+'));
    if (!option) return reads_input(words_[at]);
    if (text == "--rcfile" || text == "--init-file") ++at;
    if (text.starts_with("--")) continue;
    const bool valued = text.ends_with('o') || text.ends_with('O');
    if (text.starts_with('-') && text.find('c') != std::string::npos) {
      std::size_t script_at = at + (valued ? 2U : 1U);
      while (script_at < words_.size() && words_[script_at].text.starts_with('-')) ++script_at;
      if (script_at >= words_.size()) return false;
      script(rest(script_at).first(1));
      return false;
    }
    if (text == "-s") return true;
    if (valued) ++at;
  }
  return true;
}

// The file that a shell reads its script from. True: it is standard input.
bool Judging::reads_input(const Word& file) {
  if (file.output) read_script(file.text, reading_, memory_, nesting_ + 1);
  return file.text == "-" || file.text == "/dev/stdin" || file.text == "/dev/fd/0";
}

void Judging::change_folder(const std::string& program) {
  std::size_t at = 1;
  bool physical = false;
  for (; at < words_.size(); ++at) {
    const std::string& text = words_[at].text;
    if (text.size() < 2 || !text.starts_with('-') || is_ascii_digit(text[1])) break;
    physical = physical || text == "-P";
  }
  changes_folder_ = true;
  const Folder before = memory_.folder;
  const std::string target = at < words_.size() ? words_[at].text : std::string();
  const bool turns = !target.empty() && (target[0] == '+' || target[0] == '-') && target.size() > 1;
  std::vector<Folder>& stack = memory_.stack;
  const bool back = program == "popd" && target.empty() && !stack.empty();
  if (program == "cd" && target == "-") {
    memory_.folder = memory_.previous;
  } else if (back) {
    memory_.folder = stack.back();
  } else if (program == "popd" || target.empty() || (program == "pushd" && turns)) {
    memory_.folder = {{}, false};
  } else {
    const auto go = [&](Folder& folder) {
      folder = folder_at(folder, words_[at], memory_);
      if (!physical) folder = logical(std::move(folder));
    };
    go(memory_.folder);
    std::ranges::for_each(memory_.elsewhere, go);
  }
  if (back) stack.pop_back();
  if (program == "pushd" && stack.size() < kNestingMax) stack.push_back(before);
  memory_.previous = before;
  for (const Folder& each : std::exchange(memory_.elsewhere, {})) memory_.add_elsewhere(each);
}

// su bob -c SCRIPT, script -qc SCRIPT FILE
void Judging::give_script() {
  for (std::size_t at = 1; at + 1 < words_.size(); ++at) {
    const std::string& text = words_[at].text;
    const bool short_one = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
    if (!short_one && text != "--command" && text != "--call") continue;
    const Stay stay(memory_);
    return script(rest(at + 1).first(1));
  }
}

// uv run COMMAND. False: it is not one of these.
bool Judging::take_sub_starter(const std::string& program) {
  if (words_.size() < 3) return false;
  const std::pair<std::string_view, std::string_view> both{program, words_[1].text};
  if (std::ranges::find(kSubStarters, both) == kSubStarters.end()) return false;
  const auto dashes = std::ranges::find(words_, "--", &Word::text);
  auto end = words_.begin() + 2;
  if (dashes != words_.end()) {
    end = dashes + 1;
  } else {
    while (end != words_.end() && end->text.starts_with('-')) ++end;
  }
  words_.erase(words_.begin(), end);
  return true;
}

void Judging::set_options() {
  for (std::size_t at = 1; at < words_.size(); ++at) {
    const std::string& text = words_[at].text;
    if (text == "--") {
      const std::span<const Word> values = rest(at + 1);
      return memory_.set_words("@", Words(values.begin(), values.end()), false);
    }
    const bool letters = text.starts_with('-') && !text.starts_with("--");
    if (letters && text.find('e') != std::string::npos) memory_.ends_at_failure = true;
    if (text == "errexit") memory_.ends_at_failure = true;
  }
}

// find … -exec COMMAND {} + or {} \;
void Judging::find() {
  constexpr auto kActions = std::to_array<std::string_view>({"-exec", "-execdir", "-ok", "-okdir"});
  for (std::size_t at = 1; at < words_.size(); ++at) {
    if (std::ranges::find(kActions, words_[at].text) == kActions.end()) continue;
    Words inner;
    for (++at; at < words_.size() && words_[at].text != ";" && words_[at].text != "+"; ++at) {
      inner.push_back(filled_in(words_[at]));
    }
    if (!inner.empty()) judge_command(std::move(inner), reading_, memory_, nesting_ + 1);
  }
}

void Judging::remove() {
  Danger danger{.kind = Kind::kRemove, .folder = memory_.folder, .scope = Danger::Scope::kPaths};
  danger.untracked = danger.ignored = true;
  bool recursive = false;
  bool options = true;
  for (const Word& word : rest(1)) {
    const std::string& text = word.text;
    if (options && text == "--") {
      options = false;
    } else if (options && text.size() > 1 && text.starts_with('-')) {
      const bool is_long = text.starts_with("--");
      recursive = recursive ||
                  (is_long ? text.size() > 4 && std::string_view("--recursive").starts_with(text)
                           : text.find_first_of("rR") != std::string::npos);
    } else if (!word.choices.empty()) {
      for (const std::string& choice : word.choices) danger.paths.push_back({choice});
    } else if (word.is_anything()) {
      danger.paths_unknown = true;
    } else if (word.is_all()) {
      danger.scope = Danger::Scope::kFolder;
    } else {
      danger.paths.push_back(path_of(word, word.pattern));
    }
  }
  const bool nothing =
      danger.paths.empty() && !danger.paths_unknown && danger.scope == Danger::Scope::kPaths;
  if (!recursive || nothing) return;
  danger.typed = typed_text(words_);
  add_danger(reading_, std::move(danger));
}

void Judging::git() {
  Words words;
  for (const Word& word : environment_) {
    if (!word.text.starts_with("GIT_WORK_TREE=")) continue;
    words.push_back({.text = "--work-tree"});
    words.push_back(word);
    words.back().text.erase(0, word.name_size + 1);
  }
  std::ranges::copy(rest(1), std::back_inserter(words));
  judge_git(words, reading_, memory_, typed_text(words_), nesting_);
}

// Somebody's `$GIT reset --hard`: nobody knows what it is.
void Judging::anything() {
  Reading aside;
  Memory there;
  judge_git(rest(1), aside, there, "", nesting_);
  if (!aside.found.dangers.empty()) reading_.unclear("a program is known to the shell alone");
}

bool Judging::declare(const std::string& program) {
  if (std::ranges::find(kDeclare, program) == kDeclare.end()) return false;
  for (const Word& word : rest(1)) {
    if (word.name_size > 0) remember(word);
  }
  return true;
}

// Programs that change what the shell remembers.
bool Judging::builtin(const std::string& program) {
  if (program == "cd" || program == "pushd" || program == "popd") {
    change_folder(program);
  } else if (program == "read" || program == "unset" || program == "mapfile") {
    for (const Word& word : rest(1)) memory_.spoil(word.text);
  } else if (program == "set") {
    set_options();
  } else if (program == "mkdir") {
    for (const Word& word : rest(1)) {
      if (!word.text.starts_with('-')) {
        remember_made(word, false, memory_.folder, reading_, memory_);
      }
    }
  } else if (program == "trap") {
    const Stay stay(memory_);
    if (words_.size() > 2 && words_[1].text != "-") script(rest(1).first(1));
  } else {
    return declare(program);
  }
  return true;
}

void Judging::other(const std::string& program) {
  if (program == "git") {
    git();
  } else if (program == "rm") {
    remove();
  } else if (program == "find") {
    find();
  } else if (std::ranges::find(kGivers, program) != kGivers.end()) {
    give_script();
  }
}

bool Judging::judge() {
  started_in_ = memory_.folder;
  for (std::size_t starters = 0;; ++starters) {
    take_assignments();
    if (words_.empty()) {
      if (starters == 0) std::ranges::for_each(environment_, [&](const Word& w) { remember(w); });
      break;
    }
    const std::string program = program_of(words_.front());
    if (!words_.front().known) {
      anything();
      break;
    }
    const auto starter = std::ranges::find(kStarters, program, &Starter::name);
    if (starter != kStarters.end()) {
      if (starters > kNestingMax) reading_.unclear("programs that start others are nested");
      if (starters > kNestingMax || !take_starter(*starter)) break;
      continue;
    }
    if (take_sub_starter(program)) continue;
    if (std::ranges::find(kShells, program) != kShells.end()) {
      const bool reads = start_shell();
      memory_.folder = started_in_;
      return reads;
    }
    if (program == "." || program == "source") {
      if (words_.size() > 1) return reads_input(words_[1]);
      break;
    }
    if (program == "eval") {
      script(rest(1));
      return false;  // it may have changed the folder
    }
    if (!builtin(program)) other(program);
    break;
  }
  if (!changes_folder_) {
    // `git init` has changed what there is, not where it is.
    started_in_.fresh =
        started_in_.fresh || (memory_.folder.fresh && memory_.folder.path == started_in_.path);
    memory_.folder = started_in_;
  }
  return false;
}

}  // namespace

bool judge_command(Words words, Reading& reading, Memory& memory, std::size_t nesting) {
  if (nesting > kNestingMax) {
    reading.unclear("commands are nested too deeply");
    return false;
  }
  return Judging(std::move(words), reading, memory, nesting).judge();
}

Path path_of(const Word& word, bool wild) {
  Path path{word.text, wild || !word.known};
  // `**` and what a variable holds may have slashes.
  path.by_shell = word.known && word.pattern && word.text.find("**") == std::string::npos;
  // [abc] may also be the name of a folder.
  for (std::size_t at = 0; path.pattern && (at = path.text.find('[', at)) != std::string::npos;) {
    const std::size_t end = path.text.find(']', at);
    path.text.replace(at, end == std::string::npos ? end : end + 1 - at, "*");
  }
  return path;
}

std::string typed_text(std::span<const Word> words) {
  std::string text;
  for (const Word& word : words) {
    if (text.size() > kTypedBytesMax) break;
    text += (text.empty() ? "" : " ") + word.typed;
  }
  return text.size() <= kTypedBytesMax ? text : cut_utf8(text, kTypedBytesMax - 3) + "…";
}

void add_danger(Reading& reading, Danger danger) {
  // rm may name any path from there.
  if (danger.folder.fresh && !(danger.kind == Kind::kRemove && danger.ignored)) {
    ++reading.fresh;
    return;
  }
  if (reading.found.dangers.size() < kDangersMax) {
    reading.found.dangers.push_back(std::move(danger));
  } else {
    reading.unclear("it consists of too many commands");
  }
}

Found look_at_script(std::string_view text, const Surroundings& around) {
  Reading reading;
  reading.around = &around;
  Memory memory;
  read_script(text.substr(0, kTextBytesMax), reading, memory, 0);
  const std::string_view beyond = text.substr(std::min(text.size(), kTextBytesMax));
  const bool suspect =
      beyond.find("git") != std::string_view::npos || beyond.find("rm") != std::string_view::npos;
  // A text that was cut ends in the middle of something.
  if (!beyond.empty()) reading.found.unclear.clear();
  if (suspect) reading.unclear("the command is too long to be read");
  return std::move(reading.found);
}

Found look_at_git(std::span<const std::string> words) {
  Reading reading;
  Words read;
  Words shown{{.text = "git", .typed = "git"}};
  for (const std::string& word : words) {
    read.push_back({.text = word, .typed = shell_quote(word), .quoted = true});
  }
  shown.insert(shown.end(), read.begin(), read.end());
  Memory memory;
  judge_git(read, reading, memory, typed_text(shown), 0);
  return std::move(reading.found);
}

// Name by name; what follows the last of the pattern's is below it.
static bool matches_names(std::string_view pattern, std::string_view path) {
  for (;;) {
    const std::size_t end = pattern.find('/');
    const std::size_t slash = path.find('/');
    if (!matches_text(pattern.substr(0, end), path.substr(0, slash))) return false;
    if (end == std::string_view::npos) return true;
    if (slash == std::string_view::npos) return false;
    pattern.remove_prefix(end + 1);
    path.remove_prefix(slash + 1);
  }
}

bool is_below(std::string_view path, const Path& scope) {
  if (!scope.pattern) {
    return path.starts_with(scope.text) &&
           (path.size() == scope.text.size() || path[scope.text.size()] == '/');
  }
  if (scope.by_shell) return matches_names(scope.text, path);
  if (matches_text(scope.text, path)) return true;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (matches_text(scope.text, path.substr(0, slash))) return true;
  }
  return false;
}

}  // namespace lockkeeper::enforce::shell
