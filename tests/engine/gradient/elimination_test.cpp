// Elimination in a given order: solutions of systems that fill and of such that do not, and systems without any.
#include "engine/gradient/elimination.hpp"

#include <gtest/gtest.h>

#include <random>

namespace axion::gradient {
namespace {

using Matrix = std::vector<std::vector<double>>;

double worst_residual(const Matrix& A, const std::vector<int>& group) {
  Elimination elimination;
  elimination.start(group);
  const std::size_t n = A.size();
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) elimination.at(r, c) = A[r][c];
  }
  if (!elimination.factorise()) return -1;
  std::vector<double> b(n), x;
  for (std::size_t i = 0; i < n; ++i) b[i] = 1 + static_cast<double>(i % 3);
  x = b;
  elimination.solve(x);
  double worst = 0;
  for (std::size_t r = 0; r < n; ++r) {
    double sum = -b[r];
    for (std::size_t c = 0; c < n; ++c) sum += A[r][c] * x[c];
    worst = std::max(worst, std::abs(sum));
  }
  return worst;
}

TEST(Elimination, a_full_matrix_needs_rows_exchanged_and_gets_them) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> u(-1, 1);
  Matrix A(23, std::vector<double>(23));
  for (auto& row : A) {
    for (double& a : row) a = u(random);
  }
  A[0][0] = 0;
  const double worst = worst_residual(A, std::vector<int>(23));
  EXPECT_GE(worst, 0);
  EXPECT_LT(worst, 1e-11);
}

// Two groups, each with its own equation of velocity and of impulse, that a third couples.
TEST(Elimination, rows_are_exchanged_within_their_group) {
  const Matrix A{{0, 1, 0, 0, 1}, {2, 1, 0, 0, 0}, {0, 0, 0, 3, 1}, {0, 0, 1, 1, 0}, {1, 0, 1, 0, 0}};
  const double worst = worst_residual(A, {0, 0, 1, 1, 2});
  EXPECT_GE(worst, 0);
  EXPECT_LT(worst, 1e-14);
}

TEST(Elimination, a_system_without_a_unique_solution_is_told) {
  EXPECT_EQ(worst_residual({{1, 2}, {2, 4}}, {0, 0}), -1);
  EXPECT_EQ(worst_residual({{0, 0}, {0, 1}}, {0, 0}), -1);
  EXPECT_EQ(worst_residual({{0, 1}, {1, 0}}, {0, 1}), -1) << "as rows stay in their groups";
}

}  // namespace
}  // namespace axion::gradient
