// What an attempt decides after each of its iterations: every transition of the README's table, and every remedy.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "engine/newton/globalisation.hpp"
#include "tests/support/validation.hpp"

namespace axion::globalisation_test {
namespace {

using solver::AttemptEvent;
using solver::AttemptState;
using solver::SystemTraits;
using solver::Verdict;
using enum AttemptState;

constexpr SystemTraits kRobot{.may_sweep = true}, kStack{.may_sweep = true, .has_no_joints = true},
    kPile{.may_sweep = true, .is_pile = true, .has_no_joints = true}, kSmooth{};

template <typename Real>
class GlobalisationOf : public ::testing::Test {
 public:
  static solver::Globalisation<Real> started(SystemTraits traits, double ratio, bool loaded = false) {
    solver::Globalisation<Real> g{traits};
    g.is_loaded = loaded;
    g.start(Real(ratio), false);
    return g;
  }
  // Newton steps to each of these ratios, the last verdict.
  static Verdict step(solver::Globalisation<Real>& g, const std::vector<double>& ratios) {
    Verdict verdict = Verdict::kGoOn;
    for (std::size_t k = 0; k < ratios.size(); ++k) {
      g.plan_newton(static_cast<int>(k));
      verdict = g.judge(Real(ratios[k]), true);
      if (verdict == Verdict::kTakeBest) g.ratio = g.best;
    }
    return verdict;
  }
  // Rounds of sweeps to each of these ratios, the last verdict.
  static Verdict sweep(solver::Globalisation<Real>& g, const std::vector<double>& ratios, bool whole = true) {
    Verdict verdict = Verdict::kGoOn;
    for (const double ratio : ratios) {
      g.note_sweeps(g.plan_sweeps(), Real(0.1));
      verdict = g.judge(Real(ratio), whole);
    }
    return verdict;
  }
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
};
TYPED_TEST_SUITE(GlobalisationOf, testing::Precisions, testing::PrecisionNames);

TEST(Globalisation, follows_the_table_of_the_README) {
  const std::map<std::string, AttemptState> states{{"sweeping", kSweeping},     {"newton", kNewton},
                                                   {"recovering", kRecovering}, {"retrying", kRetrying},
                                                   {"damping", kDamping},       {"alternating", kAlternating}};
  const AttemptEvent events[] = {AttemptEvent::kProgress, AttemptEvent::kRoundsOver, AttemptEvent::kFailure};
  std::ifstream file(AXION_NEWTON_README);
  std::size_t rows = 0, cells = 0;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> row;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');) {
      const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      row.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    if (row.size() != 6 || states.count(row[1]) == 0) continue;
    ++rows;
    for (int k = 0; k < 3; ++k) {
      if (row[3 + k] == "-") continue;
      ++cells;
      EXPECT_EQ(solver::next_state(states.at(row[1]), events[k]), states.at(row[3 + k])) << line;
    }
  }
  EXPECT_EQ(rows, states.size());
  EXPECT_EQ(cells, 11u);
}

TYPED_TEST(GlobalisationOf, starts_with_sweeps_where_much_is_left_to_do) {
  EXPECT_EQ(this->started(kRobot, 99).state, kNewton);
  EXPECT_EQ(this->started(kRobot, 101).state, kSweeping);
  EXPECT_EQ(this->started(kPile, 2).state, kSweeping);
  EXPECT_EQ(this->started(kPile, 0.5).state, kNewton);
  EXPECT_EQ(this->started(kStack, 1000).state, kSweeping);
  EXPECT_EQ(this->started(kStack, 1000, true).state, kNewton) << "Newton comes first where rigid contacts carry loads";
  EXPECT_EQ(this->started(kSmooth, 1000).state, kAlternating);
  solver::Globalisation<TypeParam> resumed{kRobot};
  resumed.start(TypeParam(2), true);
  EXPECT_EQ(resumed.state, kSweeping) << "new contacts have an active set to be found";
}

TYPED_TEST(GlobalisationOf, sweeps_until_rounds_are_over) {
  auto g = this->started(kRobot, 1000);
  for (int round = 1; round <= 10; ++round) {
    EXPECT_EQ(this->sweep(g, {1000.0 + round}), Verdict::kGoOn);
    EXPECT_EQ(g.state, kSweeping) << round;
  }
  this->sweep(g, {400});
  EXPECT_EQ(g.state, kSweeping) << "a round that halves the ratio is followed by another";
  this->sweep(g, {390}, false);
  EXPECT_EQ(g.state, kSweeping) << "so is one that was cut short by the bound on turns";
  this->sweep(g, {385});
  EXPECT_EQ(g.state, kNewton);
  auto pile = this->started(kPile, 1000);
  this->sweep(pile, std::vector<double>(8, 990.0));
  EXPECT_EQ(pile.state, kSweeping);
  this->sweep(pile, {990});
  EXPECT_EQ(pile.state, kNewton);
}

TYPED_TEST(GlobalisationOf, an_idle_round_without_joints_is_the_last) {
  auto stack = this->started(kStack, 1000);
  this->sweep(stack, {500});
  EXPECT_EQ(stack.state, kSweeping);
  this->sweep(stack, {480});
  EXPECT_EQ(stack.state, kNewton);
  auto robot = this->started(kRobot, 1000);
  this->sweep(robot, {500, 480});
  EXPECT_EQ(robot.state, kSweeping) << "with joints, which are linearised anew, it goes on";
}

TYPED_TEST(GlobalisationOf, looks_closer_after_a_slow_round) {
  using P = solver::SweepParameters;
  auto g = this->started(kRobot, 1000);
  EXPECT_EQ(g.plan_sweeps().tolerance, TypeParam(P::kFirstTolerance));
  this->sweep(g, {500});
  EXPECT_EQ(g.plan_sweeps().tolerance, TypeParam(P::kFinalTolerance));
  this->sweep(g, {200});
  EXPECT_EQ(g.plan_sweeps().tolerance, TypeParam(P::kFineTolerance));
  this->sweep(g, {19});
  EXPECT_EQ(g.plan_sweeps().tolerance, TypeParam(P::kFinalTolerance));
}

TYPED_TEST(GlobalisationOf, a_round_keeps_factors_while_bodies_have_hardly_turned) {
  auto g = this->started(kRobot, 1000);
  EXPECT_FALSE(g.plan_sweeps().reuse_factors);
  this->sweep(g, {500});
  EXPECT_FALSE(g.plan_sweeps().reuse_factors) << "500 times 0.1 rad";
  this->sweep(g, {4});
  EXPECT_TRUE(g.plan_sweeps().reuse_factors) << "4 times 0.1 rad";
  this->sweep(g, {3.5, 3.4});
  EXPECT_FALSE(g.plan_sweeps().reuse_factors) << "3.4 times 0.3 rad: turns since the factors add up";
}

TYPED_TEST(GlobalisationOf, failures_lead_through_the_remedies_and_progress_forgets_them) {
  auto g = this->started(kRobot, 50);
  EXPECT_EQ(this->step(g, {80, 90}), Verdict::kGoOn) << "patience";
  EXPECT_EQ(this->step(g, {95}), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kRecovering);
  EXPECT_EQ(g.plan_sweeps().count, solver::SweepRoundParameters::kCautiousSweeps);
  EXPECT_TRUE(g.plan_sweeps().averaged);
  this->sweep(g, std::vector<double>(11, 49.0));
  EXPECT_EQ(g.state, kRetrying);
  EXPECT_EQ(g.plan_newton(0).proximal_scale, TypeParam(1));
  EXPECT_EQ(this->step(g, {80, 90, 95}), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kDamping);
  EXPECT_EQ(g.plan_newton(0).proximal_scale, TypeParam(100));
  EXPECT_EQ(this->step(g, {48.5}), Verdict::kKeep) << "lower, but no progress";
  EXPECT_EQ(this->step(g, {80, 90, 95}), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kDamping);
  EXPECT_EQ(this->step(g, {40}), Verdict::kKeep);
  EXPECT_EQ(g.state, kNewton);
  EXPECT_EQ(this->step(g, {80, 90, 95}), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kRecovering);
  this->sweep(g, {19});
  EXPECT_EQ(g.state, kSweeping) << "recovering with progress is sweeping";
}

// From the best iterate all would be repeated, to the last bit, until the iterations are used up.
TYPED_TEST(GlobalisationOf, the_last_remedy_fails_but_once_from_the_same_iterate) {
  auto g = this->started(kRobot, 50);
  EXPECT_EQ(this->step(g, {80, 90, 95}), Verdict::kTakeBest);
  this->sweep(g, std::vector<double>(11, 50.0));
  EXPECT_EQ(this->step(g, {80, 90, 95}), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kDamping);
  EXPECT_EQ(this->step(g, {80, 90}), Verdict::kGoOn);
  EXPECT_EQ(this->step(g, {95}), Verdict::kEnd);
}

TYPED_TEST(GlobalisationOf, a_ratio_that_falls_again_is_no_failure) {
  auto g = this->started(kRobot, 50);
  EXPECT_EQ(this->step(g, {5000, 2000, 900, 400, 190, 90}), Verdict::kGoOn);
  EXPECT_EQ(g.failures, 1) << "the first, which rose";
  EXPECT_EQ(g.state, kNewton);
}

TYPED_TEST(GlobalisationOf, a_stalled_ratio_eases_the_proximal_term) {
  auto robot = this->started(kRobot, 50), stack = this->started(kStack, 50);
  for (auto* g : {&robot, &stack}) {
    EXPECT_EQ(this->step(*g, {49}), Verdict::kKeep);
    EXPECT_EQ(g->plan_newton(1).proximal_scale, TypeParam(0.1));
    g->judge(TypeParam(20), true);
  }
  EXPECT_EQ(robot.plan_newton(2).proximal_scale, TypeParam(1)) << "with joints for one step";
  EXPECT_EQ(stack.plan_newton(2).proximal_scale, TypeParam(0.1)) << "without, while the ratio falls";
  stack.judge(TypeParam(30), true);
  EXPECT_EQ(stack.plan_newton(3).proximal_scale, TypeParam(1));
}

TYPED_TEST(GlobalisationOf, loads_grow_the_proximal_term_before_sweeps_recover) {
  auto g = this->started(kStack, 50, true);
  TypeParam last = g.plan_newton(0).load_proximal;
  EXPECT_EQ(last, TypeParam(1e-4));
  for (const double growth : {1e-3, 1e-2}) {
    EXPECT_EQ(this->step(g, std::vector<double>(12, 100.0)), Verdict::kGoOn) << "more patience";
    EXPECT_EQ(this->step(g, {100}), Verdict::kTakeBest);
    EXPECT_EQ(g.state, kNewton);
    EXPECT_NEAR(g.plan_newton(0).load_proximal, growth, 1e-6 * growth);
  }
  EXPECT_EQ(this->step(g, std::vector<double>(13, 100.0)), Verdict::kTakeBest);
  EXPECT_EQ(g.state, kRecovering);
  EXPECT_EQ(this->started(kStack, 50).plan_newton(0).load_proximal, TypeParam(0));
}

TYPED_TEST(GlobalisationOf, what_is_not_finite_is_taken_back_once) {
  for (const double first : {50.0, 1000.0}) {
    auto g = this->started(kRobot, first);
    const AttemptState state = g.state;
    const auto fail = [&] {
      return solver::is_sweeping(g.state) ? this->sweep(g, {this->kNan}) : this->step(g, {this->kNan});
    };
    EXPECT_EQ(fail(), Verdict::kTakeFinite);
    EXPECT_FALSE(g.exact_turning);
    EXPECT_EQ(g.state, state);
    g.ratio = g.best;
    EXPECT_EQ(fail(), Verdict::kEnd);
  }
}

TYPED_TEST(GlobalisationOf, systems_that_cannot_sweep_search_and_damp_by_their_number) {
  auto g = this->started(kSmooth, 1000);
  for (int k = 0; k < 40; ++k) {
    const auto plan = g.plan_newton(k);
    EXPECT_EQ(plan.may_search, k % 16 >= 6) << k;
    EXPECT_EQ(plan.proximal_scale, TypeParam(k >= 10 && k % 2 == 1 ? 100 : 1)) << k;
    EXPECT_EQ(g.judge(TypeParam(2000), true), Verdict::kGoOn);
    EXPECT_EQ(g.state, kAlternating);
  }
  EXPECT_FALSE(this->started(kRobot, 50).plan_newton(7).may_search);
}

TYPED_TEST(GlobalisationOf, ends_where_it_has_converged) {
  auto g = this->started(kRobot, 50);
  EXPECT_EQ(this->step(g, {0.99}), Verdict::kEnd);
}

}  // namespace
}  // namespace axion::globalisation_test
