#include "cli/completion.h"

#include <algorithm>

#include "base/text.h"
#include "cli/context.h"
#include "cli/verb.h"

namespace lockkeeper::cli {
namespace {

using Complete = Arguments::Complete;
using Declared = Arguments::Declared;

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

// --- bash
// -----------------------------------------------------------------------------------------

std::string bash_reply(const Declared& declared) {
  switch (declared.complete) {
    case Complete::kFiles:
      return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Complete::kFolders:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Complete::kAgents:
      return "COMPREPLY=($(compgen -W \"$(lockkeeper completion agents 2>/dev/null)\" "
             "-- \"$cur\"))";
    case Complete::kWords:
      return "COMPREPLY=($(compgen -W '" + joined(declared.words) + "' -- \"$cur\"))";
    case Complete::kNothing:
      return "COMPREPLY=()";
  }
  return "COMPREPLY=()";
}

std::string bash_verb(const VerbShape& verb) {
  std::string text = "    " + verb.name + ")\n";
  std::string values, flags, words;
  for (const Declared& declared : verb.arguments) {
    if (!is_flag(declared)) {
      if (declared.complete != Complete::kNothing) words = bash_reply(declared);
      continue;
    }
    flags += (flags.empty() ? "" : " ") + declared.name;
    if (declared.value_optional) flags += " " + declared.name + "=";
    if (declared.value.empty() || declared.value_optional) continue;
    values += "        " + declared.name + ") " + bash_reply(declared) + "; return ;;\n";
  }
  if (!values.empty()) text += "      case $prev in\n" + values + "      esac\n";
  text += "      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '" + flags +
          "' -- \"$cur\")); return; fi\n";
  if (!words.empty()) text += "      " + words + "\n";
  return text + "      ;;\n";
}

// --- zsh
// ------------------------------------------------------------------------------------------

// Inside single quotes, brackets and colons of a specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_action(const Declared& declared) {
  switch (declared.complete) {
    case Complete::kFiles:
      return "_files";
    case Complete::kFolders:
      return "_files -/";
    case Complete::kAgents:
      return "_lockkeeper_agents";
    case Complete::kWords:
      return "(" + joined(declared.words) + ")";
    case Complete::kNothing:
      return " ";
  }
  return " ";
}

std::string zsh_flag(const Declared& declared) {
  const std::string help = "[" + zsh_text(declared.help) + "]";
  const std::string value = ":" + zsh_text(declared.value) + ":" + zsh_action(declared);
  std::string text = "'" + declared.name;
  if (declared.value.empty()) {
    text += help + "'";
    if (!declared.brief.empty()) text += " '" + declared.brief + help + "'";
    return text;
  }
  return text + (declared.value_optional ? "=-" + help + ":" : "=" + help) + value + "'";
}

std::string zsh_verb(const VerbShape& verb) {
  std::string text = "      " + verb.name + ")\n";
  if (verb.takes_command) text += "        _lockkeeper_command && return\n";
  text += "        _arguments -s";
  for (const Declared& declared : verb.arguments) {
    if (declared.name.starts_with("-- ")) continue;  // by _lockkeeper_command
    text += " \\\n          ";
    text += is_flag(declared) ? zsh_flag(declared)
                              : "'*:" + zsh_text(declared.name) + ":" + zsh_action(declared) + "'";
  }
  return text + "\n        ;;\n";
}

// The flags of every verb, which may stand before it.
std::vector<Declared> common_flags(const std::vector<VerbShape>& verbs) {
  std::vector<Declared> flags;
  for (const VerbShape& verb : verbs) {
    for (const Declared& declared : verb.arguments) {
      const auto same = [&](const Declared& known) { return known.name == declared.name; };
      if (declared.common && std::ranges::none_of(flags, same)) flags.push_back(declared);
    }
  }
  return flags;
}

// --- fish
// -----------------------------------------------------------------------------------------

std::string fish_quote(const std::string& text) {
  std::string out = "'";
  for (const char c : one_line(text)) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_action(const Declared& declared) {
  switch (declared.complete) {
    case Complete::kFiles:
      return " -F";
    case Complete::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Complete::kAgents:
      return " -x -a '(lockkeeper completion agents 2>/dev/null)'";
    case Complete::kWords:
      return " -x -a " + fish_quote(joined(declared.words));
    case Complete::kNothing:
      return " -x";
  }
  return " -x";
}

std::string fish_flag(const Declared& declared) {
  std::string text = " -l " + declared.name.substr(2);
  if (!declared.brief.empty()) text += " -s " + declared.brief.substr(1);
  if (!declared.value.empty() && !declared.value_optional) text += fish_action(declared);
  return text + " -d " + fish_quote(declared.help) + "\n";
}

std::string fish_verb(const VerbShape& verb, const std::string& program) {
  const std::string begin = "complete -c " + program + " -n ";
  const std::string here = begin + "'__lockkeeper_verb_is " + verb.name + "'";
  std::string text = begin + "'not __lockkeeper_verb' -f -a " + verb.name + " -d " +
                     fish_quote(verb.summary) + "\n";
  bool words = false;
  for (const Declared& declared : verb.arguments) {
    if (is_flag(declared)) {
      text += here + fish_flag(declared);
    } else if (declared.complete != Complete::kNothing) {
      text += here + fish_action(declared) + "\n";
      words = true;
    }
  }
  if (!words) text += here + " -f\n";
  if (verb.takes_command) {
    text += begin + "'__lockkeeper_command_of " + verb.name +
            "' -x -a '(complete -C (__lockkeeper_command))'\n";
  }
  return text;
}

// Which verb the line has, and what follows `--`.
constexpr std::string_view kFishFunctions =
    "function __lockkeeper_words\n"
    "  set -l words (commandline -opc)\n"
    "  set -l at 2\n"
    "  while test $at -le (count $words)\n"
    "    switch $words[$at]\n"
    "      case --agent --session --realm --store\n"
    "        set at (math $at + 1)\n"
    "      case '-*'\n"
    "      case '*'\n"
    "        string join \\n -- $words[$at..-1]\n"
    "        return 0\n"
    "    end\n"
    "    set at (math $at + 1)\n"
    "  end\n"
    "  return 1\n"
    "end\n"
    "function __lockkeeper_verb\n"
    "  __lockkeeper_words >/dev/null\n"
    "end\n"
    "function __lockkeeper_verb_is\n"
    "  set -l words (__lockkeeper_words)\n"
    "  and test \"$words[1]\" = $argv[1]\n"
    "  and not contains -- -- $words\n"
    "end\n"
    "function __lockkeeper_command_of\n"
    "  set -l words (__lockkeeper_words)\n"
    "  and test \"$words[1]\" = $argv[1]\n"
    "  and contains -- -- $words\n"
    "end\n"
    "function __lockkeeper_command\n"
    "  set -l words (__lockkeeper_words)\n"
    "  set -l at (contains -i -- -- $words)\n"
    "  set -l words (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)\n"
    "  string join ' ' -- $words\n"
    "end\n";

}  // namespace

std::string bash_completion(const std::vector<VerbShape>& verbs) {
  std::string names, cases;
  for (const VerbShape& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    cases += bash_verb(verb);
  }
  return "# bash completion for lockkeeper; made by: lockkeeper completion bash\n"
         "_lockkeeper() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --agent | --session | --realm | --store) ((i++)) ;;\n"
         "      -*) ;;\n"
         "      *) verb=${COMP_WORDS[i]}; break ;;\n"
         "    esac\n"
         "  done\n"
         "  case $verb in\n"
         "    '') COMPREPLY=($(compgen -W '" +
         names + " --help --version' -- \"$cur\")) ;;\n" + cases +
         "  esac\n"
         "}\n"
         "complete -F _lockkeeper lockkeeper lk\n";
}

std::string zsh_completion(const std::vector<VerbShape>& verbs) {
  std::string names, cases, flags;
  for (const Declared& flag : common_flags(verbs)) flags += " " + zsh_flag(flag) + " \\\n   ";
  for (const VerbShape& verb : verbs) {
    names += "    '" + verb.name + ":" + zsh_text(verb.summary) + "'\n";
    cases += zsh_verb(verb);
  }
  return "#compdef lockkeeper lk\n"
         "# zsh completion for lockkeeper; made by: lockkeeper completion zsh\n"
         "_lockkeeper_agents() {\n"
         "  local -a agents\n"
         "  agents=(${(f)\"$(lockkeeper completion agents 2>/dev/null)\"})\n"
         "  compadd -a agents\n"
         "}\n"
         "# What follows `--` is completed as a command line of its own.\n"
         "_lockkeeper_command() {\n"
         "  local dashes=${words[(i)--]}\n"
         "  (( dashes < CURRENT )) || return 1\n"
         "  shift $dashes words\n"
         "  (( CURRENT -= dashes ))\n"
         "  _normal\n"
         "  return 0\n"
         "}\n"
         "_lockkeeper() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a verbs\n"
         "  verbs=(\n" +
         names +
         "  )\n"
         "  _arguments -C" +
         flags +
         " '--version[print the version]' \\\n"
         "    '1: :->verb' '*:: :->rest'\n"
         "  case $state in\n"
         "    verb) _describe verb verbs ;;\n"
         "    rest)\n"
         "      case $line[1] in\n" +
         cases +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _lockkeeper ]]; then _lockkeeper \"$@\"; else compdef _lockkeeper "
         "lockkeeper lk; fi\n";
}

std::string fish_completion(const std::vector<VerbShape>& verbs) {
  std::string text = "# fish completion for lockkeeper; made by: lockkeeper completion fish\n";
  text += kFishFunctions;
  for (const char* const program : {"lockkeeper", "lk"}) {
    const std::string begin = std::string("complete -c ") + program + " -n 'not __lockkeeper_verb'";
    for (const Declared& flag : common_flags(verbs)) text += begin + fish_flag(flag);
    text += begin + " -l version -d 'print the version'\n";
    for (const VerbShape& verb : verbs) text += fish_verb(verb, program);
  }
  return text;
}

bool is_flag(const Arguments::Declared& declared) {
  return declared.name.starts_with("--") && !declared.name.starts_with("-- ");
}

std::vector<VerbShape> verb_shapes(const CliEnvironment& environment) {
  std::vector<VerbShape> all;
  for (const Verb& verb : environment.verbs) {
    VerbContext context(environment, verb, VerbContext::Describe{});
    verb.run(context);  // stops at parse()
    all.push_back({std::string(verb.name), std::string(verb.summary), std::string(verb.examples),
                   context.arguments().declared(), context.arguments().takes_command()});
  }
  return all;
}

}  // namespace lockkeeper::cli
