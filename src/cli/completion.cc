#include "cli/completion.h"

#include "base/text.h"

namespace lockkeeper::cli {
namespace {

using Complete = Arguments::Complete;
using Declared = Arguments::Declared;

bool is_flag(const Declared& declared) {
  return declared.name.starts_with("--") && !declared.name.starts_with("-- ");
}

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

std::string zsh_verb(const VerbShape& verb) {
  std::string text = "      " + verb.name + ")\n        _arguments -s";
  for (const Declared& declared : verb.arguments) {
    text += " \\\n          ";
    if (!is_flag(declared)) {
      if (declared.name.starts_with("-- ")) {
        text += "'(-)--[" + zsh_text(declared.help) + "]:*::command:_normal'";
      } else {
        text += "'*:" + zsh_text(declared.name) + ":" + zsh_action(declared) + "'";
      }
      continue;
    }
    const std::string help = "[" + zsh_text(declared.help) + "]";
    const std::string value = ":" + zsh_text(declared.value) + ":" + zsh_action(declared);
    if (declared.value.empty()) {
      text += "'" + declared.name + help + "'";
      if (!declared.brief.empty()) text += " '" + declared.brief + help + "'";
    } else if (declared.value_optional) {
      text += "'" + declared.name + "=-" + help + ":" + value + "'";
    } else {
      text += "'" + declared.name + "=" + help + value + "'";
    }
  }
  return text + "\n        ;;\n";
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

std::string fish_verb(const VerbShape& verb, const std::string& program) {
  const std::string seen =
      "complete -c " + program + " -n '__fish_seen_subcommand_from " + verb.name + "'";
  std::string text = "complete -c " + program + " -n __fish_use_subcommand -f -a " + verb.name +
                     " -d " + fish_quote(verb.summary) + "\n";
  for (const Declared& declared : verb.arguments) {
    if (!is_flag(declared)) {
      if (declared.complete != Complete::kNothing) text += seen + fish_action(declared) + "\n";
      continue;
    }
    text += seen + " -l " + declared.name.substr(2);
    if (!declared.brief.empty()) text += " -s " + declared.brief.substr(1);
    if (!declared.value.empty() && !declared.value_optional) text += fish_action(declared);
    text += " -d " + fish_quote(declared.help) + "\n";
  }
  return text;
}

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
  std::string names, cases;
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
         "_lockkeeper() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a verbs\n"
         "  verbs=(\n" +
         names +
         "  )\n"
         "  _arguments -C '1: :->verb' '*:: :->rest'\n"
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
  for (const char* const program : {"lockkeeper", "lk"}) {
    for (const VerbShape& verb : verbs) text += fish_verb(verb, program);
  }
  return text;
}

}  // namespace lockkeeper::cli
