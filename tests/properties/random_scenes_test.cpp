// Laws that hold in every scene, checked on scenes drawn at random; a failure prints its seed.
//
// AXION_RANDOM_SCENES sets how many scenes each law is tried on (1,000 by default), AXION_RANDOM_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "engine/model/find_contact.hpp"
#include "engine/model/spec_math.hpp"
#include "tests/properties/random_scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

using testing::Forces;
using testing::RandomScene;
using World = testing::SingleWorld<double>;
using Vec = math::Vec3<double>;

constexpr int kSteps = 12;

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

void for_each_seed(const std::function<void(std::uint32_t)>& check) {
  const int count = from_environment("AXION_RANDOM_SCENES", 1000), first = from_environment("AXION_RANDOM_SEED", 1);
  for (int seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("AXION_RANDOM_SEED=" + std::to_string(seed) + " AXION_RANDOM_SCENES=1");
    check(static_cast<std::uint32_t>(seed));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Tight enough that what is left of the residual does not hide a broken law.
model::SolverOptions strict_options(double tolerance = 1e-6) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = tolerance;
  options.half_step_start = false;
  return options;
}

void start(const RandomScene& scene, World& world) {
  for (int b = 0; b < world.model().body_count; ++b) {
    const int external = world.compiled().external_body[b];
    world.world().v[b] = model::to_vec3(scene.v[external]);
    world.world().omega[b] = model::to_vec3(scene.omega[external]);
  }
  for (std::size_t i = 0; i < scene.control.size(); ++i) world.world().control[i] = scene.control[i];
}

struct Momentum {
  Vec linear{}, angular{};  // about the origin
};

Momentum momentum(World& world) {
  Momentum sum;
  for (int b = 0; b < world.model().body_count; ++b) {
    const auto& body = world.model().bodies[b];
    const auto& w = world.world();
    const Vec p = body.mass * w.v[b];
    const Vec L = math::rotate(w.q[b], math::scale(body.inertia, math::rotate_inverse(w.q[b], w.omega[b])));
    sum.linear += p;
    sum.angular += L + math::cross(w.x[b], p);
  }
  return sum;
}

// Velocity of body a's material against body b's at a contact, after the step and before the rotation map's last turn.
Vec contact_velocity(World& world, const model::Contact<double>& c) {
  const auto& w = world.world();
  Vec v = w.v_plus[c.body_a] + math::cross(w.omega_plus[c.body_a], c.r_a);
  if (c.body_b >= 0) v -= w.v_plus[c.body_b] + math::cross(w.omega_plus[c.body_b], c.r_b);
  return v;
}

Vec contact_impulse(World& world, int i, int first = 0) {
  const model::Contact<double>& c = world.world().contacts[i];
  const Vec axes[3] = {c.normal, c.t1, c.t2};
  Vec sum{};
  for (int k = first; k < 3; ++k) sum += world.world().lambda_contact[3 * i + k] * axes[k];
  return sum;
}

// Steps seen by a law, and those of them that converged: a law that is hardly ever tried proves nothing.
struct Tally {
  int steps = 0, converged = 0, contacts = 0;
  ~Tally() {
    std::printf("%d steps, %.3f %% converged, %d contacts\n", steps, 100.0 * converged / std::max(steps, 1), contacts);
  }
  bool count(const World& world) {
    ++steps, converged += world.converged(), contacts += world.record().contact_count;
    return world.converged();
  }
};

TEST(RandomScenes, contacts_push_and_rub_within_the_cone_and_add_no_energy) {
  Tally tally;
  for_each_seed([&](std::uint32_t seed) {
    const RandomScene scene = testing::draw_scene(seed, Forces::kAll);
    World world(scene.scene, strict_options(), scene.dt);
    start(scene, world);
    for (int step = 0; step < kSteps; ++step) {
      world.step();
      if (!tally.count(world)) continue;
      for (int i = 0; i < world.record().contact_count; ++i) {
        const model::Contact<double>& c = world.world().contacts[i];
        const double normal = world.world().lambda_contact[3 * i], scale = 1 + std::abs(normal);
        const Vec friction = contact_impulse(world, i, 1);
        ASSERT_GE(normal, -1e-6 * scale) << "step " << step << " contact " << i;
        ASSERT_LE(math::norm(friction), c.friction * normal + 1e-6 * scale) << "step " << step << " contact " << i;
        ASSERT_LE(math::dot(friction, contact_velocity(world, c)), 1e-6 * scale) << "step " << step << " contact " << i;
        const double parting = (world.world().contact_gap[i]) / scene.dt;  // m/s: λ_n only where the gap closes
        if (c.gap >= 0) {
          ASSERT_LE(normal * std::max(parting, 0.0), 1e-4 * scale) << "step " << step << " contact " << i;
        }
      }
    }
  });
  EXPECT_GT(tally.converged, 0.99 * tally.steps);
}

TEST(RandomScenes, change_their_momentum_by_outer_impulses_only) {
  Tally tally;
  for_each_seed([&](std::uint32_t seed) {
    const RandomScene scene = testing::draw_scene(seed, Forces::kInternal);
    model::SolverOptions options = strict_options();
    options.joint_mode = model::JointMode::kPrevious;  // impulses along J(q⁻): they balance about one point
    World world(scene.scene, options, scene.dt);
    start(scene, world);
    for (int step = 0; step < kSteps; ++step) {
      const Momentum before = momentum(world);
      world.step();
      const Momentum after = momentum(world);
      if (!tally.count(world) || (world.record().outcome & step::kFallbackBit) != 0) continue;
      ASSERT_LE(math::norm(after.linear - before.linear), 1e-6) << "step " << step;
      ASSERT_LE(math::norm(after.angular - before.angular), 1e-6) << "step " << step;
    }
  });
  // Nothing slows them: some turn so far in a step that they end deeper in each other than a converged step may.
  EXPECT_GT(tally.converged, 0.98 * tally.steps);
}

// Σ h m g and the impulses of contacts with the world, where nothing is joined to it.
TEST(RandomScenes, fall_and_are_held_by_gravity_and_the_ground_alone) {
  Tally tally;
  for_each_seed([&](std::uint32_t seed) {
    RandomScene scene = testing::draw_scene(seed, Forces::kAll);
    std::erase_if(scene.scene.actuators, [](const auto&) { return true; });
    scene.control.clear();
    std::erase_if(scene.scene.joints, [](const model::JointSpec& j) { return j.parent == model::kWorldBody; });
    World world(scene.scene, strict_options(), scene.dt);
    start(scene, world);
    double mass = 0;
    for (const model::BodySpec& body : scene.scene.bodies) mass += body.mass;
    for (int step = 0; step < kSteps; ++step) {
      const Momentum before = momentum(world);
      world.step();
      if (!tally.count(world)) continue;
      Vec outer = scene.dt * mass * model::to_vec3(scene.scene.gravity);
      for (int i = 0; i < world.record().contact_count; ++i) {
        if (world.world().contacts[i].body_b < 0) outer += contact_impulse(world, i);
      }
      ASSERT_LE(math::norm(momentum(world).linear - before.linear - outer), 1e-6 * (1 + math::norm(outer)))
          << "step " << step;
    }
  });
  EXPECT_GT(tally.converged, 0.99 * tally.steps);
}

// Two versions of a scene; `point` and `vector` take the first's to the second's, and `place` its bodies' numbers.
struct Versions {
  const RandomScene &first, &second;
  const std::vector<int>& place;
  std::function<Vec(const Vec&)> point, vector;
};

bool are_alike(const Versions& versions, const World& first, const World& second) {
  for (int i = 0; i < first.model().body_count; ++i) {
    const int j = second.compiled().internal_body[versions.place[first.compiled().external_body[i]]];
    const auto &w = first.world(), &u = second.world();
    const double x = math::norm(u.x[j] - versions.point(w.x[i])), v = math::norm(u.v[j] - versions.vector(w.v[i]));
    const double omega = math::norm(u.omega[j] - versions.vector(w.omega[i]));
    if (!(x <= 1e-8 && v <= 1e-6 && omega <= 1e-5)) return false;
  }
  return true;
}

// Gives every contact of the step to come another guess of its impulse, up to `greatest` along the normal. The step's
// equations have no part in guesses, but for the speed at which bodies met, which stays.
void guess_impulses(World& world, const World& stepped, double greatest, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  auto& w = world.world();
  std::vector<model::ContactWarmStart<double>> guesses;
  for (int i = 0; i < stepped.record().contact_count; ++i) {
    const model::Contact<double>& c = stepped.world().contacts[i];
    const int last = model::find_contact(w.warm, w.warm_count[0], c.pair, c.feature);
    const double normal = greatest * unit(random);
    Vec friction{};
    for (int k = 0; k < 3; ++k) friction[k] = (2 * unit(random) - 1) * normal;
    guesses.push_back({c.pair, c.feature, normal, last < 0 ? 0 : w.warm[last].approach, friction});
  }
  std::copy(guesses.begin(), guesses.end(), w.warm.begin());
  w.warm_count[0] = static_cast<int>(guesses.size());
}

// Whether the first version's equations of a step have the second's solution, too: the first must come to it from other
// guesses. `first` and `second` have made the step.
bool solves_the_first_too(const Versions& versions, const model::SolverOptions& options, const World& first,
                          const World& second, int step) {
  std::mt19937 random(1);
  double greatest = 0;
  for (int i = 0; i < second.record().contact_count; ++i) {
    greatest = std::max(greatest, 3 * second.world().lambda_contact[3 * i]);
  }
  for (int trial = 0; trial < 1000; ++trial) {
    World other(versions.first.scene, options, versions.first.dt);
    start(versions.first, other);
    other.step(step);
    guess_impulses(other, first, greatest, random);
    other.step();
    if (other.converged() && are_alike(versions, other, second)) return true;
  }
  return false;
}

// Steps two versions of a scene side by side. Ends at the first step in which one of them has not converged or has
// fallen back to another joint mode, as what follows depends on that. Coulomb's law and limits can have several
// solutions, between which the order of contacts decides or the rounding of another frame: where the versions part,
// both must have both.
void expect_alike(const Versions& versions, Tally& tally) {
  const model::SolverOptions options = strict_options(1e-9);
  World first(versions.first.scene, options, versions.first.dt),
      second(versions.second.scene, options, versions.second.dt);
  start(versions.first, first), start(versions.second, second);
  for (int step = 0; step < kSteps; ++step) {
    first.step(), second.step();
    if (!tally.count(first) || !tally.count(second)) return;
    if (((first.record().outcome | second.record().outcome) & step::kFallbackBit) != 0) return;
    if (are_alike(versions, first, second)) continue;
    EXPECT_TRUE(solves_the_first_too(versions, options, first, second, step)) << "they part in step " << step;
    return;
  }
}

TEST(RandomScenes, turn_and_move_as_one) {
  Tally tally;
  const math::Quat<double> q = math::normalized(math::Quat<double>{0.7, -0.4, 0.3, 0.5});
  const Vec p{3, -2, 5};
  for_each_seed([&](std::uint32_t seed) {
    const RandomScene scene = testing::draw_scene(seed, Forces::kAll);
    std::vector<int> same(scene.scene.bodies.size());
    for (std::size_t b = 0; b < same.size(); ++b) same[b] = static_cast<int>(b);
    const RandomScene other = testing::place_elsewhere(scene, model::to_spec(q), model::to_spec(p));
    expect_alike({scene, other, same, [&](const Vec& x) { return math::rotate(q, x) + p; },
                  [&](const Vec& v) { return math::rotate(q, v); }},
                 tally);
  });
  EXPECT_GT(tally.converged, 0.99 * tally.steps);
}

TEST(RandomScenes, do_not_depend_on_how_they_are_numbered) {
  Tally tally;
  const auto identity = [](const Vec& x) { return x; };
  for_each_seed([&](std::uint32_t seed) {
    const RandomScene scene = testing::draw_scene(seed, Forces::kAll);
    std::vector<int> place;
    const RandomScene other = testing::renumber(scene, seed, place);
    expect_alike({scene, other, place, identity, identity}, tally);
  });
  EXPECT_GT(tally.converged, 0.99 * tally.steps);
}

}  // namespace
}  // namespace axion
