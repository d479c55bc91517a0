// An array of a world: where its elements lie.
//
// Functions are given arrays by value and reach elements by their index. Array<const T> is read only; of one that a
// function may write only where what holds it is no constant see array_view.hpp. An array owns nothing and costs what
// a pointer costs. Builds with assertions know its length and check each index.
#pragma once

#include <cstddef>
#include <type_traits>

#include "engine/base/assert.hpp"
#include "engine/base/macros.hpp"

namespace axion {

inline constexpr std::size_t kAnyLength = ~std::size_t(0);  // where it is not known, and indices are not checked

// An array of whatever type: what those who place arrays in memory set.
class ArraySlot {
 public:
  constexpr ArraySlot() = default;
  AXION_HD constexpr void place(void* first, [[maybe_unused]] std::size_t length) {
    first_ = first;
#ifndef NDEBUG
    length_ = length;
#endif
  }
  AXION_HD void* first() const { return first_; }

 protected:
  AXION_HD void check([[maybe_unused]] std::ptrdiff_t i) const {
#ifndef NDEBUG
    AXION_ASSERT(i >= 0 && static_cast<std::size_t>(i) < length_);
#endif
  }

  void* first_ = nullptr;
#ifndef NDEBUG
  std::size_t length_ = 0;
#endif
};

template <typename T>
class Array : public ArraySlot {
 public:
  constexpr Array() = default;
  // A member of a list of arrays with what is said of it there (model/array_list.hpp): it is placed later.
  template <typename... Said>
  constexpr explicit Array(const char* /*name*/, const Said&... /*said*/) {}

  // Memory of another kind, as of a vector.
  AXION_HD constexpr Array(T* first, std::size_t length = kAnyLength) {  // NOLINT(google-explicit-constructor)
    place(const_cast<std::remove_const_t<T>*>(first), length);
  }
  // What may be written may be read.
  template <typename U>
  requires std::is_same_v<const U, T> AXION_HD constexpr Array(const Array<U>& other)
      : ArraySlot(other) {}  // NOLINT(google-explicit-constructor)

  AXION_HD T& operator[](std::ptrdiff_t i) const { return check(i), elements()[i]; }
  AXION_HD T& operator*() const { return (*this)[0]; }
  AXION_HD T* operator->() const { return &(*this)[0]; }
  AXION_HD T* begin() const { return elements(); }
  AXION_HD T* operator+(std::ptrdiff_t i) const { return elements() + i; }
  AXION_HD operator T*() const { return elements(); }  // NOLINT(google-explicit-constructor)

 private:
  AXION_HD T* elements() const { return static_cast<T*>(first_); }
};

// An array as a function is given it, to read and to write. What its elements are follows from other arguments.
template <typename T>
using ConstArray = std::type_identity_t<Array<const T>>;
template <typename T>
using OutArray = std::type_identity_t<Array<T>>;

}  // namespace axion
