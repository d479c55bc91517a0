// axion view, render, train and play: the Python package's, which has their flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axion::cli {

// Whether a verb is one of these.
bool is_viewing(std::string_view verb);

// Becomes `python -m axion.tool ARGUMENTS`, with the interpreter that AXION_PYTHON names or python3. Returns, with the
// exit code, only where that cannot be: where there is no interpreter.
int become_viewing(const std::vector<std::string>& arguments);

}  // namespace axion::cli
