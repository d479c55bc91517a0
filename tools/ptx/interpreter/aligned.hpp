// AlignedBytes: bytes that start at a multiple of 64, for arrays of lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace axion::ptx {

template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
  template <typename U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

using AlignedBytes = std::vector<std::uint8_t, AlignedAllocator<std::uint8_t>>;

}  // namespace axion::ptx
