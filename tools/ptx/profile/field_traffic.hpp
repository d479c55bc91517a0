// Traffic of a step by the field of the world's view that it goes to.
#pragma once

#include <string>
#include <vector>

#include "engine/backend/world_places.hpp"
#include "tools/ptx/profile/traffic.hpp"

namespace axion::ptx {

struct FieldSum {
  std::string name;
  std::size_t bytes = 0;  // of the field in one world
  // moved: bytes of all threads
  U64 sectors = 0, passed = 0, wavefronts = 0, accesses = 0, moved = 0;
};

// Books what `TrafficCounter::observe` tells it. The view is read where the kernel's block keeps it: ResidentState, the
// only static variable of its shared memory.
template <typename Real>
class FieldTraffic {
 public:
  explicit FieldTraffic(const model::ModelView<Real>& m);

  // `passed`: sectors of it that a first cache does not have.
  void add(const Block& block, const Traffic& traffic, U64 passed);
  void clear();
  // By slot; the last two are everything else in far or shared memory, and threads' stacks.
  const std::vector<FieldSum>& sums() const { return sums_; }

 private:
  struct Start {
    U64 address;
    int slot;
  };
  void read_view(const std::byte* view);

  std::vector<std::byte> view_;  // as it was last read
  std::vector<Start> starts_;    // ascending
  std::vector<FieldSum> sums_;   // by slot
};

}  // namespace axion::ptx
