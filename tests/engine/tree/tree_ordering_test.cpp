// Couplings and the order of bodies, against what a matrix of all pairs of nodes gives, for contacts drawn at random.
#include "engine/tree/tree_ordering.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::tree_ordering_test {
namespace {

using Problem = solver::Problem<double>;

// Which nodes meet, as a matrix; elimination from the last node to the first.
class DenseGraph {
 public:
  explicit DenseGraph(const Problem& p) : p_(p), n_(solver::node_count(p.m)), meets_(n_ * n_, false) {
    solver::for_each_edge(p, solver::Scope::kWhole,
                          [&](int i, int j) { meets_[i * n_ + j] = meets_[j * n_ + i] = true; });
  }
  bool meet(int i, int j) const { return meets_[i * n_ + j]; }

  // Couplings with fill: of each node, from the last, those before it.
  std::vector<std::vector<int>> couplings() {
    std::vector<std::vector<int>> result(n_);
    for (int i = n_ - 1; i >= 0; --i) {
      for (int j = i - 1; j >= 0; --j) {
        if (meet(i, j)) result[i].push_back(j);
      }
      for (int j : result[i]) couple(result[i].front(), j);
    }
    return result;
  }

  // Bodies in the order in which they go.
  std::vector<int> order() {
    const int loops = p_.m.loop_count, nb = p_.m.body_count;
    std::vector<bool> gone(n_, false);
    std::vector<int> children(nb), result;
    for (int b = 0; b < nb; ++b) children[b] = p_.m.bodies[b].child_joint_count;
    for (int k = 0; k < nb; ++k) {
      int best = -1, least = 0;
      for (int b = nb - 1; b >= 0; --b) {
        if (gone[loops + b] || children[b] > 0) continue;
        int degree = 0;
        for (int i = 0; i < n_; ++i) degree += !gone[i] && i != loops + b && meet(loops + b, i);
        if (best < 0 || degree < least) best = b, least = degree;
      }
      gone[loops + best] = true;
      if (p_.m.bodies[best].parent >= 0) --children[p_.m.bodies[best].parent];
      for (int i = 0; i < n_; ++i) {
        for (int j = 0; j < n_; ++j) {
          if (!gone[i] && !gone[j] && meet(loops + best, i) && meet(loops + best, j)) couple(i, j);
        }
      }
      result.push_back(best);
    }
    return result;
  }

 private:
  void couple(int i, int j) {
    if (i != j) meets_[i * n_ + j] = meets_[j * n_ + i] = true;
  }
  const Problem& p_;
  int n_;
  std::vector<bool> meets_;
};

// Bodies, some of them in chains, and a problem with contacts between bodies at random.
struct RandomContacts {
  testing::SingleWorld<double> world;
  int count = 0;

  RandomContacts(const model::SceneSpec& scene, int contacts, std::mt19937& random)
      : world(scene, model::make_options(model::Preset::kDefault), 0.01) {
    const auto m = world.model();
    const auto draw = [&] { return static_cast<int>(random() % static_cast<unsigned>(m.body_count)); };
    for (; count < std::min(contacts, m.contact_capacity); ++count) {
      auto& c = world.world().contacts[count];
      c.body_a = draw(), c.body_b = draw();
      if (c.body_b == c.body_a) c.body_b = -1;
    }
  }
  Problem problem() { return {world.model(), world.world(), world.settings(), model::JointMode::kCurrent, count}; }
};

std::vector<model::SceneSpec> scenes() {
  return {testing::sphere_pile(3, 3, 0.1), testing::ring_of_bars(6, true),  testing::four_bar(),
          testing::mixed_scene(),          testing::sphere_pile(2, 1, 0.1), testing::sphere_pile(5, 4, 0.1)};
}

TEST(TreeOrdering, is_that_of_least_exact_degrees_and_its_couplings_those_of_elimination) {
  std::mt19937 random(5);
  int ordered = 0, filled = 0;
  for (const model::SceneSpec& scene : scenes()) {
    for (int round = 0; round < 12; ++round) {
      RandomContacts contacts(scene, round * static_cast<int>(scene.bodies.size()) / 3, random);
      const Problem p = contacts.problem();
      for (int b = 0; b < p.m.body_count; ++b) p.w.tree.body_rank[b] = p.w.tree.body_of_rank[b] = b;
      const std::vector<int> order = DenseGraph(p).order();
      solver::find_couplings(team::SerialTeam{}, p, solver::Scope::kWhole);
      const int nb = p.m.body_count;
      bool own_order = true;
      for (int b = 0; b < nb; ++b) own_order = own_order && p.w.tree.body_of_rank[b] == b;
      ordered += !own_order;
      for (int k = 0; k < nb && !own_order; ++k)
        EXPECT_EQ(p.w.tree.body_of_rank[nb - 1 - k], order[k]) << "round " << round;
      const auto expected = DenseGraph(p).couplings();
      ASSERT_TRUE(solver::couplings_complete(p));
      int count = 0;
      for (int i = 0; i < solver::node_count(p.m); ++i) {
        const int* list = p.w.tree.coupling_node;
        const std::vector<int> found(list + p.w.tree.coupling_start[i], list + solver::coupling_end(p, i));
        EXPECT_EQ(found, expected[i]) << "round " << round << " node " << i;
        for (int j = 0; j < i; ++j) {
          const int at = solver::find_coupling(p, i, j);
          const bool meets = std::find(expected[i].begin(), expected[i].end(), j) != expected[i].end();
          EXPECT_EQ(at >= 0, meets);
          EXPECT_TRUE(at < 0 || list[at] == j);
        }
        count += static_cast<int>(found.size());
      }
      EXPECT_EQ(p.w.tree.coupling_count[0], count);
      filled += p.w.tree.coupling_fill[0] > 0;
    }
  }
  EXPECT_GT(ordered, 20);
  EXPECT_GT(filled, 20);
}

TEST(TreeOrdering, keeps_the_first_couplings_where_they_are_too_many) {
  std::mt19937 random(9);
  RandomContacts contacts(testing::sphere_pile(4, 3, 0.1), 120, random);
  const Problem whole = contacts.problem();
  solver::find_couplings(team::SerialTeam{}, whole, solver::Scope::kWhole);
  const int count = whole.w.tree.coupling_count[0];
  ASSERT_GT(count, 60);
  const std::vector<int> all(whole.w.tree.coupling_node.begin(), whole.w.tree.coupling_node + count);
  for (const int capacity : {0, 1, 37, count - 1}) {
    model::ModelView<double> m = contacts.world.model();
    m.coupling_capacity = capacity;
    const Problem p{m, contacts.world.world(), contacts.world.settings(), model::JointMode::kCurrent, contacts.count};
    solver::find_couplings(team::SerialTeam{}, p, solver::Scope::kWhole);
    EXPECT_FALSE(solver::couplings_complete(p));
    EXPECT_EQ(~p.w.tree.coupling_count[0], capacity);
    EXPECT_EQ(std::vector<int>(p.w.tree.coupling_node.begin(), p.w.tree.coupling_node + capacity),
              std::vector<int>(all.begin(), all.begin() + capacity));
    for (int i = 0; i < solver::node_count(m); ++i) EXPECT_LE(p.w.tree.coupling_start[i], solver::coupling_end(p, i));
  }
}

}  // namespace
}  // namespace axion::tree_ordering_test
