#include "cli/manual.h"

#include <array>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::cli {
namespace {

using Declared = Arguments::Declared;

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string small_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

std::string title(const std::string& name, std::string_view version) {
  return ".TH \"" + roff_text(upper(name)) + "\" \"1\" \"\" \"lockkeeper " + roff_text(version) +
         "\" \"User Commands\"\n";
}

std::string bold(std::string_view text) {
  return "\\fB" + roff_text(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + roff_text(text) + "\\fR";
}

std::string example(std::string_view text) {
  std::string out = ".EX\n";
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    if (line.starts_with("  ")) line.remove_prefix(2);
    out += roff_text(line) + "\n";
    from = end + 1;
  }
  return out + ".EE\n";
}

std::string argument(const Declared& declared) {
  std::string text = ".TP\n";
  if (!declared.brief.empty()) text += bold(declared.brief) + ", ";
  text += declared.is_flag() ? bold(declared.name) : italic(declared.name);
  if (declared.value_optional) {
    text += "[=" + italic(declared.value) + "]";
  } else if (!declared.value.empty()) {
    text += " " + italic(declared.value);
  }
  return text + "\n" + roff_text(declared.help) + "\n";
}

std::string arguments(const VerbShape& verb, bool common) {
  std::string text;
  for (const Declared& declared : verb.arguments) {
    if (declared.common == common) text += argument(declared);
  }
  return text;
}

// `name`: "lockkeeper task acquire".
std::string synopsis(const std::string& name, const VerbShape& verb) {
  std::string text = bold(name) + " [\\fIOPTIONS\\fR]";
  for (const Declared& declared : verb.arguments) {
    if (!declared.is_flag()) text += " " + italic(declared.usage());
  }
  return text + "\n";
}

std::string exit_statuses() {
  std::map<int, std::string> codes;
  for (int i = 0; i <= static_cast<int>(Code::kTimeout); ++i) {
    const Code code = static_cast<Code>(i);
    std::string& names = codes[exit_status(code)];
    names += (names.empty() ? "" : ", ") + std::string(code_name(code));
  }
  std::string text = ".SH EXIT STATUS\n.TP\n0\ndone; for \\fBcheck\\fR: free, or yours\n";
  for (const auto& [status, names] : codes) {
    text += ".TP\n" + std::to_string(status) + "\n" + roff_text(names) + "\n";
  }
  return text +
         ".TP\n128+\\fIN\\fR\nended by signal \\fIN\\fR while waiting\n"
         ".PP\nThe names are those of \\fBerror.code\\fR in the output of \\fB\\-\\-json\\fR.\n";
}

constexpr std::string_view kIntroduction =
    ".SH DESCRIPTION\n"
    "Several agents work on one repository at the same time; \\fBlockkeeper\\fR decides who may\n"
    "change what: files, folders, patterns and logical resources. A lock is a lease: one owner\n"
    "holds it for a limited time, all resources or none, with a fence that grows with every grant\n"
    "and a reason that others see.\n"
    ".PP\n"
    "\\fBlk\\fR is a short name for the same program.\n";

constexpr std::string_view kFiles =
    ".SH FILES\n"
    ".TP\n\\fI.git/lockkeeper/\\fR\nthe locks of a repository and all its worktrees\n"
    ".TP\n\\fI.lockkeeper/\\fR\nthe same without git, in the realm's root\n"
    ".TP\n\\fIlockkeeper.toml\\fR\nsettings, in the repository's root; see "
    "\\fBlockkeeper.toml\\fR(5)\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBLOCKKEEPER_AGENT\\fR, \\fBLOCKKEEPER_SESSION\\fR\nyour name and session\n"
    ".TP\n\\fBLOCKKEEPER_REALM\\fR, \\fBLOCKKEEPER_STORE\\fR\nwhich locks, and where they are "
    "kept\n"
    ".TP\n\\fBLOCKKEEPER_LEASE\\fR, \\fBLOCKKEEPER_FENCE\\fR\n"
    "the lease that \\fBrun\\fR holds for its command\n"
    ".TP\n\\fBLOCKKEEPER_SCOPE\\fR, \\fBLOCKKEEPER_SCOPE_FILE\\fR\n"
    "what that lease covers, as a text for an agent; the file only where the text is long\n"
    ".TP\n\\fBLOCKKEEPER_PAGER\\fR, \\fBPAGER\\fR\nshows what does not fit on the screen; empty: "
    "nothing does\n";

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool begins_line = out.empty() || out.back() == '\n';
    const char32_t c = key::take_code_point(text);
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c > 0x7e) {
      std::array<char, 16> code{};
      std::snprintf(code.data(), code.size(), "\\[u%04X]", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string manual_overview(const VerbShape& program, std::string_view version) {
  std::string text = title("lockkeeper", version);
  text +=
      ".SH NAME\nlockkeeper \\- locks for coding agents that share a repository\n"
      ".SH SYNOPSIS\n\\fBlockkeeper\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIRESOURCE\\fR ...]\n";
  text += std::string(kIntroduction) + ".SH VERBS\n";
  std::string pages;
  for (const VerbShape& verb : program.subcommands) {
    text += ".TP\n" + bold("lockkeeper-" + verb.name) + "(1)\n" + roff_text(verb.summary) + ".\n";
    if (!verb.aliases.empty()) text += "Other names: " + bold(join(verb.aliases, ", ")) + ".\n";
    pages += ",\n" + bold("lockkeeper-" + verb.name) + "(1)";
  }
  text += exit_statuses() + std::string(kFiles);
  return text + ".SH SEE ALSO\n" + bold("lockkeeper.toml") + "(5)" + pages + "\n";
}

std::string manual_page(const VerbShape& verb, std::string_view version) {
  const std::string page = "lockkeeper-" + verb.name;
  const std::string name = "lockkeeper " + verb.name;
  std::string text = title(page, version);
  text += ".SH NAME\n" + roff_text(page) + " \\- " + roff_text(small_first(verb.summary)) + "\n";
  text += ".SH SYNOPSIS\n";
  if (verb.subcommands.empty()) text += synopsis(name, verb);
  for (const VerbShape& each : verb.subcommands) {
    if (&each != &verb.subcommands.front()) text += ".br\n";
    text += synopsis(name + " " + each.name, each);
  }
  text += ".SH DESCRIPTION\n" + roff_text(verb.summary) + ".\n";
  if (!verb.subcommands.empty()) {
    text += ".SH SUBCOMMANDS\n";
  } else if (const std::string own = arguments(verb, false); !own.empty()) {
    text += ".SH OPTIONS\n" + own;
  }
  for (const VerbShape& each : verb.subcommands) {
    text += ".SS " + roff_text(each.name) + "\n" + roff_text(each.summary) + ".\n";
    text += arguments(each, false) + ".PP\n" + example(each.examples);
  }
  // A subcommand may use the name of one of them for something else.
  std::string common = arguments(verb, true);
  for (const VerbShape& each : verb.subcommands) {
    if (std::string all = arguments(each, true); all.size() > common.size())
      common = std::move(all);
  }
  text += ".SH OPTIONS OF EVERY VERB\n" + common;
  if (verb.subcommands.empty()) text += ".SH EXAMPLES\n" + example(verb.examples);
  return text + ".SH EXIT STATUS\nAs in " + bold("lockkeeper") + "(1).\n.SH SEE ALSO\n" +
         bold("lockkeeper") + "(1), " + bold("lockkeeper.toml") + "(5)\n";
}

}  // namespace lockkeeper::cli
