#include "cli/completion.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::cli {
namespace {

using Complete = Arguments::Complete;
using Declared = Arguments::Declared;

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// What a command is called in the scripts: "" (the program), "task", "task acquire".
std::string below(const std::string& line, const VerbShape& subcommand) {
  return line + (line.empty() ? "" : " ") + subcommand.name;
}

// What follows `lockkeeper completion`, to ask for what the table knows now; empty: nothing does.
std::string question(Complete complete) {
  switch (complete) {
    case Complete::kAgents:
      return "agents";
    case Complete::kHeld:
      return "held";
    case Complete::kTaken:
      return "taken";
    case Complete::kOwnLeases:
      return "own-leases";
    case Complete::kLeases:
      return "leases";
    case Complete::kLayouts:
      return "layouts";
    default:
      return {};
  }
}

// The command under its name and its other names, with `between` them.
std::string all_names(const VerbShape& shape, const std::string& before,
                      const std::string& between) {
  std::string text = before + shape.name;
  for (const std::string& alias : shape.aliases) text.append(between).append(before).append(alias);
  return text;
}

std::string names_of(const std::vector<VerbShape>& verbs) {
  std::vector<std::string> names;
  for (const VerbShape& verb : verbs) names.push_back(verb.name);
  return join(names, " ");
}

// --- bash ----------------------------------------------------------------------------------------

std::string bash_reply(const Declared& declared) {
  switch (declared.complete) {
    case Complete::kFiles:
      return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Complete::kFolders:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Complete::kWords:
      return "COMPREPLY=($(compgen -W '" + join(declared.words, " ") + "' -- \"$cur\"))";
    case Complete::kNothing:
      return "COMPREPLY=()";
    default:
      return "_lockkeeper_ask " + question(declared.complete);
  }
}

// How a line continues after a verb, and after its subcommands.
std::string bash_steps(const VerbShape& shape, const std::string& line) {
  std::string text;
  for (const VerbShape& each : shape.subcommands) {
    text += "          " + all_names(each, "'" + line + "/", "'|") + "') line='" +
            below(line, each) + "' values='" + join(each.value_flags(), " ") + "' ;;\n";
    text += bash_steps(each, below(line, each));
  }
  return text;
}

std::string bash_words(const VerbShape& shape) {
  if (!shape.subcommands.empty()) {
    return "        0) COMPREPLY=($(compgen -W '" + names_of(shape.subcommands) +
           "' -- \"$cur\")) ;;\n";
  }
  std::string text;
  int place = 0;
  for (const Declared& declared : shape.arguments) {
    if (!declared.is_word()) continue;
    text += "        " + (declared.many ? "*" : std::to_string(place++)) + ") " +
            bash_reply(declared) + " ;;\n";
  }
  return text;
}

std::string bash_cases(const VerbShape& shape, const std::string& line) {
  std::string values, flags;
  for (const Declared& declared : shape.arguments) {
    if (!declared.is_flag()) continue;
    flags += (flags.empty() ? "" : " ") + declared.name;
    if (declared.value_optional) flags += " " + declared.name + "=";
    if (!declared.takes_next()) continue;
    values += "        " + declared.name + (declared.brief.empty() ? "" : "|" + declared.brief) +
              ") " + bash_reply(declared) + "; return ;;\n";
  }
  std::string text = "    '" + line + "')\n";
  if (!values.empty()) text += "      case $prev in\n" + values + "      esac\n";
  text += "      if [[ $whole == -* ]]; then COMPREPLY=($(compgen -W '" + flags +
          "' -- \"$cur\")); return; fi\n";
  if (const std::string words = bash_words(shape); !words.empty()) {
    text += "      case $place in\n" + words + "      esac\n";
  }
  text += "      ;;\n";
  for (const VerbShape& each : shape.subcommands) text += bash_cases(each, below(line, each));
  return text;
}

// --- zsh -----------------------------------------------------------------------------------------

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
    case Complete::kWords:
      return "(" + join(declared.words, " ") + ")";
    case Complete::kNothing:
      return " ";
    default:
      return "_lockkeeper_ask " + question(declared.complete);
  }
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
  text += (declared.value_optional ? "=-" + help + ":" : "=" + help) + value + "'";
  if (!declared.brief.empty()) text += " '" + declared.brief + "+" + help + value + "'";
  return text;
}

std::string zsh_leaf(const VerbShape& verb) {
  std::string text = "      " + all_names(verb, "", "|") + ")\n";
  if (verb.takes_command()) text += "        _lockkeeper_command && return\n";
  text += "        _arguments -s";
  int place = 0;
  for (const Declared& declared : verb.arguments) {
    if (declared.is_command()) continue;  // by _lockkeeper_command
    text += " \\\n          ";
    if (declared.is_flag()) {
      text += zsh_flag(declared);
    } else {
      text += "'" + (declared.many ? "*" : std::to_string(++place)) + ":" +
              zsh_text(declared.name) + ":" + zsh_action(declared) + "'";
    }
  }
  return text + "\n        ;;\n";
}

// A function for the program, and one for each verb with subcommands.
std::string zsh_function(const VerbShape& shape, const std::string& name) {
  std::string names, cases, flags, functions;
  for (const Declared& flag : shape.arguments) flags += " \\\n    " + zsh_flag(flag);
  for (const VerbShape& each : shape.subcommands) {
    names += "    '" + each.name + ":" + zsh_text(each.summary) + "'\n";
    if (each.subcommands.empty()) {
      cases += zsh_leaf(each);
      continue;
    }
    const std::string function = name + "_" + each.name;
    cases += "      " + each.name + ") " + function + " ;;\n";
    functions += zsh_function(each, function);
  }
  return functions + name +
         "() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a names\n"
         "  names=(\n" +
         names +
         "  )\n"
         "  # -A: what follows the name is that command's own.\n"
         "  _arguments -C -A '-*'" +
         flags +
         " \\\n    '1: :->name' '*:: :->rest'\n"
         "  case $state in\n"
         "    name) _describe command names ;;\n"
         "    rest)\n"
         "      case $line[1] in\n" +
         cases +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n";
}

constexpr std::string_view kZshFunctions =
    "# What the table knows now: agents, held resources, leases, layouts. As whom and where, the\n"
    "# line says.\n"
    "_lockkeeper_ask() {\n"
    "  local -a offers caller typed\n"
    "  local i\n"
    "  typed=(\"${(@Q)${(z)LBUFFER}}\")\n"
    "  for ((i = 2; i <= $#typed; i++)); do\n"
    "    case $typed[i] in\n"
    "      --) break ;;\n"
    "      --(agent|session|realm|store)=*) caller+=(\"$typed[i]\") ;;\n"
    "      --(agent|session|realm|store))\n"
    "        if (( i < $#typed )); then caller+=(\"$typed[i]=$typed[i+1]\"); fi\n"
    "        (( ++i )) ;;\n"
    "    esac\n"
    "  done\n"
    "  offers=(${(f)\"$(lockkeeper completion ${@[-1]} $caller 2>/dev/null)\"})\n"
    "  compadd -a offers\n"
    "}\n"
    "# What follows `--` is completed as a command line of its own.\n"
    "_lockkeeper_command() {\n"
    "  local dashes=${words[(i)--]}\n"
    "  (( dashes < CURRENT )) || return 1\n"
    "  shift $dashes words\n"
    "  (( CURRENT -= dashes ))\n"
    "  _normal\n"
    "  return 0\n"
    "}\n";

// --- fish ----------------------------------------------------------------------------------------

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
    case Complete::kWords:
      return " -x -a " + fish_quote(join(declared.words, " "));
    case Complete::kNothing:
      return " -x";
    default:
      return " -x -a '(lockkeeper completion " + question(declared.complete) +
             " (__lockkeeper_caller) 2>/dev/null)'";
  }
}

std::string fish_flag(const Declared& declared) {
  std::string text = " -l " + declared.name.substr(2);
  if (!declared.brief.empty()) text += " -s " + declared.brief.substr(1);
  if (!declared.value.empty() && !declared.value_optional) text += fish_action(declared);
  return text + " -d " + fish_quote(declared.help) + "\n";
}

std::string fish_steps(const VerbShape& shape, const std::string& line) {
  std::string text;
  for (const VerbShape& each : shape.subcommands) {
    text += "          case " + all_names(each, "'" + line + "/", "' ") +
            "'\n            set line '" + below(line, each) + "'\n            set values " +
            join(each.value_flags(), " ") + "\n";
    text += fish_steps(each, below(line, each));
  }
  return text;
}

std::string fish_rules(const VerbShape& shape, const std::string& line) {
  const std::string begin = "complete -c lockkeeper -n ";
  const std::string at = begin + "'__lockkeeper_at \"" + line + "\"";
  const std::string anywhere = at + " -ge 0'";
  std::string text = anywhere + " -f\n";
  int place = 0;
  for (const Declared& declared : shape.arguments) {
    if (declared.is_flag()) text += anywhere + fish_flag(declared);
    if (!declared.is_word()) continue;
    text += at + (declared.many ? " -ge " : " -eq ") + std::to_string(place++) + "'" +
            fish_action(declared) + "\n";
  }
  if (shape.takes_command()) {
    text += begin + "'__lockkeeper_command_of \"" + line +
            "\"' -x -a '(complete -C (__lockkeeper_command))'\n";
  }
  for (const VerbShape& each : shape.subcommands) {
    text += at + " -eq 0' -a " + each.name + " -d " + fish_quote(each.summary) + "\n";
    text += fish_rules(each, below(line, each));
  }
  return text;
}

// The parts of the line: verb and subcommand, the number of words after them, what follows `--`.
std::string fish_functions(const VerbShape& program) {
  return "function __lockkeeper_line\n"
         "  set -l words (commandline -opc)\n"
         "  set -l line ''\n"
         "  set -l place 0\n"
         "  set -l values " +
         join(program.value_flags(), " ") +
         "\n"
         "  set -l at 2\n"
         "  while test $at -le (count $words)\n"
         "    set -l word $words[$at]\n"
         "    switch $word\n"
         "      case --\n"
         "        break\n"
         "      case '-*'\n"
         "        contains -- $word $values; and set at (math $at + 1)\n"
         "      case '*'\n"
         "        switch \"$line/$word\"\n" +
         fish_steps(program, "") +
         "          case '*'\n"
         "            set place (math $place + 1)\n"
         "        end\n"
         "    end\n"
         "    set at (math $at + 1)\n"
         "  end\n"
         "  string join \\n -- \"$line\" $place $words[$at..-1]\n"
         "end\n"
         "function __lockkeeper_caller\n"
         "  set -l words (commandline -opc)\n"
         "  for at in (seq 2 (count $words))\n"
         "    switch $words[$at]\n"
         "      case --\n"
         "        break\n"
         "      case '--agent=*' '--session=*' '--realm=*' '--store=*'\n"
         "        printf '%s\\n' $words[$at]\n"
         "      case --agent --session --realm --store\n"
         "        set -l next (math $at + 1)\n"
         "        test $next -le (count $words); and printf '%s\\n' $words[$at]=$words[$next]\n"
         "    end\n"
         "  end\n"
         "end\n"
         "function __lockkeeper_at\n"
         "  set -l line (__lockkeeper_line)\n"
         "  test \"$line[1]\" = $argv[1]; and test (count $line) -eq 2\n"
         "  and test $line[2] $argv[2] $argv[3]\n"
         "end\n"
         "function __lockkeeper_command_of\n"
         "  set -l line (__lockkeeper_line)\n"
         "  test \"$line[1]\" = $argv[1]; and test (count $line) -gt 2\n"
         "end\n"
         "function __lockkeeper_command\n"
         "  set -l line (__lockkeeper_line)\n"
         "  set -l words (string escape -- $line[4..-1]) (commandline -ct)\n"
         "  string join ' ' -- $words\n"
         "end\n";
}

}  // namespace

namespace {

// `help` is no verb, but takes the name of one.
VerbShape with_help(const VerbShape& verbs) {
  Declared verb{.name = "VERB", .help = "its help", .complete = Complete::kWords};
  for (const VerbShape& each : verbs.subcommands) verb.words.push_back(each.name);
  VerbShape all = verbs;
  all.subcommands.push_back({"help", "Show the help of a verb", {}, {std::move(verb)}, {}, {}});
  return all;
}

// The lines, as in "run|workflow run", after which a command may follow `--`.
std::string command_lines(const VerbShape& shape, const std::string& line) {
  std::string text = shape.takes_command() && shape.subcommands.empty() ? "'" + line + "'" : "";
  for (const VerbShape& each : shape.subcommands) {
    const std::string more = command_lines(each, below(line, each));
    if (!text.empty() && !more.empty()) text += "|";
    text += more;
  }
  return text;
}

// bash splits words at ':' and '=', and replaces only what follows the last of them.
constexpr std::string_view kBashFunctions =
    "# What the table knows now: agents, held resources, leases, layouts. As whom and where, the\n"
    "# line says.\n"
    "_lockkeeper_ask() {\n"
    "  local offer i caller=()\n"
    "  for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
    "    case ${words[i]} in\n"
    "      --) break ;;\n"
    "      --agent=*|--session=*|--realm=*|--store=*) caller+=(\"${words[i]}\") ;;\n"
    "      --agent|--session|--realm|--store)\n"
    "        if ((i + 2 < ${#words[@]})); then caller+=(\"${words[i]}=${words[i+1]}\"); fi\n"
    "        ((++i)) ;;\n"
    "    esac\n"
    "  done\n"
    "  while IFS= read -r offer; do\n"
    "    if [[ $offer == \"$cur\"* ]]; then COMPREPLY+=(\"$(printf %q \"$offer\")\"); fi\n"
    "  done < <(lockkeeper completion \"$1\" \"${caller[@]}\" 2>/dev/null)\n"
    "}\n"
    "# The words as typed, into `words`: put together again where no blank is between them.\n"
    "_lockkeeper_words() {\n"
    "  local rest=$COMP_LINE i\n"
    "  for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "    if ((i > 0)) && [[ -n $COMP_LINE && -n ${COMP_WORDS[i]} && $rest != [[:blank:]]* ]]; "
    "then\n"
    "      words[${#words[@]}-1]+=${COMP_WORDS[i]}\n"
    "    else\n"
    "      words+=(\"${COMP_WORDS[i]}\")\n"
    "    fi\n"
    "    rest=${rest#*\"${COMP_WORDS[i]}\"}\n"
    "  done\n"
    "}\n"
    "# What follows `--` is completed as a command line of its own; $1: the place of its first "
    "word.\n"
    "_lockkeeper_command() {\n"
    "  if declare -F _command_offset >/dev/null; then\n"
    "    _command_offset \"$1\"\n"
    "  elif ((COMP_CWORD == $1)); then\n"
    "    COMPREPLY=($(compgen -c -- \"$cur\"))\n"
    "  else\n"
    "    compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "  fi\n"
    "}\n"
    "_lockkeeper() {\n"
    "  local words=() cur prev whole\n"
    "  _lockkeeper_words\n"
    "  cur=${words[${#words[@]}-1]} prev=${words[${#words[@]}-2]} whole=$cur\n"
    "  if [[ $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=}; fi\n"
    "  COMPREPLY=()\n"
    "  _lockkeeper_offer\n"
    "  # bash keeps what is before the last ':' or '=' of the word.\n"
    "  local kept=${cur%\"${cur##*[:=]}\"}\n"
    "  if [[ -n $kept && -n $COMP_LINE ]]; then COMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\"); fi\n"
    "}\n";

}  // namespace

std::string bash_completion(const VerbShape& verbs) {
  const VerbShape program = with_help(verbs);
  return "# bash completion for lockkeeper; made by: lockkeeper completion bash\n" +
         std::string(kBashFunctions) +
         "_lockkeeper_offer() {\n"
         "  local line= place=0 values='" +
         join(program.value_flags(), " ") +
         "' word i j\n"
         "  for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
         "    word=${words[i]}\n"
         "    case $word in\n"
         "      --)\n"
         "        case $line in\n"
         "          " +
         command_lines(program, "") +
         ")\n"
         "            for ((j = 1; j < COMP_CWORD; j++)); do\n"
         "              if [[ ${COMP_WORDS[j]} == -- ]]; then break; fi\n"
         "            done\n"
         "            _lockkeeper_command $((j + 1)); return ;;\n"
         "        esac\n"
         "        ;;\n"
         "      -*) if [[ \" $values \" == *\" $word \"* ]]; then ((i++)); fi ;;\n"
         "      *)\n"
         "        case \"$line/$word\" in\n" +
         bash_steps(program, "") +
         "          *) ((place++)) ;;\n"
         "        esac\n"
         "        ;;\n"
         "    esac\n"
         "  done\n"
         "  case $line in\n" +
         bash_cases(program, "") +
         "  esac\n"
         "}\n"
         "complete -F _lockkeeper lockkeeper lk\n";
}

std::string zsh_completion(const VerbShape& verbs) {
  const VerbShape program = with_help(verbs);
  return "#compdef lockkeeper lk\n"
         "# zsh completion for lockkeeper; made by: lockkeeper completion zsh\n" +
         std::string(kZshFunctions) + zsh_function(program, "_lockkeeper") +
         "if [[ $funcstack[1] == _lockkeeper ]]; then _lockkeeper \"$@\"; else compdef _lockkeeper "
         "lockkeeper lk; fi\n";
}

std::string fish_completion(const VerbShape& verbs) {
  const VerbShape program = with_help(verbs);
  return "# fish completion for lockkeeper; made by: lockkeeper completion fish\n" +
         fish_functions(program) + fish_rules(program, "") + "complete -c lk -w lockkeeper\n";
}

}  // namespace lockkeeper::cli
