#include "clients/cli/help.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/did_you_mean.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/viewing.hpp"

namespace axion::cli {
namespace {

std::string words_of(const absl::CommandLineFlag& flag) {
  const std::string fallback = flag.DefaultValue();
  return absl::StrCat(flag.Help(), fallback.empty() ? "" : absl::StrCat(" [", fallback, "]"));
}

void list_flags(const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name)) {
      absl::PrintF("  --%-18s %s\n", name, words_of(*flag));
    }
  }
}

nlohmann::json flags_json(const std::vector<const char*>& names) {
  auto list = nlohmann::json::array();
  for (const char* name : names) {
    if (const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name)) {
      list.push_back(
          {{"name", absl::StrCat("--", name)}, {"value", !flag->IsOfType<bool>()}, {"help", words_of(*flag)}});
    }
  }
  return list;
}

void print_overview() {
  absl::PrintF("axion: client of Axion Server\n\nUsage: axion COMMAND [ARGUMENTS] [--FLAG=VALUE ...]\n\n");
  for (const Command& command : commands()) {
    absl::PrintF("  %-10s %-30s %s\n", command.name, command.arguments, command.summary);
  }
  absl::PrintF("\nEvery command:\n");
  list_flags(common_flags());
  absl::PrintF("\n`axion help COMMAND` lists the flags of one.\n");
}

nlohmann::json overview_json() {
  auto list = nlohmann::json::array();
  for (const Command& command : commands()) {
    list.push_back({{"verb", command.name}, {"arguments", command.arguments}, {"summary", command.summary}});
  }
  return {{"commands", list}, {"flags", flags_json(common_flags())}};
}

}  // namespace

const Command* find_command(const std::string& name) {
  const auto found =
      std::find_if(commands().begin(), commands().end(), [&](const Command& command) { return name == command.name; });
  return found == commands().end() ? nullptr : &*found;
}

std::string near_commands(const std::string& name) {
  std::vector<std::string> names{"help"};
  for (const Command& command : commands()) {
    names.emplace_back(command.name);
  }
  return did_you_mean(name, names);
}

std::vector<const char*> all_flags(const Command& command) {
  std::vector<const char*> names = command.flags;
  names.insert(names.end(), common_flags().begin(), common_flags().end());
  return names;
}

nlohmann::json command_json(const Command& command) {
  return {{"verb", command.name},
          {"arguments", command.arguments},
          {"summary", command.summary},
          {"flags", flags_json(all_flags(command))}};
}

int word_at(int argc, char** argv, int at) {
  while (at < argc && argv[at][0] == '-') {
    const std::string_view word = argv[at];
    const std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    at += flag != nullptr && !flag->IsOfType<bool>() && name != "help" ? 2 : 1;  // its value follows without '='
  }
  return std::min(at, argc);
}

int print_help(int argc, char** argv, bool json) {
  int at = word_at(argc, argv, 1);
  while (at < argc && std::string_view(argv[at]) == "help") {
    at = word_at(argc, argv, at + 1);
  }
  if (at >= argc) {
    if (json) {
      print_json(overview_json());
    } else {
      print_overview();
    }
    return 0;
  }
  if (is_viewing(argv[at])) {
    std::vector<std::string> words{argv[at], "--help"};
    if (json) {
      words.emplace_back("--json");
    }
    return become_viewing(words);
  }
  const Command* command = find_command(argv[at]);
  if (command == nullptr) {
    std::cerr << "axion help: there is no command '" << argv[at] << "'" << near_commands(argv[at])
              << "; `axion help` lists them\n";
    return 2;
  }
  if (json) {
    print_json(command_json(*command));
    return 0;
  }
  absl::PrintF("axion %s %s\n\n%s\n\n", command->name, command->arguments, command->summary);
  list_flags(all_flags(*command));
  return 0;
}

}  // namespace axion::cli
