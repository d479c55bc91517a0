// Algorithms that teams share out in several forms, by packs of any length or to the threads of a warp, give the same
// bits in all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/contact_solver/active_set_step.hpp"
#include "engine/contact_solver/coloured_sweeps.hpp"
#include "engine/contact_solver/contact_sweeps.hpp"
#include "engine/tree/joint_inverse.hpp"
#include "engine/tree/tree_solver.hpp"
#include "tests/engine/contact_solver/sweep_arguments.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"
#include "tests/engine/team/warp_team.hpp"
#include "tests/support/validation.hpp"

namespace axion::testing::work_forms_test {
namespace {

// What an algorithm leaves, number by number.
class Bits {
 public:
  template <typename T>
  void add(const T* from, std::size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + count * sizeof(T));
  }
  template <typename T>
  void add(const T& value) {
    add(&value, 1);
  }
  std::size_t size() const { return bytes_.size(); }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<unsigned char> bytes_;
};

// run(team, a fresh make()) by each team leaves the bits of SerialTeam, which packs as long as registers are.
template <typename Make, typename Run>
void expect_the_same_bits(Make&& make, Run&& run) {
  const auto by = [&](const auto& team) {
    auto input = make();
    Bits bits;
    run(team, input, bits);
    return bits;
  };
  const Bits expected = by(team::SerialTeam{});
  EXPECT_GT(expected.size(), 0u);
  EXPECT_TRUE(by(PackTeam<0>{}) == expected) << "number by number";
  EXPECT_TRUE(by(PackTeam<32>{}) == expected) << "packs of 32 bytes";
  EXPECT_TRUE(by(PackTeam<64>{}) == expected) << "packs of 64 bytes";
  EXPECT_TRUE(by(WarpTeam(team::Order::kForward)) == expected) << "a warp";
  EXPECT_TRUE(by(WarpTeam(team::Order::kReversed)) == expected) << "a warp, the last thread first";
}

template <typename Real>
class WorkForms : public ::testing::Test {};
TYPED_TEST_SUITE(WorkForms, testing::Precisions, testing::PrecisionNames);

model::SolverOptions options_of(model::JointMode mode) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.joint_mode = mode;
  return options;
}

constexpr model::JointMode kModes[] = {model::JointMode::kPrevious, model::JointMode::kCurrent,
                                       model::JointMode::kBlended};

// Trees of nodes of both sizes, with limits, efforts and contacts; loose bodies; joints with three axes and balls.
std::vector<model::SceneSpec> tree_scenes() {
  std::vector<model::SceneSpec> scenes = {mixed_scene(), box_stack(3, 2), pendulum_chain(6)};
  for (const NamedJoint& joint : joints_of_every_kind()) {
    if (joint.name == "BallRigid" || joint.name == "Slides1Hinges2Soft" || joint.name == "WeldSoft")
      scenes.push_back(joint.scene);
  }
  return scenes;
}

template <typename Real>
void add_solution(const solver::Problem<Real>& p, Bits& bits) {
  bits.add(p.w.du_linear, p.m.body_count), bits.add(p.w.du_angular, p.m.body_count);
  bits.add(p.w.dlambda, p.limit_base());
}

template <typename Real>
void expect_the_same_trees(const model::SceneSpec& scene, model::JointMode mode) {
  const auto make = [&] {
    NewtonSystem<Real> system(scene, options_of(mode), 1);
    solver::keep_body_order(team::SerialTeam{}, system.problem());
    solver::linearise_joints(team::SerialTeam{}, system.problem());
    return system;
  };
  expect_the_same_bits(make, [](const auto& team, auto& system, Bits& bits) {
    auto& p = system.problem();
    solver::solve_joints(team, p);
    add_solution(p, bits);
    solver::respond(team, p);
    add_solution(p, bits);
    for (int b = 0; b < p.m.body_count; ++b) {
      const int size = solver::node_size(p, solver::node_of_body(p, b));
      const auto add_columns = [&](const Real* from) {
        for (int c = 0; c < 6; ++c) bits.add(from + solver::kNodeSize * c, size);
      };
      add_columns(solver::node_inverse(p, b));
      if (p.m.bodies[b].parent < 0) continue;
      add_columns(solver::transfer_from_parent(p, b));
      for (int r = 0; r < 6; ++r) bits.add(solver::transfer_to_parent(p, b) + solver::kPanelWidth * r, 6);
    }
    solver::find_joint_response(team, p);
    for (int b = 0; b < p.m.body_count; ++b) {
      bits.add(solver::response_column(p, b, 0), 36 * p.m.bodies[b].tree_size);
      Real* f = solver::body_unknowns(p, b);
      for (int k = 0; k < solver::kNodeSize; ++k) f[k] = k < 6 ? std::cos(Real(6 * b + k)) : Real(0);
    }
    solver::solve_joints_with_factors(team, p);
    add_solution(p, bits);
  });
}

// Factors of a node, what is solved with them, and products that blocks lose, with numbers that are too small to count.
TYPED_TEST(WorkForms, nodes_are_factorised_and_multiplied_alike) {
  using Real = TypeParam;
  constexpr int size = solver::kNodeSize, width = solver::kPanelWidth;
  const Real least = solver::least_factor<Real>();
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto fill = [&](int count) {
      std::vector<Real> to(count);
      for (Real& x : to) x = Real(uniform(random)) * (uniform(random) < 0.5 ? Real(1) : Real(0.5) * least);
      return to;
    };
    std::vector<Real> K = fill(2 * size * size), Y = fill(size * width), L = fill(6 * size), block = fill(6 * size);
    for (int k = 0; k < size; ++k) K[size * k + k] = Real(4);
    expect_the_same_bits([] { return 0; },
                         [&](const auto& team, int, Bits& bits) {
                           using Team = std::remove_cvref_t<decltype(team)>;
                           std::vector<Real> factors = K, solved = Y, left = block, rhs(6, Real(1));
                           solver::factorise<size>(team, factors.data(), [](int, Real pivot) { return pivot; });
                           for (int part = 0; part < solver::panel_packs<Team, Real>(); ++part) {
                             solver::solve_panel<Team>(factors.data(), size, solved.data(), part, least);
                           }
                           bits.add(solved.data(), solved.size());
                           constexpr int rows = solver::product_rows<Team>();
                           for (int r = 0; r < 6; r += rows) {
                             solver::subtract_product<Team, rows>(L.data() + size * r, Y.data(), left.data() + size * r,
                                                                  size, rhs.data() + r, least);
                           }
                           bits.add(left.data(), left.size()), bits.add(rhs.data(), rhs.size());
                         });
  }
}

TYPED_TEST(WorkForms, joint_trees_are_factorised_inverted_and_solved_alike) {
  for (const model::SceneSpec& scene : tree_scenes()) {
    for (const model::JointMode mode : kModes) expect_the_same_trees<TypeParam>(scene, mode);
  }
}

TYPED_TEST(WorkForms, impulses_are_passed_through_trees_in_lanes_alike) {
  using Real = TypeParam;
  const auto make = [&] {
    NewtonSystem<Real> system(mixed_scene(), options_of(model::JointMode::kBlended), 2);
    solver::keep_body_order(team::SerialTeam{}, system.problem());
    solver::linearise_joints(team::SerialTeam{}, system.problem());
    return system;
  };
  expect_the_same_bits(make, [](const auto& team, auto& system, Bits& bits) {
    auto& p = system.problem();
    solver::solve_joints(team, p);
    const auto push = [&](auto lanes) {
      for (int pushed = 0; pushed < p.m.body_count; ++pushed) {
        std::vector<Real> f(6 * lanes * p.m.body_count), u(6 * lanes * p.m.body_count);
        std::vector<int> touched(p.m.body_count);
        for (int b = p.m.body_count - 1; b >= 0; --b) {
          touched[b] |= b <= pushed;
          if (touched[b] != 0 && p.m.bodies[b].parent >= 0) touched[p.m.bodies[b].parent] = 1;
          for (int i = 0; i < 6 * lanes && b <= pushed; ++i) f[6 * lanes * b + i] = std::sin(Real(1 + i + b));
        }
        solver::push_lanes<lanes>(team, p, touched.data(), f.data(), u.data());
        bits.add(u.data(), u.size());
      }
    };
    push(std::integral_constant<int, 4>{}), push(std::integral_constant<int, solver::kPushLanes>{});
  });
}

TYPED_TEST(WorkForms, trees_with_contacts_and_loops_are_solved_alike) {
  for (const model::SceneSpec& scene : {mixed_scene(), box_stack(4, 10), four_bar(), ring_of_bars(6, true)}) {
    for (const model::JointMode mode : kModes) {
      const auto make = [&] { return NewtonSystem<TypeParam>(scene, options_of(mode), 3); };
      expect_the_same_bits(make, [](const auto& team, auto& system, Bits& bits) {
        auto& p = system.problem();
        solver::solve_tree(team, p);
        add_solution(p, bits);
        bits.add(p.w.dlambda, p.row_count());
      });
    }
  }
}

// Boxes that lie on a plane, each joined to the next: four contacts each.
model::SceneSpec train_of_boxes(int count) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.4)};
  for (int i = 0; i < count; ++i) {
    const std::string name = "box" + std::to_string(i);
    scene.bodies.push_back(solid_box(name, 1 + 0.2 * i, {0.1, 0.1, 0.1}, {0.25 * i, 0, 0.099}));
    scene.shapes.push_back(box_shape(name, i, {0.1, 0.1, 0.1}, 0.4));
    if (i > 0) scene.joints.push_back(ball_joint("pin" + std::to_string(i), i - 1, i, {-0.125, 0, 0.02}));
  }
  return scene;
}

std::vector<model::SceneSpec> articulated_scenes() {
  return {mixed_scene(), train_of_boxes(2), train_of_boxes(5), ring_of_bars(6, true)};
}

// A scene up to where columns of D are made, and with all of them.
template <typename Real>
NewtonSystem<Real> before_columns(const model::SceneSpec& scene, unsigned seed) {
  NewtonSystem<Real> system(scene, model::make_options(model::Preset::kDefault), seed);
  system.ready_for_sweeps();
  if (!solver::delassus_serves<Real>(system.problem().m, system.problem().rows()))
    throw std::logic_error("too many rows");
  solver::row_space(system.problem()).columns.forget(team::SerialTeam{});
  return system;
}
template <typename Real>
NewtonSystem<Real> after_columns(const model::SceneSpec& scene, unsigned seed) {
  NewtonSystem<Real> system = before_columns<Real>(scene, seed);
  const auto& p = system.problem();
  SweepArguments<Real> of(p);
  of.rows.start(team::SerialTeam{}, p.w.du_linear, p.w.du_angular);
  for (int row = p.limit_base(); row < p.row_count(); row += of.laws.rows_from(row)) {
    of.rows.prepare(team::SerialTeam{}, of.laws, of.system, of.impulses, row);
  }
  return system;
}

TYPED_TEST(WorkForms, columns_of_the_delassus_matrix_are_made_alike) {
  for (const model::SceneSpec& scene : articulated_scenes()) {
    const auto make = [&] { return before_columns<TypeParam>(scene, 4); };
    expect_the_same_bits(make, [](const auto& team, auto& system, Bits& bits) {
      const auto& p = system.problem();
      SweepArguments<TypeParam> of(p);
      of.rows.start(team, p.w.du_linear, p.w.du_angular);
      const int base = p.limit_base(), rows = p.row_count() - base, length = of.rows.length;
      for (int row = base; row < p.row_count(); row += of.laws.rows_from(row)) {
        of.rows.prepare(team, of.laws, of.system, of.impulses, row);
      }
      for (int i = 0; i < rows; ++i) bits.add(p.w.sweeps.delassus + i * length, rows);
      bits.add(rows);
    });
  }
}

TYPED_TEST(WorkForms, steps_on_the_active_set_are_made_alike) {
  int fewest = 1000, most = 0;
  for (const model::SceneSpec& scene : articulated_scenes()) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const auto make = [&] { return after_columns<TypeParam>(scene, seed); };
      expect_the_same_bits(make, [&](const auto& team, auto& system, Bits& bits) {
        const auto& p = system.problem();
        // Impulses that stick, slide and open, without sweeps: a third of the contacts each.
        for (int i = 0; i < p.contact_count; ++i) {
          auto* lambda = p.w.lambda + p.contact_base() + 3 * i;
          const TypeParam n = i % 3 == 2 ? 0 : TypeParam(0.1 + 0.01 * i), mu = p.w.contacts[i].friction;
          lambda[0] = n, lambda[1] = i % 3 == 0 ? mu * n : TypeParam(0.3) * mu * n, lambda[2] = 0;
        }
        SweepArguments<TypeParam> of(p);
        solver::HeldUnits held;
        const solver::ActiveCount active =
            solver::list_active_rows(team, of.laws, of.system, of.rows, of.impulses, of.set, held);
        bits.add(active.sticking), bits.add(active.single), bits.add(active.all);
        bits.add(p.w.sweeps.active_row, active.all), bits.add(p.w.sweeps.active_kind, active.all);
        fewest = std::min(fewest, active.all), most = std::max(most, active.all);
        for (int k = 0; k < 3; ++k) {
          const auto step = solver::step_active_set(team, of.laws, of.system, of.rows, of.impulses, of.set, held);
          bits.add(step.made), bits.add(step.share);
          bits.add(p.w.lambda, p.row_count());
          bits.add(p.w.sweeps.row_velocity, p.row_count() - p.limit_base());
        }
      });
    }
  }
  EXPECT_LE(fewest, 16) << "a few, whose columns a warp has several of";
  EXPECT_GT(most, 32) << "more than a warp has threads";
}

TYPED_TEST(WorkForms, sweeps_are_made_alike) {
  for (const model::SceneSpec& scene : articulated_scenes()) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      const auto make = [&] { return before_columns<TypeParam>(scene, seed); };
      expect_the_same_bits(make, [&](const auto& team, auto& system, Bits& bits) {
        const auto& p = system.problem();
        solver::SweepPlan<TypeParam> plan{60};
        plan.tolerance = TypeParam(1e-3), plan.averaged = seed % 2 == 0;
        SweepArguments<TypeParam> of(p);
        of.rows.start(team, p.w.du_linear, p.w.du_angular);
        solver::make_sweeps(team, of.laws, of.system, of.rows, of.impulses, of.history, of.set, plan);
        bits.add(p.w.lambda, p.row_count());
        bits.add(p.w.sweeps.row_velocity, p.row_count() - p.limit_base());
      });
    }
  }
}

TYPED_TEST(WorkForms, coloured_contacts_are_swept_alike) {
  using Real = TypeParam;
  const auto make = [] {
    NewtonSystem<Real> system(heap(36, 0.5), model::make_options(model::Preset::kDefault), 5);
    system.ready_for_sweeps();
    solver::find_joint_response(team::SerialTeam{}, system.problem());
    SweepArguments<Real> of(system.problem());
    solver::note_all_blocks(team::SerialTeam{}, of.laws, of.system, of.bodies);
    return system;
  };
  expect_the_same_bits(make, [](const auto& team, auto& system, Bits& bits) {
    const auto& p = system.problem();
    const auto add = [&] {
      bits.add(p.w.lambda + p.contact_base(), 3 * p.contact_count);
      for (int b = 0; b < p.m.body_count; ++b)
        bits.add(p.w.sweeps.body_velocity + solver::SweepSizes::kBodyNumbers * b, 6);
    };
    SweepArguments<Real> of(p);
    auto sweeps = solver::coloured_sweeps(p);
    sweeps.start(team, of.laws, of.system, of.impulses);
    ASSERT_GE(sweeps.all.colours, 1);
    sweeps.renew(team, of.laws, of.system, of.impulses);
    sweeps.sweep_all(team, of.laws, of.system, of.impulses, Real(1));
    add();
    for (const bool local : {false, true}) {
      sweeps.renew(team, of.laws, of.system, of.impulses);
      sweeps.sweep_all(team, of.laws, of.system, of.impulses, local ? Real(20) : Real(1));
      const solver::SweptColours list = sweeps.list(team, of.laws, of.system, of.impulses, local);
      solver::Momentum<Real> momentum{1};
      sweeps.begin(team, of.laws, of.impulses, list);
      for (int k = 0; k < 10; ++k) {
        sweeps.sweep(team, of.laws, of.system, of.impulses, list, Real(1));
        sweeps.accelerate(team, of.laws, of.impulses, list, momentum, true, k == 0);
      }
      sweeps.move_to_mean(team, of.laws, of.system, of.impulses, list, 10);
      sweeps.keep_impulses(team, of.laws, of.system, of.impulses, list);
      add();
    }
  });
}

TYPED_TEST(WorkForms, the_greatest_ratio_is_found_alike) {
  using Real = TypeParam;
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (const int count : {0, 1, 7, 64, 255, 300, 1000}) {
    for (const int odd : {-1, 0, count / 2, count - 1}) {
      std::vector<Real> a(count + 1), b(count + 1);
      for (int i = 0; i <= count; ++i) a[i] = 1 + std::sin(Real(i * i)), b[i] = Real(0.1) + std::abs(std::cos(Real(i)));
      if (odd >= 0) a[odd] = nan;
      const auto run = [&](const auto& team) { return solver::greatest_ratio(team, a.data(), b.data(), count); };
      const Real expected = run(team::SerialTeam{});
      const bool is_nan = odd >= 0 && odd < count;
      EXPECT_EQ(std::isnan(expected), is_nan);
      const auto expect = [&](Real found) { EXPECT_TRUE(is_nan ? std::isnan(found) : found == expected) << found; };
      expect(run(PackTeam<0>{})), expect(run(PackTeam<32>{})), expect(run(PackTeam<64>{})),
          expect(run(WarpTeam(team::Order::kForward)));
    }
  }
}

}  // namespace
}  // namespace axion::testing::work_forms_test
