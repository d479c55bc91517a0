// A view of an array that is as constant as what holds it.
//
// Structures of views are handed to functions by reference: through a constant one elements are read, through another
// they are written too, so that a signature says which of both a function does. A raw pointer in a structure would let
// functions write through a constant structure. A view is one pointer and owns nothing; it costs what a pointer costs.
#pragma once

#include <cstddef>

#include "engine/base/macros.hpp"

namespace axion {

template <typename T>
class ArrayView {
 public:
  constexpr ArrayView() = default;
  AXION_HD constexpr ArrayView(T* first) : first_(first) {}  // NOLINT(google-explicit-constructor)

  AXION_HD constexpr T& operator[](std::ptrdiff_t i) { return first_[i]; }
  AXION_HD constexpr const T& operator[](std::ptrdiff_t i) const { return first_[i]; }
  AXION_HD constexpr T* operator+(std::ptrdiff_t i) { return first_ + i; }
  AXION_HD constexpr const T* operator+(std::ptrdiff_t i) const { return first_ + i; }
  AXION_HD constexpr operator T*() { return first_; }              // NOLINT(google-explicit-constructor)
  AXION_HD constexpr operator const T*() const { return first_; }  // NOLINT(google-explicit-constructor)

 private:
  T* first_ = nullptr;
};

}  // namespace axion
