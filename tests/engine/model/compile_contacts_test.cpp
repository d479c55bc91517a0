// Which shapes may touch and how, against the rules written out; and that a model grows with its shapes, not with their
// pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "engine/model/compile.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/world/world_layout.hpp"
#include "tests/support/scenes.hpp"

namespace axion::model::compile_contacts_test {
namespace {

CompiledModel compiled(const SceneSpec& scene) {
  Result<CompiledModel> model = compile(scene);
  EXPECT_TRUE(model.ok()) << model.error().field << ": " << model.error().message;
  return std::move(model).value();
}

std::size_t bytes_of(const ModelArrays<double>& a) {
  const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return bytes(a.bodies) + bytes(a.child_joints) + bytes(a.body_loops) + bytes(a.shapes) + bytes(a.pairs) +
         bytes(a.shape_contacts) + bytes(a.neighbours) + bytes(a.excludes) + bytes(a.neighbour_start) +
         bytes(a.exclude_start);
}

// Free bodies of some spheres each, far apart.
SceneSpec free_bodies(int count, int spheres) {
  SceneSpec scene;
  for (int b = 0; b < count; ++b) {
    scene.bodies.push_back(
        testing::solid_box("b" + std::to_string(b), 1, {0.1, 0.1, 0.1}, {3.0 * (b % 64), 3.0 * (b / 64), 1}));
    for (int i = 0; i < spheres; ++i) {
      scene.shapes.push_back(testing::sphere_shape("s" + std::to_string(b) + "_" + std::to_string(i), b, 0.1, 0.5));
    }
  }
  return scene;
}

TEST(CompileContacts, a_model_and_its_world_grow_with_the_shapes_and_not_with_their_pairs) {
  std::size_t last_model = 0, last_world = 0;
  for (const int count : {512, 1024, 2048, 4096}) {
    const CompiledModel model = compiled(free_bodies(count, 4));
    const world::WorldBytes world = world::world_bytes(model.arrays.view());
    const std::size_t bytes = bytes_of(model.arrays), both = world.world + world.scratch;
    EXPECT_LT(bytes, 4096u * count);  // half a kilobyte a shape is enough, whatever vectors keep in reserve
    if (last_model > 0) {
      EXPECT_LT(bytes, last_model * 5 / 2) << count << " bodies";
      EXPECT_LT(both, last_world * 5 / 2) << count << " bodies";
    }
    last_model = bytes, last_world = both;
  }
}

// The rules of SceneSpec, shape by shape.
struct Oracle {
  const SceneSpec& scene;
  const CompiledModel& model;

  int moves_with(int body) const { return body == kWorldBody ? body : model.welded.body_map[body]; }
  bool may_touch(const ShapeSpec& a, const ShapeSpec& b) const {
    const int mover_a = moves_with(a.body), mover_b = moves_with(b.body);
    if (mover_a == mover_b) return false;
    if ((a.contact_type & b.contact_affinity) == 0 && (b.contact_type & a.contact_affinity) == 0) return false;
    for (const ContactExcludeSpec& e : scene.excludes) {
      if ((e.body_a == a.body && e.body_b == b.body) || (e.body_b == a.body && e.body_a == b.body)) return false;
    }
    if (!scene.filter_parent_child || mover_a == kWorldBody || mover_b == kWorldBody) return true;
    return std::none_of(scene.joints.begin(), scene.joints.end(), [&](const JointSpec& joint) {
      const int parent = moves_with(joint.parent), child = moves_with(joint.child);
      return (parent == mover_a && child == mover_b) || (parent == mover_b && child == mover_a);
    });
  }
  double friction(const ShapeSpec& a, const ShapeSpec& b) const {
    const auto own = [](const ShapeSpec& s) { return s.contact_dimension < 3 ? 0 : s.friction; };
    if (a.contact_priority != b.contact_priority) return own(a.contact_priority > b.contact_priority ? a : b);
    return std::max(a.contact_dimension, b.contact_dimension) < 3 ? 0 : std::max(a.friction, b.friction);
  }
};

// Chains of three bodies, some welded, some fixed to the world, with shapes of every property, and exclusions among
// all.
SceneSpec random_scene(int bodies, std::mt19937& random) {
  const auto draw = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  SceneSpec scene;
  scene.filter_parent_child = draw(4) != 0;
  for (int b = 0; b < bodies; ++b) {
    scene.bodies.push_back(testing::solid_box("b" + std::to_string(b), 1, {0.1, 0.1, 0.1}, {1.0 * b, 0, 0}));
    JointSpec joint;
    joint.name = "j" + std::to_string(b), joint.child = b;
    joint.parent = b % 3 == 0 ? kWorldBody : b - 1;
    joint.kind = draw(3) == 0 ? JointKind::kFixed : (b % 3 == 0 ? JointKind::kFree : JointKind::kBall);
    scene.joints.push_back(joint);
  }
  for (int i = 0; i < 2 * bodies; ++i) {
    ShapeSpec shape = testing::sphere_shape("s" + std::to_string(i), draw(bodies + 1) - 1, 0.1, 0.1 * (1 + draw(9)));
    if (draw(2) == 0) shape.kind = ShapeKind::kBox, shape.size = {0.1, 0.1, 0.1};
    shape.contact_dimension = draw(4) == 0 ? 1 : 3;
    shape.contact_priority = draw(3) - 1;
    shape.contact_type = draw(4), shape.contact_affinity = draw(4);
    shape.restitution = 0.1 * draw(3);
    shape.contact_stiffness = 1000.0 * draw(3);
    scene.shapes.push_back(shape);
  }
  for (int i = 0; i < bodies; ++i) {
    const int a = draw(bodies + 1) - 1, b = draw(bodies + 1) - 1;
    if (a != b) scene.excludes.push_back({a, b});
  }
  return scene;
}

TEST(CompileContacts, pairs_are_those_of_the_rules_with_a_list_and_without) {
  std::mt19937 random(3);
  int touching = 0;
  for (int round = 0; round < 30; ++round) {
    const SceneSpec scene = random_scene(round < 25 ? 12 : 90, random);
    const CompiledModel model = compiled(scene);
    const Oracle oracle{scene, model};
    ModelView<double> m = model.arrays.view();
    EXPECT_EQ(lists_pairs(m), round < 25);
    std::size_t next = 0;
    long long contacts = 0;
    ModelView<double> worked_out = m;
    worked_out.pair_count = -1;
    for (int a = 0; a < m.shape_count; ++a) {
      for (int b = a + 1; b < m.shape_count; ++b) {
        const ShapeSpec &A = scene.shapes[a], &B = scene.shapes[b];
        const int pair = pair_number(worked_out, a, b);
        ASSERT_EQ(pair >= 0, oracle.may_touch(A, B)) << "round " << round << " shapes " << a << " " << b;
        if (pair < 0) continue;
        ++touching;
        const PairData<double> data = pair_data(worked_out, pair);
        EXPECT_EQ(std::min(data.shape_a, data.shape_b), a);
        EXPECT_EQ(std::max(data.shape_a, data.shape_b), b);
        EXPECT_GE(m.shapes[data.shape_a].body, 0) << "the first of a contact is never the world";
        EXPECT_EQ(data.friction, oracle.friction(A, B));
        EXPECT_EQ(data.restitution, std::max(A.restitution, B.restitution));
        contacts += data.contact_max;
        if (!lists_pairs(m)) continue;
        ASSERT_LT(next, model.arrays.pairs.size());
        EXPECT_EQ(model.arrays.pairs[next].shape_a, data.shape_a);
        EXPECT_EQ(model.arrays.pairs[next].shape_b, data.shape_b);
        EXPECT_EQ(model.arrays.pairs[next].stiffness, data.stiffness);
        ++next;
      }
    }
    EXPECT_EQ(next, model.arrays.pairs.size());
    EXPECT_LE(m.contact_capacity, contacts);
  }
  EXPECT_GT(touching, 5000);
}

TEST(CompileContacts, an_exclusion_of_a_fixed_base_leaves_the_floor) {
  SceneSpec scene;
  scene.bodies = {testing::solid_box("base", 1, {0.1, 0.1, 0.1}, {0, 0, 0.1}),
                  testing::solid_box("ball", 1, {0.1, 0.1, 0.1}, {1, 0, 1})};
  JointSpec weld;
  weld.name = "weld", weld.kind = JointKind::kFixed, weld.child = 0;
  scene.joints = {weld};
  scene.shapes = {testing::ground_plane(1), testing::box_shape("base", 0, {0.1, 0.1, 0.1}, 1),
                  testing::sphere_shape("ball", 1, 0.1, 1)};
  scene.excludes = {{1, 0}};
  const CompiledModel model = compiled(scene);
  ASSERT_EQ(model.arrays.pairs.size(), 1u);
  EXPECT_EQ(model.arrays.pairs[0].shape_a, 2);
  EXPECT_EQ(model.arrays.pairs[0].shape_b, 0);
}

TEST(CompileContacts, a_body_of_many_shapes_holds_their_contacts) {
  SceneSpec scene = free_bodies(1, 36);
  scene.shapes.push_back(testing::ground_plane(1));
  EXPECT_EQ(compiled(scene).arrays.contact_capacity, 36);
  scene.shapes.push_back(testing::box_shape("wall", kWorldBody, {1, 1, 1}, 1));
  EXPECT_EQ(compiled(scene).arrays.contact_capacity, 72);
  SceneSpec two = free_bodies(2, 36);  // each sphere may lie on four of the other body
  two.shapes.push_back(testing::ground_plane(1));
  EXPECT_GE(compiled(two).arrays.contact_capacity, 36 + 4 * 36);
}

TEST(CompileContacts, a_plate_on_many_pegs_holds_them_all) {
  SceneSpec scene;
  scene.bodies = {testing::solid_box("plate", 1, {1, 1, 0.1}, {0, 0, 1})};
  scene.shapes = {testing::box_shape("plate", 0, {1, 1, 0.1}, 1)};
  for (int i = 0; i < 100; ++i) {
    scene.shapes.push_back(testing::sphere_shape("peg" + std::to_string(i), kWorldBody, 0.02, 1));
    scene.shapes.back().X_BS.position = {0.2 * (i % 10) - 0.9, 0.2 * (i / 10) - 0.9, 0.87};
  }
  EXPECT_EQ(compiled(scene).arrays.contact_capacity, 100);
}

TEST(CompileContacts, bodies_of_one_shape_hold_twelve_contacts_each_as_piles_do) {
  SceneSpec scene;
  for (int b = 0; b < 40; ++b) {
    scene.bodies.push_back(testing::solid_box("b" + std::to_string(b), 1, {0.1, 0.1, 0.1}, {1.0 * b, 0, 1}));
    scene.shapes.push_back(testing::box_shape("s" + std::to_string(b), b, {0.1, 0.1, 0.1}, 1));
  }
  scene.shapes.push_back(testing::ground_plane(1));
  EXPECT_EQ(compiled(scene).arrays.contact_capacity, 12 * 40 + 8);
}

// A model has what its surfaces do where one moves, and else nothing that steps would look at.
TEST(CompileContacts, surfaces_that_move_are_kept_where_there_are_any) {
  SceneSpec scene = free_bodies(3, 1);
  EXPECT_EQ(compiled(scene).arrays.view().surface_motions, nullptr);
  scene.shapes[1].surface_velocity = {1, 2, 3}, scene.shapes[1].surface_angular_velocity = {4, 5, 6};
  const CompiledModel model = compiled(scene);
  ASSERT_EQ(model.arrays.surface_motions.size(), 3u);
  EXPECT_EQ(model.arrays.surface_motions[0], SurfaceMotion<double>{});
  EXPECT_EQ(to_float(model.arrays).surface_motions[1], (SurfaceMotion<float>{{1, 2, 3}, {4, 5, 6}}));
}

// Room for torsional and rolling friction is there for the contacts of the pairs that have any, and they mix as
// MuJoCo's whether pairs are listed or not.
TEST(CompileContacts, torsional_and_rolling_friction_mix_alike_in_lists_and_without) {
  for (const int count : {6, 700}) {
    SceneSpec scene = free_bodies(count, 1);
    EXPECT_EQ(compiled(scene).arrays.moment_capacity, 0);
    EXPECT_TRUE(compiled(scene).arrays.shape_moments.empty());
    scene.shapes[1].torsional_friction = 0.02, scene.shapes[1].rolling_friction = 0.01;
    EXPECT_EQ(compiled(scene).arrays.moment_capacity, 0) << "no shape has a cone of four dimensions";
    scene.shapes[0].cone_dimension = 4, scene.shapes[0].torsional_friction = 0.005;
    scene.shapes[2].cone_dimension = 6, scene.shapes[2].contact_priority = 1;
    scene.shapes[2].rolling_friction = 0.003;
    scene.shapes[3].cone_dimension = 6, scene.shapes[3].contact_dimension = 1;
    const CompiledModel model = compiled(scene);
    const ModelView<double> m = model.arrays.view();
    EXPECT_EQ(lists_pairs(m), count == 6);
    const auto expect = [&](int a, int b, double torsional, double rolling) {
      int pair = pair_number(m, a, b);
      for (int i = 0; i < m.pair_count; ++i) {
        if (std::minmax(m.pairs[i].shape_a, m.pairs[i].shape_b) == std::minmax(a, b)) pair = i;
      }
      EXPECT_EQ(moments_of_pair(m, pair), (MomentFriction<double>{torsional, rolling})) << a << " and " << b;
    };
    expect(0, 1, 0.02, 0);     // the greater of both, in four dimensions
    expect(0, 2, 0, 0.003);    // of the greater priority alone
    expect(0, 3, 0.005, 0);    // rolling needs a coefficient
    expect(1, 3, 0.02, 0.01);  // the greatest dimension of the two
    expect(1, 4, 0, 0);        // three dimensions
    // Two spheres have one contact: 0 with all five, 1 with 2 and 3, 2 with the last three.
    EXPECT_EQ(m.moment_capacity, count == 6 ? 10 : m.contact_capacity);
  }
}

}  // namespace
}  // namespace axion::model::compile_contacts_test
