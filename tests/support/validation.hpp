// Rows of the validation table: what a case measured, and what it may be.
//
// Each call checks a figure with GoogleTest, prints it, and appends it to the file that the environment variable
// AXION_VALIDATION_OUT names, when it is set: one line of tab-separated case, precision, quantity, measured, relation,
// allowed. tests/physics/validation_table.py makes docs/validation.md of such a file.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>

namespace axion::testing {

// The types that a typed test of a case runs with, and their names. A program may be compiled for one of them alone.
#ifdef AXION_TESTED_PRECISION
using Precisions = ::testing::Types<AXION_TESTED_PRECISION>;
#else
using Precisions = ::testing::Types<double, float>;
#endif
struct PrecisionNames {
  template <typename Real>
  static std::string GetName(int) {
    return std::is_same_v<Real, float> ? "float32" : "float64";
  }
};

// Distance from 1 to the next number: rounding of one operation is at most half of it, relative.
template <typename Real>
constexpr double epsilon() {
  return std::numeric_limits<Real>::epsilon();
}

// The figure for float64, or the one that the rounding of float32 allows.
template <typename Real>
constexpr double allowed(double in_float64, double in_float32) {
  return std::is_same_v<Real, float> ? in_float32 : in_float64;
}

// What the step size is in `Real`: 1/60 is not a float, and a closed formula must use the step that was made.
template <typename Real>
constexpr double as_made(double value) {
  return static_cast<double>(static_cast<Real>(value));
}

template <typename Real>
class Validation {
 public:
  explicit Validation(std::string name) : name_(std::move(name)) {}

  void at_most(const std::string& quantity, double measured, double bound) const {
    report(quantity, measured, "<=", bound);
    EXPECT_LE(measured, bound) << name_ << ": " << quantity;
  }
  void at_least(const std::string& quantity, double measured, double bound) const {
    report(quantity, measured, ">=", bound);
    EXPECT_GE(measured, bound) << name_ << ": " << quantity;
  }

 private:
  void report(const std::string& quantity, double measured, const char* relation, double bound) const {
    const std::string precision = PrecisionNames::GetName<Real>(0);
    std::printf("%s, %s: %s: %.3g (%s %.3g)\n", name_.c_str(), precision.c_str(), quantity.c_str(), measured, relation,
                bound);
    const char* path = std::getenv("AXION_VALIDATION_OUT");
    if (path == nullptr || *path == '\0') return;
    std::FILE* out = std::fopen(path, "a");
    ASSERT_NE(out, nullptr) << "AXION_VALIDATION_OUT: cannot append to " << path;
    std::fprintf(out, "%s\t%s\t%s\t%.3g\t%s\t%.3g\n", name_.c_str(), precision.c_str(), quantity.c_str(), measured,
                 relation, bound);
    std::fclose(out);
  }

  std::string name_;
};

}  // namespace axion::testing
