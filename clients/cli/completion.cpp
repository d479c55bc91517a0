// axion completion: what a shell needs to complete command lines, made of the tables of commands and flags.
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/help.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/viewing.hpp"

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

// Flags of the verbs that are the Python package's are asked of it when the first of them is completed, and kept. Names
// of batches come from the server of the environment's credentials, where there is one.
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
    -*) if [ -z "$flags" ]; then
          eval "flags=\$_axion_flags_$verb"
          [ -n "$flags" ] || flags=$(axion completion flags "$verb" 2>/dev/null | cut -f1)
          eval "_axion_flags_$verb=\$flags"
        fi ;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")); [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace; return ;;
  esac
  case "$verb" in
    completion) COMPREPLY=($(compgen -W 'bash zsh fish flags' -- "$word")) ;;
    train) COMPREPLY=($(compgen -W 'example' -- "$word")) ;;
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
    if (is_viewing(command.name)) {
      continue;
    }
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
    if (is_viewing(command.name)) {
      absl::StrAppend(&script, "complete -c axion -n '__fish_seen_subcommand_from ", command.name,
                      "; and string match -q -- \"-*\" (commandline -ct)' -a '(axion completion flags ", command.name,
                      " 2>/dev/null)'\n");
    }
    for (const char* name : is_viewing(command.name) ? std::vector<const char*>{} : all_flags(command)) {
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

// Every flag of a verb, one a line, and after a tab what it is.
absl::Status print_flags(const Invocation& invocation) {
  const std::string verb = invocation.words.size() == 2 ? invocation.words.back() : "";
  if (is_viewing(verb)) {
    std::vector<std::string> words{"flags", verb};
    if (invocation.json) {
      words.emplace_back("--json");
    }
    become_viewing(words);
    return file_error("there is no interpreter of Python");
  }
  if (const Command* command = find_command(verb)) {
    const nlohmann::json told = command_json(*command);
    if (invocation.json) {
      print_json(told);
      return absl::OkStatus();
    }
    for (const nlohmann::json& flag : told["flags"]) {
      std::cout << flag["name"].get<std::string>() << (flag["value"].get<bool>() ? "=" : "") << "\t"
                << flag["help"].get<std::string>() << "\n";
    }
    return absl::OkStatus();
  }
  return usage_error(absl::StrCat("completion flags takes the name of a command; '", verb, "' is none"));
}

}  // namespace

absl::Status run_completion(const Invocation& invocation) {
  if (!invocation.words.empty() && invocation.words.front() == "flags") {
    return print_flags(invocation);
  }
  const std::string shell = invocation.words.size() == 1 ? invocation.words.front() : "";
  std::string script;
  if (shell == "bash") {
    script = bash_script();
  } else if (shell == "zsh") {
    script = absl::StrCat("autoload -U +X bashcompinit && bashcompinit\n", bash_script());
  } else if (shell == "fish") {
    script = fish_script();
  } else {
    return usage_error("completion takes bash, zsh or fish, or flags and a command");
  }
  if (invocation.json) {
    print_json({{"shell", shell}, {"script", script}});
  } else {
    absl::PrintF("%s", script);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
