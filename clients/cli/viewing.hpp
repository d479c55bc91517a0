// axion view, axion render: the Python package's, which draws.
#pragma once

#include <string>
#include <vector>

namespace axion::cli {

// Whether the first of a command line's words is one of these; their flags are the Python package's.
bool is_viewing(const std::vector<std::string>& arguments);

// Becomes `python -m axion.viewing ARGUMENTS`, with the interpreter that AXION_PYTHON names or python3. Returns, with
// the exit code, only where that cannot be: where there is no interpreter.
int become_viewing(const std::vector<std::string>& arguments);

}  // namespace axion::cli
