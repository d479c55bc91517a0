// Factors of one node, and what is solved with them, against Eigen; packs of every width against loops over numbers.
#include "engine/tree/node_factors.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <random>
#include <vector>

#include "engine/team/serial_team.hpp"
#include "tests/support/validation.hpp"

namespace axion::node_factors_test {
namespace {

using solver::kHalfNode;
using solver::kNodeSize;
using solver::kPanelWidth;
using Matrix = Eigen::MatrixXd;

template <typename Real>
class NodeFactors : public ::testing::Test {
 protected:
  Real draw() { return uniform_(random_); }
  std::vector<Real> draw(int count) {
    std::vector<Real> all(count);
    for (Real& x : all) x = draw();
    return all;
  }

 private:
  std::mt19937 random_{1};
  std::uniform_real_distribution<Real> uniform_{-1, 1};
};
TYPED_TEST_SUITE(NodeFactors, testing::Precisions, testing::PrecisionNames);

// A node of `size` unknowns as assembly leaves it: what it has no unknown for are rows of the identity. Diagonally
// dominant, as factors are made without exchanges.
template <typename Real>
struct Node {
  std::array<Real, solver::kNodeStride> K{};
  Matrix dense;

  template <typename Draw>
  Node(int size, Draw&& draw) : dense(Matrix::Identity(kNodeSize, kNodeSize)) {
    for (int r = 0; r < size; ++r) {
      for (int c = 0; c < size; ++c) dense(r, c) = draw() + (r == c ? 2.0 * size : 0);
    }
    for (int r = 0; r < kNodeSize; ++r) {
      for (int c = 0; c < kNodeSize; ++c) K[kNodeSize * r + c] = Real(dense(r, c)), dense(r, c) = K[kNodeSize * r + c];
    }
  }
  template <typename Team>
  void factorise(int size) {
    const auto as_it_is = [](int, Real pivot) { return pivot; };
    if (size <= kHalfNode) {
      solver::factorise<kHalfNode>(Team{}, K.data(), as_it_is);
    } else {
      solver::factorise<kNodeSize>(Team{}, K.data(), as_it_is);
    }
  }
};

TYPED_TEST(NodeFactors, solve_one_column_and_panels_of_any_size_of_node) {
  using Real = TypeParam;
  const double bound = 100 * testing::epsilon<Real>();
  const auto draw = [&] { return this->draw(); };
  for (int size = 1; size <= kNodeSize; ++size) {
    const int padded = solver::padded_size(size);
    Node<Real> node(size, draw), reversed = node;
    node.template factorise<team::SerialTeam>(size);
    reversed.template factorise<team::ReversedTeam>(size);
    const Matrix inverse = node.dense.inverse();

    std::vector<Real> b = this->draw(kNodeSize), panel = this->draw(kNodeSize * kPanelWidth);
    Eigen::VectorXd exact(kNodeSize);
    Matrix columns(kNodeSize, kPanelWidth);
    for (int r = 0; r < kNodeSize; ++r) {
      exact[r] = b[r];
      for (int c = 0; c < kPanelWidth; ++c) columns(r, c) = panel[kPanelWidth * r + c];
    }
    exact = inverse * exact, columns = inverse * columns;
    std::vector<Real> other = b, untouched = panel;
    solver::solve_column(node.K.data(), size, b.data());
    solver::solve_column(reversed.K.data(), size, other.data());
    EXPECT_EQ(b, other) << "of " << size << ": the order of a team's loop";
    for (int part = 0; part < solver::panel_packs<team::SerialTeam, Real>(); ++part) {
      solver::solve_panel<team::SerialTeam>(node.K.data(), size, panel.data(), part, Real(0));
    }
    for (int r = 0; r < kNodeSize; ++r) {
      if (r < padded) {
        EXPECT_NEAR(b[r], exact[r], bound) << "row " << r << " of " << size;
      }
      for (int c = 0; c < kPanelWidth; ++c) {
        const Real found = panel[kPanelWidth * r + c];
        if (r < padded) {
          EXPECT_NEAR(found, columns(r, c), bound) << "row " << r << " column " << c << " of " << size;
        } else {
          EXPECT_EQ(found, untouched[kPanelWidth * r + c]) << "row " << r << " of " << size;
        }
      }
    }
  }
}

TYPED_TEST(NodeFactors, use_the_pivots_that_they_are_given) {
  using Real = TypeParam;
  std::array<Real, solver::kNodeStride> K{};
  for (int k = 0; k < kHalfNode; ++k) K[kNodeSize * k + k] = k == 2 ? Real(0) : Real(1);
  solver::factorise<kHalfNode>(team::SerialTeam{}, K.data(),
                               [](int k, Real pivot) { return k == 2 && pivot == Real(0) ? Real(4) : pivot; });
  std::array<Real, kNodeSize> b{1, 1, 1, 1, 1, 1};
  solver::solve_column(K.data(), kHalfNode, b.data());
  EXPECT_EQ(b[1], Real(1));
  EXPECT_EQ(b[2], Real(0.25));
}

TYPED_TEST(NodeFactors, leave_no_number_below_the_least) {
  using Real = TypeParam;
  Node<Real> node(kHalfNode, [] { return Real(0); });
  node.template factorise<team::SerialTeam>(kHalfNode);
  std::vector<Real> panel(kNodeSize * kPanelWidth, Real(1e-12));
  panel[0] = panel[kPanelWidth + 1] = Real(-1e-12), panel[2] = Real(1);
  for (int part = 0; part < solver::panel_packs<team::SerialTeam, Real>(); ++part) {
    solver::solve_panel<team::SerialTeam>(node.K.data(), kHalfNode, panel.data(), part, Real(1e-9));
  }
  for (int i = 0; i < kHalfNode * kPanelWidth; ++i) {
    EXPECT_EQ(panel[i], i == 2 ? Real(1) / Real(2 * kHalfNode) : Real(0)) << i;
  }
}

// block −= L Y by columns [0, 6), rhs −= L times column 6, all else as it was.
template <int rows, int first, typename Real, typename Draw>
void expect_product(Draw&& draw, bool has_block, bool has_rhs) {
  const std::vector<Real> L = draw(rows * kNodeSize), Y = draw(kNodeSize * kPanelWidth);
  const std::vector<Real> before = draw(rows * kNodeSize), rhs_before = draw(rows);
  std::vector<Real> block = before, rhs = rhs_before;
  solver::subtract_product<team::SerialTeam, rows, first>(L.data(), Y.data(), has_block ? block.data() : nullptr,
                                                          kNodeSize, has_rhs ? rhs.data() : nullptr, Real(0));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < kNodeSize; ++c) {
      double exact = before[kNodeSize * r + c];
      for (int k = first; has_block && c < kHalfNode && k < kNodeSize; ++k) {
        exact -= double(L[kNodeSize * r + k]) * double(Y[kPanelWidth * k + c]);
      }
      EXPECT_NEAR(block[kNodeSize * r + c], exact, 20 * testing::epsilon<Real>()) << r << ", " << c;
    }
    double exact = rhs_before[r];
    for (int k = first; has_rhs && k < kNodeSize; ++k) {
      exact -= double(L[kNodeSize * r + k]) * double(Y[kPanelWidth * k + solver::kRhsColumn]);
    }
    EXPECT_NEAR(rhs[r], exact, 20 * testing::epsilon<Real>()) << r;
  }
}

TYPED_TEST(NodeFactors, subtract_products_from_blocks_and_right_hand_sides) {
  const auto draw = [&](int count) { return this->draw(count); };
  for (int given = 1; given < 4; ++given) {
    const bool has_block = (given & 1) != 0, has_rhs = (given & 2) != 0;
    expect_product<1, 0, TypeParam>(draw, has_block, has_rhs);
    expect_product<kHalfNode, 0, TypeParam>(draw, has_block, has_rhs);
    expect_product<kHalfNode, kHalfNode, TypeParam>(draw, has_block, has_rhs);
  }
}

// Packs wider than a register would have no calling convention.
template <int lanes, typename Real>
void expect_chunk_of_numbers(const std::vector<Real>& from) {
  SCOPED_TRACE(lanes);
  const auto a = lanes::load_pack<lanes>(from.data()), b = lanes::load_pack<lanes>(from.data() + lanes);
  std::vector<Real> to(lanes + 1, Real(7));
  lanes::store_pack<lanes>(to.data(), lanes::Pack<Real, lanes>(a - from[0] * b));
  for (int i = 0; i < lanes; ++i) EXPECT_EQ(to[i], from[i] - from[0] * from[lanes + i]);
  EXPECT_EQ(to[lanes], Real(7));

  const auto kept = lanes::without_small<lanes>(a, Real(0.5));
  const auto counted = lanes::pack_of<lanes, 3, Real>([](auto i) { return Real(10 * i); });
  for (int i = 0; i < lanes; ++i) {
    EXPECT_EQ((lanes::lane<lanes, Real>(kept, i)), std::abs(from[i]) < Real(0.5) ? Real(0) : from[i]);
    EXPECT_EQ((lanes::lane<lanes, Real>(counted, i)), Real(10 * (3 + i)));
  }

  constexpr int part = (lanes + 1) / 2;
  const auto first = lanes::first_lanes<part, lanes, Real>(a), none = lanes::first_lanes<-1, lanes, Real>(a);
  std::fill(to.begin(), to.end(), Real(7));
  lanes::store_first_lanes<part, lanes>(to.data(), a);
  lanes::store_first_lanes<-1, lanes>(to.data() + part, a);
  for (int i = 0; i < lanes; ++i) {
    EXPECT_EQ((lanes::lane<lanes, Real>(first, i)), i < part ? from[i] : Real(0));
    EXPECT_EQ((lanes::lane<lanes, Real>(none, i)), Real(0));
    EXPECT_EQ(to[i], i < part ? from[i] : Real(7));
  }
}

TYPED_TEST(NodeFactors, chunks_of_every_width_do_what_numbers_do) {
  const std::vector<TypeParam> numbers = this->draw(17);
  constexpr int widest = team::pack_lanes<team::SerialTeam, TypeParam>(8);  // of this instruction set
  lanes::for_constants<4>([&](auto k) {
    if constexpr (1 << k <= widest) expect_chunk_of_numbers<(1 << k)>(numbers);
  });
  for (const int most : {1, 2, 4, 8}) {
    const int lanes = team::pack_lanes<team::SerialTeam, TypeParam>(most);
    EXPECT_LE(lanes, most);
    EXPECT_EQ(most % lanes, 0);
  }
}

}  // namespace
}  // namespace axion::node_factors_test
