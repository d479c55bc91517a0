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

// Says what to install where the package is absent, in the place of a trace of Python's.
constexpr const char* kProgram =
    "import sys\n"
    "try:\n"
    "    if sys.argv[1] in ('train', 'play'):\n"
    "        import importlib\n"
    "        main = importlib.import_module(f'axion.learning.{sys.argv[1]}').program\n"
    "        given = sys.argv[2:]\n"
    "    else:\n"
    "        from axion.viewing.__main__ import main\n"
    "        given = sys.argv[1:]\n"
    "except ImportError as error:\n"
    "    extra = 'gym,examples,view' if sys.argv[1] in ('train', 'play') else 'view'\n"
    "    sys.exit(f\"axion {sys.argv[1]}: wants the Python package with its extra '{extra}', pip install "
    "'axion[{extra}]', "
    "in \"\n"
    "             f\"{sys.executable} (AXION_PYTHON names another interpreter): {error}\")\n"
    "sys.exit(main(given))\n";

}  // namespace

bool is_viewing(const std::vector<std::string>& arguments) {
  return !arguments.empty() && (arguments.front() == "view" || arguments.front() == "render" ||
                                arguments.front() == "train" || arguments.front() == "play");
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
  return usage_error("comes first on the command line, before its flags: axion view TARGET, axion train example");
}

}  // namespace axion::cli
