// The order of accuracy that errors at several steps show.
#pragma once

#include <cmath>
#include <vector>

namespace axion::testing {

// Slope of log(error) over log(h), least squares.
inline double fitted_order(const std::vector<double>& h, const std::vector<double>& error) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const double n = static_cast<double>(h.size());
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double a = std::log(h[i]), b = std::log(error[i]);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace axion::testing
