// axion completion: what a shell needs to complete command lines, made of the tables of commands and flags.
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"

namespace axion::cli {
namespace {

std::string flag_words(const std::vector<const char*>& names) {
  std::string words;
  for (const char* name : names) {
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    const bool is_switch = flag != nullptr && flag->IsOfType<bool>();
    absl::StrAppend(&words, words.empty() ? "" : " ", "--", name, is_switch ? "" : "=");
  }
  return words;
}

std::vector<const char*> all_flags(const Command& command) {
  std::vector<const char*> names = command.flags;
  names.insert(names.end(), common_flags().begin(), common_flags().end());
  return names;
}

// Names of batches come from the server of the environment's credentials, where there is one.
constexpr const char* kBash = R"sh(_axion() {
  local word="${COMP_WORDS[COMP_CWORD]}" flags='' verb='' part
  for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$part" in -*|=) ;; *) [ -n "$verb" ] || verb="$part" ;; esac
  done
  if [ -z "$verb" ] || [ "$verb" = help ]; then
    COMPREPLY=($(compgen -W "help @COMMANDS@" -- "$word"))
    return
  fi
  case "$verb" in
@CASES@  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")); [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace; return ;;
  esac
  case "$verb" in
    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$(axion batches --timeout=1s 2>/dev/null | grep -o '^batches/[^ ]*')" -- "$word")
                  $(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _axion axion
)sh";

std::string bash_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    absl::StrAppend(&names, names.empty() ? "" : " ", command.name);
    absl::StrAppend(&cases, "    ", command.name, ") flags='", flag_words(all_flags(command)), "' ;;\n");
  }
  return absl::StrReplaceAll(kBash, {{"@COMMANDS@", names}, {"@CASES@", cases}});
}

std::string fish_script() {
  std::string script = "complete -c axion -f\n";
  const auto quoted = [](const char* text) { return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}); };
  for (const Command& command : commands()) {
    absl::StrAppend(&script, "complete -c axion -n __fish_use_subcommand -a ", command.name, " -d '",
                    quoted(command.summary), "'\n");
    for (const char* name : all_flags(command)) {
      const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
      if (flag == nullptr) {
        continue;
      }
      absl::StrAppend(&script, "complete -c axion -n '__fish_seen_subcommand_from ", command.name, "' -l ", name,
                      flag->IsOfType<bool>() ? "" : " -r", " -d '", quoted(flag->Help().c_str()), "'\n");
    }
    absl::StrAppend(&script, "complete -c axion -n '__fish_seen_subcommand_from ", command.name, "' -F\n");
  }
  return script;
}

}  // namespace

absl::Status run_completion(const Invocation& invocation) {
  const std::string shell = invocation.words.size() == 1 ? invocation.words.front() : "";
  std::string script;
  if (shell == "bash") {
    script = bash_script();
  } else if (shell == "zsh") {
    script = absl::StrCat("autoload -U +X bashcompinit && bashcompinit\n", bash_script());
  } else if (shell == "fish") {
    script = fish_script();
  } else {
    return usage_error("completion takes bash, zsh or fish");
  }
  if (invocation.json) {
    print_json({{"shell", shell}, {"script", script}});
  } else {
    absl::PrintF("%s", script);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
