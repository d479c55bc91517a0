#include <sched.h>

#include <algorithm>
#include <thread>

#include "engine/engine.hpp"

namespace axion {

int available_processors() {
#ifdef CPU_COUNT
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  // Another system, or a machine of more processors than a set has room for.
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace axion
