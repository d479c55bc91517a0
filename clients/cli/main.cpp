// axion: the command line client of the simulation server. Exit code 0: done; 1: the server refused or is not there, or
// a file of this machine cannot be read or written; 2: the command line is wrong; 130: interrupted.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/did_you_mean.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/help.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/viewing.hpp"

namespace axion::cli {
namespace {

// The words of a command that is the Python package's, itself first, flags that stand before it last; none for others.
std::vector<std::string> viewing_words(int argc, char** argv) {
  const int at = word_at(argc, argv, 1);
  if (at >= argc || !is_viewing(argv[at])) return {};
  std::vector<std::string> words(argv + at, argv + argc);
  words.insert(words.end(), argv + 1, argv + at);
  return words;
}

bool is_of(const std::vector<const char*>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

// Of every command.
std::vector<std::string> flag_names() {
  std::vector<std::string> names(common_flags().begin(), common_flags().end());
  for (const Command& command : commands()) {
    names.insert(names.end(), command.flags.begin(), command.flags.end());
  }
  return names;
}

// What was given and would have no effect. Flags of the libraries are their own affair.
absl::Status check_uses(const Command& command, const std::vector<std::string>& given) {
  for (const std::string& name : given) {
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    const bool ours = flag != nullptr && flag->Filename().ends_with("clients/cli/flags.cpp");
    if (!ours || is_of(common_flags(), name) || is_of(command.flags, name)) continue;
    return usage_error(absl::StrCat("--", name, " is no flag of ", command.name));
  }
  return absl::OkStatus();
}

// Looks at every flag before they are parsed: a fault ends absl's own parser with exit code 1. Adds their names to
// `given`.
absl::Status check_flags(int argc, char** argv, std::vector<std::string>& given) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--") {
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      continue;
    }
    word.remove_prefix(word[1] == '-' ? 2 : 1);
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    if (flag == nullptr && name.starts_with("no")) {
      flag = absl::FindCommandLineFlag(name.substr(2));
      if (flag != nullptr && flag->IsOfType<bool>() && equals == std::string_view::npos) {
        given.push_back(name.substr(2));
        continue;
      }
      flag = nullptr;
    }
    if (flag == nullptr) {
      return usage_error(absl::StrCat("there is no flag --", name, did_you_mean(name, flag_names(), "--")));
    }
    given.push_back(name);
    if (equals == std::string_view::npos && flag->IsOfType<bool>()) {
      continue;
    }
    if (equals == std::string_view::npos && i + 1 == argc) {
      return usage_error("--" + name + " has no value");
    }
    const std::string value(equals == std::string_view::npos ? argv[++i] : word.substr(equals + 1));
    std::string error;
    if (!flag->ParseFrom(value, &error)) {
      return usage_error(
          absl::StrCat("--", name, "=", value, " is no value of this flag", error.empty() ? "" : ": ", error));
    }
  }
  return absl::OkStatus();
}

int run(int argc, char** argv) {
  if (const std::vector<std::string> words = viewing_words(argc, argv); !words.empty()) {
    return become_viewing(words);
  }
  const auto is_given = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(argv + 1, argv + argc, [&](std::string_view word) {
      return std::find(names.begin(), names.end(), word) != names.end();
    });
  };
  const bool json = is_given({"--json", "-json", "--json=true"});
  const int first = word_at(argc, argv, 1);
  if (argc < 2 || is_given({"--help", "-help", "-h"}) || (first < argc && std::string_view(argv[first]) == "help")) {
    return print_help(argc, argv, json);
  }
  if (is_given({"--version"})) {
    if (json) {
      print_json({{"version", AXION_VERSION}});
    } else {
      std::cout << "axion " AXION_VERSION "\n";
    }
    return 0;
  }
  absl::SetProgramUsageMessage("axion COMMAND [ARGUMENTS] [--FLAG=VALUE ...]; axion help");
  std::vector<std::string> given;
  if (const absl::Status flags = check_flags(argc, argv, given); !flags.ok()) {
    std::cerr << "axion: " << flags.message() << "; see `axion help`\n";
    return 2;
  }
  const std::vector<char*> positional = absl::ParseCommandLine(argc, argv);
  const std::vector<std::string> words(positional.begin() + 1, positional.end());
  const Command* command = words.empty() ? nullptr : find_command(words.front());
  if (command == nullptr) {
    std::cerr << "axion: "
              << (words.empty() ? "no command"
                                : absl::StrCat("unknown command '", words.front(), "'", near_commands(words.front())))
              << "; `axion help` lists them\n";
    return 2;
  }
  if (const absl::Status uses = check_uses(*command, given); !uses.ok()) {
    std::cerr << "axion " << command->name << ": " << uses.message() << "; see `axion help " << command->name << "`\n";
    return 2;
  }
  const char* usual = std::getenv("AXION_SERVER");
  if (usual != nullptr && *usual != 0 && std::find(given.begin(), given.end(), "server") == given.end()) {
    absl::SetFlag(&FLAGS_server, usual);
  }
  client::ConnectOptions options;
  options.timeout = absl::GetFlag(FLAGS_timeout);
  options.token = absl::GetFlag(FLAGS_token);
  if (absl::GetFlag(FLAGS_tls)) {
    options.tls = true;
  }
  options.tls_ca = absl::GetFlag(FLAGS_tls_ca);
  options.tls_cert = absl::GetFlag(FLAGS_tls_cert);
  options.tls_key = absl::GetFlag(FLAGS_tls_key);
  options.tls_server_name = absl::GetFlag(FLAGS_tls_server_name);
  options.insecure_token = absl::GetFlag(FLAGS_insecure_token);
  const absl::Status status = command->function({client::Client::connect(absl::GetFlag(FLAGS_server), options),
                                                 {words.begin() + 1, words.end()},
                                                 absl::GetFlag(FLAGS_json)});
  if (!status.ok()) {
    std::cout.flush();
    const bool interrupted = is_interrupted_error(status);
    const bool local = is_usage_error(status) || is_file_error(status) || interrupted;
    std::cerr << "axion " << command->name << ": "
              << (local ? std::string() : absl::StatusCodeToString(status.code()) + ": ") << status.message()
              << (is_usage_error(status) ? absl::StrCat("; see `axion help ", command->name, "`") : "") << "\n";
    return interrupted ? 130 : is_usage_error(status) ? 2 : 1;
  }
  return 0;
}

}  // namespace
}  // namespace axion::cli

int main(int argc, char** argv) { return axion::cli::run(argc, argv); }
