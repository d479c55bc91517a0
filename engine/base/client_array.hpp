// Arrays of a client's numbers, which on a host need not be aligned: messages are read where they lie. In a device's
// memory they are aligned, and a thread, which would move an unaligned number byte by byte, takes it at once.
#pragma once

#include <cstddef>
#include <cstring>

#include "engine/base/macros.hpp"

namespace axion {

// Element i.
template <typename T>
AXION_HD inline T load_element(const std::byte* array, int i) {
#if defined(__CUDA_ARCH__)
  return reinterpret_cast<const T*>(array)[i];
#else
  T value;
  std::memcpy(&value, array + std::size_t(i) * sizeof(T), sizeof(T));
  return value;
#endif
}
template <typename T>
AXION_HD inline void store_element(std::byte* array, int i, T value) {
#if defined(__CUDA_ARCH__)
  reinterpret_cast<T*>(array)[i] = value;
#else
  std::memcpy(array + std::size_t(i) * sizeof(T), &value, sizeof(T));
#endif
}

}  // namespace axion
