#include "tools/ptx/profile/traffic.hpp"

#include <algorithm>
#include <array>

namespace axion::ptx {
namespace {

// How many of 32 or 64 keys differ.
template <std::size_t kCount>
U32 distinct(std::array<U64, kCount>& keys, std::size_t count) {
  std::sort(keys.begin(), keys.begin() + count);
  return static_cast<U32>(std::unique(keys.begin(), keys.begin() + count) - keys.begin());
}

using Keys = std::array<U64, 4 * kLanes>;

// Local memory is laid out in words, those of 32 threads beside each other.
U32 local_sectors(const Warp& w, const Addresses& address, U32 bytes, Keys& keys) {
  std::size_t count = 0;
  w.each([&](int l) {
    const U64 word = (address[l] - w.local[l]) / 4;
    for (U32 k = 0; k < std::max(1u, bytes / 4); ++k) keys[count++] = (word + k) * 4 + l / 8;
  });
  return distinct(keys, count);
}

U32 far_sectors(const Warp& w, const Addresses& address, Keys& keys) {
  std::size_t count = 0;
  w.each([&](int l) { keys[count++] = address[l] / 32; });
  return distinct(keys, count);
}

// 32 banks of 4 bytes: different words of one bank go one after another, a word goes to all that want it at once.
U32 wavefronts(const Warp& w, const Addresses& address, U32 bytes) {
  std::array<U64, 4 * kLanes> keys;
  std::size_t count = 0;
  w.each([&](int l) {
    for (U32 k = 0; k < std::max(1u, bytes / 4); ++k) keys[count++] = address[l] / 4 + k;
  });
  const U32 words = distinct(keys, count);
  std::array<U32, 32> banks{};
  U32 most = 0;
  for (U32 k = 0; k < words; ++k) most = std::max(most, ++banks[keys[k] % 32]);
  return most;
}

}  // namespace

void TrafficCounter::add(const WarpAccess& access) {
  const Warp& w = access.warp;
  const Function& function = *w.frame->function;
  std::vector<TrafficCounts>& of_function = counts_[&function];
  of_function.resize(function.code.size());
  TrafficCounts& counts = of_function[w.pc];
  Keys keys;
  U32 units = 0;
  switch (access.place) {
    case Place::kLocal:
      ++counts.local, counts.local_sectors += units = local_sectors(w, access.address, access.bytes, keys);
      break;
    case Place::kShared:
      ++counts.shared, counts.wavefronts += units = wavefronts(w, access.address, access.bytes);
      break;
    case Place::kFar:
    case Place::kUnknown:
      ++counts.far, counts.sectors += units = far_sectors(w, access.address, keys);
      break;
  }
  if (!observe) return;
  U32 lanes = 0, first = 0;
  w.each([&](int l) { first = lanes++ == 0 ? l : first; });
  observe(w.block, {access.place, access.instruction.kind == Class::kStore, access.address[first], lanes * access.bytes,
                    units, keys.data()});
}

TrafficCounts TrafficCounter::of(const Function& function, std::size_t pc) const {
  const auto found = counts_.find(&function);
  return found == counts_.end() ? TrafficCounts{} : found->second[pc];
}

}  // namespace axion::ptx
