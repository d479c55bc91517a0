// Contacts of free bodies by colours, and sweeps over them beside sweeps over one contact after another.
#include "engine/contact_solver/coloured_sweeps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/contact_solver/listed_sweeps.hpp"
#include "engine/newton/newton.hpp"
#include "tests/engine/contact_solver/sweep_arguments.hpp"
#include "tests/engine/problem/newton_system.hpp"
#include "tests/support/validation.hpp"

namespace axion::coloured_sweeps_test {
namespace {

constexpr int kLanes = solver::SweepSizes::kGroupContacts;

// A big plate with many balls on it: more contacts on one body than there are colours.
model::SceneSpec loaded_plate() {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("plate", 20, {1, 1, 0.05}, {0, 0, 0.049})};
  scene.shapes = {testing::ground_plane(0.5), testing::box_shape("plate", 0, {1, 1, 0.05}, 0.5)};
  for (int i = 0; i < 81; ++i) {
    const std::string name = "ball" + std::to_string(i);
    scene.bodies.push_back(
        testing::solid_box(name, 1, {0.1, 0.1, 0.1}, {0.21 * (i % 9 - 4), 0.21 * (i / 9 - 4), 0.197}));
    scene.shapes.push_back(testing::sphere_shape(name, i + 1, 0.1, 0.5));
  }
  return scene;
}

// A scene up to where sweeps begin.
template <typename Real>
struct Readied {
  using Team = team::SerialTeam;
  testing::NewtonSystem<Real> system;

  explicit Readied(const model::SceneSpec& scene, unsigned seed = 1)
      : system(scene, model::make_options(model::Preset::kDefault), seed) {
    system.ready_for_sweeps();
    const auto& p = problem();
    solver::find_joint_response(Team{}, p);
    testing::SweepArguments<Real> of(p);
    solver::note_all_blocks(Team{}, of.laws, of.system, of.bodies);
  }
  const solver::Problem<Real>& problem() const { return system.problem(); }
  std::vector<Real> impulses() const {
    const auto& p = problem();
    return {p.w.lambda + p.contact_base(), p.w.lambda + p.row_count()};
  }
};

// Contacts by colours, as `contacts` has them.
template <typename Real>
std::vector<std::vector<int>> contacts_of(const solver::ColouredSweeps<Real>& sweeps,
                                          const solver::ColouredContacts& contacts) {
  std::vector<std::vector<int>> colours;
  const int* start = solver::colour_start(sweeps.colours, contacts);
  for (int k = 0; k < contacts.colours; ++k) {
    colours.emplace_back();
    for (int place = kLanes * start[k]; place < kLanes * start[k + 1]; ++place) {
      if (sweeps.packed.contact[place] >= 0) colours.back().push_back(sweeps.packed.contact[place]);
    }
  }
  return colours;
}

template <typename Real>
void expect_colours_part_bodies(const solver::Problem<Real>& p, const std::vector<std::vector<int>>& colours) {
  for (const std::vector<int>& colour : colours) {
    std::set<int> moved;
    for (const int i : colour) {
      EXPECT_TRUE(moved.insert(p.w.contacts[i].body_a).second);
      if (p.w.contacts[i].body_b >= 0) {
        EXPECT_TRUE(moved.insert(p.w.contacts[i].body_b).second);
      }
    }
  }
}

template <typename Real>
class ColouredSweeps : public ::testing::Test {};
TYPED_TEST_SUITE(ColouredSweeps, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(ColouredSweeps, every_contact_has_one_place_and_no_colour_moves_a_body_twice) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    const Readied<TypeParam> ready(testing::heap(36, 0.5), seed);
    const auto& p = ready.problem();
    ASSERT_GT(p.contact_count, 2 * kLanes);
    testing::SweepArguments<TypeParam> of(p);
    auto sweeps = solver::coloured_sweeps(p);
    const solver::ColouredContacts all =
        solver::place_contacts(team::SerialTeam{}, of.laws, sweeps.packed, sweeps.colours);
    ASSERT_GT(all.colours, 3);
    const auto colours = contacts_of(sweeps, all);
    expect_colours_part_bodies(p, colours);
    std::set<int> seen;
    for (const auto& colour : colours) seen.insert(colour.begin(), colour.end());
    EXPECT_EQ(int(seen.size()), p.contact_count);
    EXPECT_EQ(std::count_if(p.w.sweeps.coloured_contact.begin(), p.w.sweeps.coloured_contact + kLanes * all.groups,
                            [](int i) { return i >= 0; }),
              p.contact_count)
        << "one place each";

    const auto keep = [&](int place) {
      return p.w.sweeps.coloured_contact[place] >= 0 && p.w.sweeps.coloured_contact[place] % 5 == 0;
    };
    const int wanted = (p.contact_count + 4) / 5;
    const solver::ColouredContacts listed =
        solver::place_listed(team::SerialTeam{}, sweeps.packed, sweeps.colours, all, wanted, keep);
    ASSERT_GE(listed.colours, 0);
    const auto some = contacts_of(sweeps, listed);
    expect_colours_part_bodies(p, some);
    std::set<int> kept;
    for (const auto& colour : some) kept.insert(colour.begin(), colour.end());
    EXPECT_EQ(int(kept.size()), wanted);
    for (const int i : kept) EXPECT_EQ(i % 5, 0);
    EXPECT_EQ(contacts_of(sweeps, all), colours) << "lists have places of their own";
  }
}

TYPED_TEST(ColouredSweeps, a_sweep_is_that_of_one_contact_after_another_in_the_order_of_places) {
  using Real = TypeParam;
  const team::SerialTeam team;
  const double tolerance = 2000 * testing::epsilon<Real>();
  for (unsigned seed = 1; seed <= 2; ++seed) {
    Readied<Real> lanes(testing::heap(36, 0.5), seed), alone(testing::heap(36, 0.5), seed);
    const auto &p = lanes.problem(), &q = alone.problem();
    testing::SweepArguments<Real> of(p), alone_of(q);
    auto sweeps = solver::coloured_sweeps(p);
    auto blocks = solver::block_sweeps(q);
    sweeps.start(team, of.laws, of.system, of.impulses);
    ASSERT_GT(sweeps.all.colours, 0);
    bool moving = true;
    for (int k = 0; k < 4; ++k) {
      sweeps.renew(team, of.laws, of.system, of.impulses);
      blocks.renew(team, alone_of.laws, alone_of.system, alone_of.impulses);
      for (int b = 0; b < p.m.body_count; ++b) {
        for (int i = 0; i < 6; ++i) {
          EXPECT_NEAR(p.w.sweeps.body_velocity[solver::SweepSizes::kBodyNumbers * b + i],
                      q.w.sweeps.body_velocity[6 * b + i], 30 * tolerance)
              << b << ", " << i;
        }
      }
      moving = sweeps.sweep_all(team, of.laws, of.system, of.impulses, Real(0.5));
      bool other = false;
      solver::Sweep<Real, solver::BodySpace<Real>> one_by_one{alone_of.laws,     alone_of.system, alone_of.bodies,
                                                              alone_of.impulses, Real(0.5),       false};
      for (const auto& colour : contacts_of(sweeps, sweeps.all)) {
        for (const int i : colour) other |= solver::visit_row(team, one_by_one, q.contact_base() + 3 * i);
      }
      EXPECT_EQ(moving, other);
      const std::vector<Real> a = lanes.impulses(), b = alone.impulses();
      double greatest = 0;
      for (const Real x : b) greatest = std::max(greatest, std::abs(double(x)));
      ASSERT_GT(greatest, 0);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], tolerance * greatest) << "row " << i << ", sweep " << k;
    }
  }
}

// What a list leaves out is held; what is in it has the velocities of all that was done before.
TYPED_TEST(ColouredSweeps, lists_hold_what_has_settled) {
  using Real = TypeParam;
  const team::SerialTeam team;
  constexpr int kEnough = 2;
  int packed = 0;
  for (unsigned seed = 1; seed <= 6 && packed < kEnough; ++seed) {
    Readied<Real> ready(testing::heap(90, 0.5), seed);
    const auto& p = ready.problem();
    testing::SweepArguments<Real> of(p);
    auto sweeps = solver::coloured_sweeps(p);
    sweeps.start(team, of.laws, of.system, of.impulses);
    for (int k = 0; k < 120 && packed < kEnough; ++k) {
      sweeps.renew(team, of.laws, of.system, of.impulses);
      if (!sweeps.sweep_all(team, of.laws, of.system, of.impulses, Real(0.5))) break;
      const std::vector<Real> before = ready.impulses();
      const solver::SweptColours list = sweeps.list(team, of.laws, of.system, of.impulses, true);
      sweeps.begin(team, of.laws, of.impulses, list);
      for (int sweep = 0; sweep < 2; ++sweep) sweeps.sweep(team, of.laws, of.system, of.impulses, list, Real(0.5));
      sweeps.keep_impulses(team, of.laws, of.system, of.impulses, list);
      if (list.first == 0) continue;
      ++packed;
      EXPECT_LE(4 * list.blocks, p.contact_count);
      const std::vector<Real> after = ready.impulses();
      std::set<int> listed;
      for (const auto& colour : contacts_of(sweeps, list.contacts)) listed.insert(colour.begin(), colour.end());
      for (int i = 0; i < p.contact_count; ++i) {
        if (listed.count(i) != 0) continue;
        for (int r = 3 * i; r < 3 * i + 3; ++r) EXPECT_EQ(before[r], after[r]) << "contact " << i;
      }
    }
  }
  EXPECT_GE(packed, kEnough) << "no list was short: the test shows nothing";
}

TYPED_TEST(ColouredSweeps, settle_a_heap) {
  using Real = TypeParam;
  const team::SerialTeam team;
  Readied<Real> ready(testing::heap(36, 0.5));
  auto& p = ready.system.problem();
  EXPECT_GT(solver::evaluate(team, p), Real(1));
  const solver::SweepPlan<Real> plan = solver::plan_pile_sweeps<Real>(0);
  ASSERT_EQ(solver::sweep_contacts(team, p, plan).share, Real(1));
  EXPECT_LE(solver::evaluate(team, p), Real(1));
}

// One body with more contacts than there are colours: its world is swept a contact at a time.
TYPED_TEST(ColouredSweeps, a_loaded_plate_is_swept_without_colours) {
  using Real = TypeParam;
  const team::SerialTeam team;
  Readied<Real> ready(loaded_plate());
  auto& p = ready.system.problem();
  ASSERT_GT(p.w.contact_start[1] - p.w.contact_start[0], solver::SweepSizes::kMaxColours);
  auto sweeps = solver::coloured_sweeps(p);
  EXPECT_LT(solver::place_contacts(team, solver::swept_laws(p), sweeps.packed, sweeps.colours).colours, 0);
  const solver::SweepPlan<Real> plan = solver::plan_pile_sweeps<Real>(0);
  EXPECT_GT(solver::evaluate(team, p), Real(1));
  ASSERT_EQ(solver::sweep_contacts(team, p, plan).share, Real(1));
  EXPECT_LE(solver::evaluate(team, p), Real(1));
}

}  // namespace
}  // namespace axion::coloured_sweeps_test
