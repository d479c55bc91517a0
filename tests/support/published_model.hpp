// Files of published robots, from the folder that AXION_MODELS_DIR names.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace axion::testing {

// The text of a file; empty where it is absent, and the test is to be skipped.
inline std::string published_model(const std::string& file) {
  std::ifstream in(std::string(AXION_MODELS_DIR) + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace axion::testing
