// Sensors of contacts: which they find, and what they read of those.
#include "tests/engine/backend/sensing.hpp"

namespace axion::testing::contact_sensors_test {
namespace {

// Two bodies of which one hangs on the other, on a floor, and a ball apart.
std::string contact_sensors(const std::string& sensors, double friction = 0.3) {
  return "<mujoco><default><geom friction='" + std::to_string(friction) +
         R"('/></default><worldbody><geom name="floor" type="plane" size="5 5 1"/>
      <body name="box" pos="0 0 .2"><freejoint/><geom name="box" type="box" size=".3 .2 .2" mass="3"/>
        <site name="corner" pos=".3 .2 -.2" size=".05"/><site name="above" pos="0 0 1" size=".05"/>
        <body name="load" pos=".1 0 .3"><geom name="load" type="box" size=".1 .1 .1" mass="2"/></body></body>
      <body name="ball" pos="2 0 .1"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
      </worldbody><sensor>)" +
         sensors + "</sensor></mujoco>";
}

TEST(ContactSensors, contacts_are_found_by_shape_body_subtree_and_zone) {
  Sensing s(contact_sensors(R"(<contact name="all"/><contact name="box" geom1="box" geom2="floor"/>
      <contact name="turned" geom1="floor" geom2="box"/><contact name="one" body1="ball"/>
      <contact name="second" body2="ball"/><contact name="tree" subtree1="box"/><contact name="load" body1="load"/>
      <contact name="ground" body1="world" geom2="ball"/><contact name="apart" geom1="ball" geom2="box"/>
      <contact name="world" subtree1="world" subtree2="box"/>
      <contact name="corner" site="corner"/><contact name="above" site="above"/>)"),
            0.002);
  s.run(300);
  const std::pair<const char*, double> found[] = {{"all", 5},    {"box", 4},   {"turned", 4}, {"one", 1},
                                                  {"second", 1}, {"tree", 4},  {"load", 0},   {"ground", 1},
                                                  {"apart", 0},  {"world", 4}, {"corner", 1}, {"above", 0}};
  for (const auto& [name, count] : found) EXPECT_EQ(s.scalar(name), count) << name;
}

TEST(ContactSensors, contacts_read_force_place_and_normal_out_of_the_first_side) {
  Sensing s(contact_sensors(R"(
      <contact name="box" geom1="box" geom2="floor" num="6" data="found force torque dist pos normal tangent"/>
      <contact name="floor" geom1="floor" geom2="box" num="4" data="force normal tangent"/>
      <contact name="deep" subtree1="box" num="4" reduce="mindist" data="dist"/>
      <contact name="hard" subtree1="box" num="4" reduce="maxforce" data="force"/>
      <contact name="net" geom1="floor" geom2="box" reduce="netforce"
        data="found force torque dist pos normal tangent"/><contact name="none" body1="load" num="2" data="pos"/>)",
                            0),
            0.002);
  s.run(600);
  const Numbers box = s("box"), floor = s("floor"), deep = s("deep"), hard = s("hard"), net = s("net");
  ASSERT_EQ(box.size(), 6u * 17);
  double weight = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const double* slot = box.data() + 17 * k;
    EXPECT_EQ(slot[0], 4);
    EXPECT_GT(slot[1], 0);
    weight += slot[1];
    expect_near({slot + 4, slot + 7}, {0, 0, 0}, 0, "torque of a point");
    EXPECT_NEAR(slot[7], 0, 1e-6);
    EXPECT_NEAR(std::abs(slot[8]), .3, 1e-3);
    EXPECT_NEAR(std::abs(slot[9]), .2, 1e-3);
    EXPECT_NEAR(slot[10], 0, 1e-6);
    expect_near({slot + 11, slot + 14}, {0, 0, -1}, 1e-6, "out of the box");
    expect_near({slot + 14, slot + 17}, {0, 1, 0}, 1e-6, "tangent");
    expect_near({floor.data() + 9 * k + 3, floor.data() + 9 * k + 6}, {0, 0, 1}, 1e-6, "out of the floor");
    EXPECT_NEAR(floor[9 * k], slot[1], 1e-12);
    if (k == 0) continue;
    EXPECT_LE(deep[k - 1], deep[k]);
    EXPECT_GE(hard[3 * k - 3], hard[3 * k] - 1e-9);
  }
  EXPECT_NEAR(weight, 5 * kGravity, 2e-2);
  EXPECT_GT(hard[0], hard[9] + 1) << "the load stands beside the middle";
  for (std::size_t i = 4 * 17; i < box.size(); ++i) EXPECT_EQ(box[i], 0) << "a slot without a contact";
  EXPECT_EQ(net[0], 4);
  expect_near({net.data() + 1, net.data() + 4}, {0, 0, 5 * kGravity}, 2e-2, "force on the box");
  expect_near({net.data() + 4, net.data() + 7}, {0, 0, 0}, 1e-3, "torque about the centre of pressure");
  EXPECT_NEAR(net[8], 2 * .1 / 5, 1e-3) << "above which the centre of mass is";
  expect_near({net.data() + 11, net.data() + 17}, {1, 0, 0, 0, 1, 0}, 0, "axes of the world");
  expect_near(s("none"), Numbers(6, 0), 0, "no contact");
}

TEST(ContactSensors, contacts_that_slide_read_friction_against_the_slide) {
  Sensing s(contact_sensors(R"(<contact name="f" geom1="box" geom2="floor" reduce="netforce" data="force"/>
      <contact name="slots" geom1="box" geom2="floor" num="4" data="force tangent"/>)"),
            0.002);
  s.run(300);
  s.set({0, 0, .2, 1, 0, 0, 0, 2, 0, .1, 1, 0, 0, 0}, {0, 1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  s.run(20);
  EXPECT_NEAR(s("f")[1], 0.3 * 5 * kGravity, 0.1) << "the box takes the floor along";
  const Numbers slots = s("slots");
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(slots[6 * k + 1] * slots[6 * k + 4], 0.3 * slots[6 * k], 0.02);
}

// A ball that spins about the normal and rolls along y, on a floor with both frictions: the torques on it in the frame
// of the contact, in that of the world, in what the ball's weld carries, and about its centre in contact_impulse.
TEST(ContactSensors, torsional_and_rolling_friction_are_read_as_torques) {
  constexpr double torsional = 0.01, rolling = 0.02, weight = 2 * kGravity;
  Sensing s(R"(<mujoco><default><geom condim="6" friction="1 .01 .02"/></default><worldbody>
      <geom name="floor" type="plane" size="5 5 1"/><body name="ball" pos="0 0 .1"><freejoint/>
      <geom name="ball" size=".1" mass="1"/><body name="load" pos="0 0 0"><site name="load"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".004 .004 .004"/></body></body></worldbody><sensor>
      <contact name="slot" geom1="floor" geom2="ball" data="force torque normal tangent"/>
      <contact name="net" geom1="floor" geom2="ball" reduce="netforce" data="torque"/></sensor></mujoco>)",
            0.002);
  s.set({0, 0, .1, 1, 0, 0, 0}, {0, .8, 0, -8, 0, 9});
  s.run(5);
  const Numbers slot = s("slot"), net = s("net");
  EXPECT_NEAR(slot[0], weight, 1e-2);
  expect_near({slot.data() + 6, slot.data() + 9}, {0, 0, 1}, 1e-6, "out of the floor");
  expect_near({slot.data() + 9, slot.data() + 12}, {0, 1, 0}, 1e-6, "tangent");
  // Along n, y and n × y = −x of what the floor exerts: against a spin about z, and a turn about −x.
  expect_near({slot.data() + 3, slot.data() + 6}, {-torsional * weight, 0, -rolling * weight}, 1e-3, "torque");
  expect_near(net, {rolling * weight, 0, -torsional * weight}, 1e-3, "torque of the net force");
  const Numbers impulse = read(s.batch(), Field::kContactImpulse, {0});
  const double h = 0.002, friction = impulse[1];
  EXPECT_NEAR(impulse[3], h * rolling * weight + 0.1 * friction, 1e-6) << "about the centre";
  EXPECT_NEAR(impulse[5], -h * torsional * weight, 1e-6);
}

TEST(ContactSensors, a_document_names_what_is_wrong_with_them) {
  const std::pair<const char*, const char*> faults[] = {
      {R"(<contact geom1="nobody"/>)", "geom1"},
      {R"(<contact body2="nobody"/>)", "body2"},
      {R"(<contact geom1="box" subtree1="box"/>)", "subtree1"},
      {R"(<contact geom1="box" site="corner"/>)", "site"},
      {R"(<contact site="nowhere"/>)", "site"},
      {R"(<contact num="0"/>)", "num"},
      {R"(<contact num="65"/>)", "num"},
      {R"(<contact num="2" reduce="netforce"/>)", "num"},
      {R"(<contact reduce="least"/>)", "reduce"},
      {R"(<contact data="force found"/>)", "data"},
      {R"(<contact data="found found"/>)", "data"},
      {R"(<contact data="weight"/>)", "data"},
      {R"(<contact data=""/>)", "data"},
  };
  for (const auto& [xml, attribute] : faults) {
    const auto scene = import::import_mjcf(contact_sensors(xml), {});
    ASSERT_FALSE(scene.ok()) << xml;
    EXPECT_NE(scene.error().message.find(attribute), std::string::npos) << scene.error().message;
  }
}

TEST(ContactSensors, a_scene_names_what_is_wrong_with_them) {
  using model::ContactSideKind;
  const auto contact = [](const auto& change) {
    model::SceneSpec scene = quadruped();
    model::SensorSpec sensor;
    sensor.name = "s", sensor.kind = model::SensorKind::kContact;
    change(sensor.contact);
    scene.sensors.push_back(sensor);
    const auto model = compile_model(scene);
    return model.ok() ? std::string("fine") : model.error().field;
  };
  EXPECT_EQ(contact([](auto&) {}), "fine");
  EXPECT_EQ(contact([](auto& c) { c.first = {ContactSideKind::kShape, 999}; }), "sensors[0].contact.first.index");
  EXPECT_EQ(contact([](auto& c) { c.second = {ContactSideKind::kSubtree, -2}; }), "sensors[0].contact.second.index");
  EXPECT_EQ(contact([](auto& c) { c.second.kind = ContactSideKind::kZone; }), "sensors[0].contact.second.kind");
  EXPECT_EQ(contact([](auto& c) { c.first.kind = ContactSideKind::kZone; }), "sensors[0].zone_size[0]");
  EXPECT_EQ(contact([](auto& c) { c.slots = 65; }), "sensors[0].contact.slots");
  EXPECT_EQ(contact([](auto& c) { c.slots = 2, c.reduction = model::ContactReduction::kNetForce; }),
            "sensors[0].contact.slots");
  EXPECT_EQ(contact([](auto& c) { c.data = 0; }), "sensors[0].contact.data");
}

}  // namespace
}  // namespace axion::testing::contact_sensors_test
