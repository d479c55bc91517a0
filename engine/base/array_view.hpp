// A view of an array that is as constant as what holds it.
//
// Structures of views are handed to functions by reference: through a constant one elements are read, through another
// they are written too, so that a signature says which of both a function does. An array in a structure would let
// functions write through a constant structure. A view owns nothing; it costs what an array costs.
#pragma once

#include "engine/base/array.hpp"

namespace axion {

template <typename T>
class ArrayView {
 public:
  constexpr ArrayView() = default;
  AXION_HD constexpr ArrayView(const Array<T>& array) : array_(array) {}  // NOLINT(google-explicit-constructor)

  AXION_HD constexpr ArrayView(T* first) : array_(first) {}  // NOLINT(google-explicit-constructor)

  AXION_HD T& operator[](std::ptrdiff_t i) { return array_[i]; }
  AXION_HD const T& operator[](std::ptrdiff_t i) const { return array_[i]; }
  AXION_HD T* operator+(std::ptrdiff_t i) { return array_ + i; }
  AXION_HD const T* operator+(std::ptrdiff_t i) const { return array_ + i; }
  AXION_HD operator Array<T>() { return array_; }              // NOLINT(google-explicit-constructor)
  AXION_HD operator Array<const T>() const { return array_; }  // NOLINT(google-explicit-constructor)
  AXION_HD operator T*() { return array_; }                    // NOLINT(google-explicit-constructor)
  AXION_HD operator const T*() const { return array_; }        // NOLINT(google-explicit-constructor)

 private:
  Array<T> array_;
};

}  // namespace axion
