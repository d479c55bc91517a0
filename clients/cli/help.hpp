// axion help: the commands and their flags, for people or as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "clients/cli/commands.hpp"

namespace axion::cli {

// Null where there is no such command.
const Command* find_command(const std::string& name);

// "; did you mean 'models'?" of a command that there is not, where one is near.
std::string near_commands(const std::string& name);

// Every flag of a command that is not the Python package's: its own, then every command's.
std::vector<const char*> all_flags(const Command& command);

// A command for programs: `verb`, `arguments`, `summary` and its `flags`, each with `name`, `value` (whether one
// follows) and `help`.
nlohmann::json command_json(const Command& command);

// Where among argv[at ...] the first word is that is neither a flag nor a flag's value; argc if there is none.
int word_at(int argc, char** argv, int at);

// Prints what `axion help ...`, `axion --help` or `axion COMMAND --help` asks for. The exit code.
int print_help(int argc, char** argv, bool json);

}  // namespace axion::cli
