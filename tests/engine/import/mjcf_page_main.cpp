// axion-mjcf-page: prints docs/mjcf.md.
#include <cstdio>

#include "tests/engine/import/mjcf_page.hpp"

int main() {
  std::fputs(axion::import::mjcf_page().c_str(), stdout);
  return 0;
}
