// A square system whose rows and columns are eliminated in a given order, and its solutions for several right-hand
// sides side by side.
//
//   A = L U, rows exchanged within groups that follow each other; entries of zero are skipped
//
// The order is the caller's, who knows where the matrix is sparse: of a joint tree from the leaves to the roots only
// blocks of neighbours fill. A row may exchange with others of its group alone. In: the matrix, groups. Out: factors,
// then solutions. Cost: by the entries that fill, at most n³.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace axion::gradient {

class Elimination {
 public:
  // Zero entries of n rows; group[i] is that of unknown i, rising.
  void start(std::vector<int> group) {
    group_ = std::move(group);
    n_ = group_.size();
    factors_.assign(n_ * n_, 0.0);
    row_of_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) row_of_[i] = static_cast<int>(i);
  }
  std::size_t size() const { return n_; }
  double& at(std::size_t row, std::size_t column) { return factors_[row * n_ + column]; }

  // False where a pivot is nothing beside its row's greatest entry: the system has no unique solution.
  bool factorise() {
    std::vector<double> size(n_);
    for (std::size_t r = 0; r < n_; ++r) {
      for (std::size_t c = 0; c < n_; ++c) size[r] = std::max(size[r], std::abs(at(r, c)));
    }
    lower_.assign(n_, {}), upper_.assign(n_, {});
    for (std::size_t k = 0; k < n_; ++k) {
      std::size_t best = k;
      const auto worth = [&](std::size_t r) { return size[r] > 0 ? std::abs(at(r, k)) / size[r] : 0.0; };
      for (std::size_t r = k + 1; r < n_ && group_[r] == group_[k]; ++r) {
        if (worth(r) > worth(best)) best = r;
      }
      if (!(worth(best) > kLeastPivot)) return false;
      if (best != k) {
        std::swap_ranges(factors_.begin() + static_cast<std::ptrdiff_t>(k * n_),
                         factors_.begin() + static_cast<std::ptrdiff_t>((k + 1) * n_),
                         factors_.begin() + static_cast<std::ptrdiff_t>(best * n_));
        std::swap(size[k], size[best]), std::swap(row_of_[k], row_of_[best]), std::swap(lower_[k], lower_[best]);
      }
      std::vector<int>& right = upper_[k];
      for (std::size_t c = k + 1; c < n_; ++c) {
        if (at(k, c) != 0) right.push_back(static_cast<int>(c));
      }
      const double* pivot_row = &factors_[k * n_];
      const double inverse = 1 / pivot_row[k];
      for (std::size_t r = k + 1; r < n_; ++r) {
        double* row = &factors_[r * n_];
        if (row[k] == 0) continue;
        const double factor = row[k] * inverse;
        row[k] = factor;
        lower_[r].push_back(static_cast<int>(k));
        for (const int c : right) row[c] -= factor * pivot_row[c];
      }
    }
    return true;
  }

  // Right-hand sides become solutions; a Column has one number for each of them.
  template <typename Column>
  void solve(std::vector<Column>& sides) const {
    std::vector<Column> x(n_);
    for (std::size_t r = 0; r < n_; ++r) {
      Column sum = sides[static_cast<std::size_t>(row_of_[r])];
      for (const int c : lower_[r])
        sum -= factors_[r * n_ + static_cast<std::size_t>(c)] * x[static_cast<std::size_t>(c)];
      x[r] = sum;
    }
    for (std::size_t r = n_; r-- > 0;) {
      Column sum = x[r];
      for (const int c : upper_[r])
        sum -= factors_[r * n_ + static_cast<std::size_t>(c)] * x[static_cast<std::size_t>(c)];
      x[r] = (1 / factors_[r * n_ + r]) * sum;
    }
    sides = std::move(x);
  }

 private:
  static constexpr double kLeastPivot = 1e-15;

  std::size_t n_ = 0;
  std::vector<int> group_, row_of_;
  std::vector<double> factors_;
  std::vector<std::vector<int>> lower_, upper_;  // columns of entries left of the diagonal, and right of it
};

}  // namespace axion::gradient
