#include "clients/cli/viewing.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "absl/status/status.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/local_errors.hpp"

namespace axion::cli {
namespace {

// Says what to install where the package is absent, in the place of a trace of Python's. Until the tool's main runs,
// Ctrl-C ends the program at once, as any other.
constexpr const char* kProgram =
    "import signal, sys\n"
    "if signal.getsignal(signal.SIGINT) is signal.default_int_handler:\n"
    "    signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "try:\n"
    "    from axion.tool import main\n"
    "except ImportError as error:\n"
    "    extra = {'train': 'gym,examples,view', 'play': 'gym,examples,view', 'replay': 'replay,view'}.get(sys.argv[1], "
    "'view')\n"
    "    sys.exit(f\"axion {sys.argv[1]}: wants the Python package axion-server-client (in a checkout: pip install \"\n"
    "             f\"'./clients/python[{extra}]') in {sys.executable} (AXION_PYTHON names another interpreter): "
    "{error}\")\n"
    "sys.exit(main(sys.argv[1:]))\n";

}  // namespace

bool is_viewing(std::string_view verb) {
  for (const Command& command : commands()) {
    if (verb == command.name) {
      return command.function == run_viewing;
    }
  }
  return false;
}

int become_viewing(const std::vector<std::string>& arguments) {
  const char* given = std::getenv("AXION_PYTHON");
  const std::string python = given != nullptr && *given != 0 ? given : "python3";
  std::vector<std::string> words{python, "-c", kProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  execvp(argv.front(), argv.data());
  std::cerr << "axion " << arguments.front() << ": cannot run " << python << ": " << std::strerror(errno) << "\n";
  return 1;
}

absl::Status run_viewing(const Invocation&) {
  return usage_error("comes before what it is about: axion view TARGET, axion train example");
}

}  // namespace axion::cli
