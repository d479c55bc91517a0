// Malformed and hostile documents: each is refused with the element, the attribute, the value and the line.
#include <gtest/gtest.h>

#include <string>

#include "engine/import/mjcf.hpp"

namespace axion::import::mjcf_hostile_test {
namespace {

struct Case {
  std::string xml;
  std::string field;
  std::string message_has;
};

void expect_refused(const Case& c, const ImportOptions& options = {}) {
  const Result<ImportedScene> result = import_mjcf(c.xml, options);
  const std::string shown = c.xml.substr(0, 200);
  ASSERT_FALSE(result.ok()) << "was accepted: " << shown;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << shown;
  EXPECT_EQ(result.error().field, c.field) << result.error().message << "\n" << shown;
  EXPECT_NE(result.error().message.find(c.message_has), std::string::npos) << result.error().message;
}

std::string world(const std::string& content) { return "<mujoco>\n<worldbody>\n" + content + "</worldbody></mujoco>"; }
std::string body(const std::string& content) { return world("<body name='b'><joint/>" + content + "</body>"); }
std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(HostileMjcf, text_that_is_not_xml) {
  for (const char* xml : {"", "   ", "not xml", "<mujoco>", "<mujoco></worldbody>", "<mujoco", "<mujoco a=></mujoco>",
                          "<!-- only a comment -->", "<!-- open", "</mujoco>", "<mujoco/><mujoco/>",
                          "\xff\xfe<mujoco/>", "<mujoco/> and more"}) {
    expect_refused({xml, "xml", "line "});
  }
  expect_refused({std::string("<mujoco>\0</mujoco>", 18), "xml", "NUL byte"});
  expect_refused({"<robot/>", "robot", "<mujoco>"});
}

TEST(HostileMjcf, document_types_and_entities) {
  expect_refused({"<!DOCTYPE mujoco [<!ENTITY a 'aaaa'>]><mujoco/>", "xml", "entity"});
  expect_refused({"<mujoco><!ENTITY a 'aaaa'></mujoco>", "xml", "entity"});
  expect_refused({"<!doctype mujoco><mujoco/>", "xml", "entity"});
  // Entities that nothing declares stay as they are, and are then no numbers.
  expect_refused({body("<geom size='&a;'/>"), "geom.size", "&a;"});
  EXPECT_TRUE(import_mjcf("<mujoco><!-- <!DOCTYPE in a comment> --></mujoco>").ok());
}

TEST(HostileMjcf, unknown_elements_and_attributes) {
  expect_refused({world("<blob/>"), "blob", "line 3"});
  expect_refused({"<mujoco><wordbody/></mujoco>", "wordbody", "not an element that <mujoco> has"});
  expect_refused({world("<joint/>"), "joint", "not an element that <worldbody> has"});
  expect_refused({body("<geom siez='.1'/>"), "geom.siez", "siez=\".1\""});
  expect_refused({"<mujoco><option timestep='.1' gravty='0 0 0'/></mujoco>", "option.gravty", "gravty"});
  expect_refused({"<mujoco><default><geom name='x'/></default></mujoco>", "geom.name", "not an attribute"});
  expect_refused({"<mujoco><actuator><motor kp='1' joint='j'/></actuator></mujoco>", "motor.kp", "not an attribute"});
}

TEST(HostileMjcf, numbers_that_are_none_or_not_finite) {
  for (const char* value :
       {"nan", "NaN", "inf", "-inf", "1e999", "-1e999", "0x10", "1,2", "1..2", "one", "--1", "+-1"}) {
    expect_refused({body(std::string("<geom size='") + value + "'/>"), "geom.size", value});
    expect_refused({world(std::string("<body pos='0 0 ") + value + "'/>"), "body.pos", value});
  }
  expect_refused({world("<body pos='0 0'/>"), "body.pos", "has 2 numbers"});
  expect_refused({world("<body pos='0 0 0 0'/>"), "body.pos", "has 4 numbers"});
  expect_refused({body("<geom size=''/>"), "geom.size", "has 0 numbers"});
  expect_refused({body("<geom size='.1' contype='1.5'/>"), "geom.contype", "integer"});
  expect_refused({body("<geom size='.1' contype='99999999999'/>"), "geom.contype", "integer"});
  expect_refused({body("<geom size='.1' type='blob'/>"), "geom.type", "type=\"blob\" must be one of"});
}

TEST(HostileMjcf, masses_and_inertias_that_no_body_has) {
  const auto inertial = [](const std::string& attributes) {
    return body("<inertial pos='0 0 0' " + attributes + "/>");
  };
  expect_refused({inertial("mass='-1' diaginertia='1 1 1'"), "inertial.mass", "mass=\"-1\""});
  expect_refused({inertial("mass='0' diaginertia='1 1 1'"), "body", "mass must be at least"});
  expect_refused({inertial("mass='nan' diaginertia='1 1 1'"), "inertial.mass", "nan"});
  expect_refused({inertial("mass='1e300' diaginertia='1 1 1'"), "inertial", "above"});
  expect_refused({inertial("mass='1'"), "body", "I_Bcm must be positive definite"});
  expect_refused({inertial("mass='1' diaginertia='-1 1 1'"), "inertial.diaginertia", "negative"});
  expect_refused({inertial("mass='1' diaginertia='1 1 3'"), "inertial.diaginertia", "A + B < C"});
  expect_refused({inertial("mass='1' fullinertia='1 1 1 5 0 0'"), "inertial.fullinertia", "negative"});
  expect_refused({inertial("mass='1' fullinertia='1 1 1 0 0 0' quat='1 0 0 0'"), "inertial.quat", "together"});
  expect_refused({inertial("diaginertia='1 1 1'"), "inertial.mass", "required"});
  expect_refused({inertial("mass='1' diaginertia='1 1 1'/><inertial pos='0 0 0' mass='1'"), "inertial", "second"});
  expect_refused({body("<geom size='.1' mass='-2'/>"), "geom.mass", "mass=\"-2\""});
  expect_refused({body("<geom size='.1' density='-2'/>"), "geom.density", "density=\"-2\""});
  expect_refused({body("<geom size='.1' mass='0'/>"), "body", "name=\"b\"> (line 3)"});
  expect_refused({body(""), "body", "mass must be at least"});
  expect_refused({body("<geom size='1e150'/>"), "body", "above"});
}

// The number that is at fault stands in the message, however mass and inertia are made of it.
TEST(HostileMjcf, masses_out_of_range_name_the_attribute_that_they_are_made_of) {
  const std::string ball = "; <geom name=\"ball\"> (line 3) has ";
  for (const char* given :
       {"size='1e39'", "size='1e-30'", "size='.1 1e39' type='capsule'", "density='1e-320'", "mass='1e-320'",
        "mass='1e39'", "size='1e-30 1' type='cylinder'", "fromto='0 0 0 1e39 0 0'"}) {
    const std::string text = given, name = text.substr(0, text.find('=')), value = text.substr(text.find('\'') + 1);
    const std::string size = name == "size" || name == "fromto" ? "" : "size='.1' ";
    const std::string type = name == "fromto" ? "type='capsule' size='.1' " : "";
    expect_refused({body("<geom name='ball' " + size + type + given + "/>"), "body",
                    ball + name + "=\"" + value.substr(0, value.find('\'')) + "\""});
  }
  expect_refused({body("<inertial pos='0 0 0' mass='1e-320' diaginertia='1 1 1'/>"), "body",
                  "; <inertial> (line 3) has mass=\"1e-320\""});
  expect_refused(
      {body("<inertial pos='0 0 0' mass='1' diaginertia='1e-320 1 1'/>"), "body", "has diaginertia=\"1e-320 1 1\""});
  expect_refused({body("<inertial pos='0 0 0' mass='1e39' diaginertia='1 1 1'/>"), "inertial", "has mass=\"1e39\""});
  // What another body's geoms say is not at fault.
  expect_refused(
      {body("<geom size='1e-30'/><body><joint/><geom name='child' size='1e-20'/></body>"), "body", "size=\"1e-30\""});
}

TEST(HostileMjcf, shapes_and_poses_without_meaning) {
  expect_refused({body("<geom size='0'/>"), "geom.size", "positive"});
  expect_refused({body("<geom size='-.1'/>"), "geom.size", "size=\"-.1\""});
  expect_refused({body("<geom/>"), "geom.size", "positive"});
  expect_refused({body("<geom type='capsule' size='.1'/>"), "geom.size", "2 positive"});
  expect_refused({body("<geom type='box' size='.1 .1'/>"), "geom.size", "3 positive"});
  expect_refused({body("<geom size='.1' fromto='0 0 0 0 0 1'/>"), "geom.fromto", "needs a geom"});
  expect_refused({body("<geom size='.1' type='capsule' fromto='0 0 1 0 0 1'/>"), "geom.fromto", "the same"});
  expect_refused({body("<geom size='.1' type='capsule' fromto='0 0 1 0 0 2' pos='0 1 0'/>"), "geom.fromto", "pos"});
  expect_refused({body("<geom size='.1'/><geom type='plane' size='1 1 1'/>"), "geom", "plane must be the world"});
  expect_refused({body("<geom size='.1' friction='-1'/>"), "geom.friction", "negative"});
  expect_refused({body("<geom size='.1' condim='2'/>"), "geom.condim", "condim=\"2\""});
  expect_refused({body("<geom size='.1' quat='0 0 0 0'/>"), "geom.quat", "zero quaternion"});
  expect_refused({body("<geom size='.1' axisangle='0 0 0 1'/>"), "geom.axisangle", "zero length"});
  expect_refused({body("<geom size='.1' zaxis='0 0 0'/>"), "geom.zaxis", "zero length"});
  expect_refused({body("<geom size='.1' xyaxes='1 0 0 2 0 0'/>"), "geom.xyaxes", "zero length"});
  expect_refused({body("<geom size='.1' zaxis='1e300 0 0'/>"), "geom.zaxis", "too long"});
  expect_refused({body("<geom size='.1' quat='1 0 0 0' euler='0 0 0'/>"), "geom.euler", "second orientation"});
  expect_refused({body("<geom size='.1' pos='1e300 0 0'/>"), "body", "1e+300"});
  expect_refused({"<mujoco><compiler eulerseq='xyw'/></mujoco>", "compiler.eulerseq", "xyw"});
  expect_refused({"<mujoco><compiler coordinate='global'/></mujoco>", "compiler.coordinate", "global"});
  for (const char* timestep : {"0", "-0.01", "nan", "5"}) {
    expect_refused(
        {std::string("<mujoco><option timestep='") + timestep + "'/></mujoco>", "option.timestep", timestep});
  }
}

TEST(HostileMjcf, joints_without_meaning) {
  const auto joint = [](const std::string& attributes) {
    return world("<body><joint " + attributes + "/><geom size='.1'/></body>");
  };
  expect_refused({joint("axis='0 0 0'"), "joint.axis", "0 0 0"});
  expect_refused({joint("range='2 1'"), "joint.range", "smaller limit first"});
  expect_refused({joint("range='2 1' limited='true'"), "joint.range", "smaller limit first"});
  expect_refused({joint("limited='true'"), "joint.range", "smaller limit first"});
  expect_refused({joint("limited='maybe'"), "joint.limited", "maybe"});
  expect_refused({joint("type='wheel'"), "joint.type", "wheel"});
  for (const char* name : {"damping", "stiffness", "armature", "frictionloss"}) {
    expect_refused({joint(std::string(name) + "='-1'"), std::string("joint.") + name, "negative"});
  }
  expect_refused(
      {"<mujoco><compiler autolimits='false'/><worldbody><body><joint range='-1 1'/><geom size='.1'/></body>"
       "</worldbody></mujoco>",
       "joint.range", "autolimits"});
}

TEST(HostileMjcf, names_given_twice_and_names_of_nothing) {
  const std::string g = "<geom size='.1'/>";
  expect_refused({world("<body name='a'><joint/>" + g + "</body><body name='a'/>"), "body.name", "second time"});
  expect_refused({world("<body name='world'/>"), "body.name", "second time"});
  expect_refused({body("<geom name='g' size='.1'/><geom name='g' size='.1'/>"), "geom.name", "name=\"g\""});
  expect_refused(
      {world("<body><joint name='j'/><joint name='j' axis='1 0 0'/>" + g + "</body>"), "joint.name", "second"});
  expect_refused(
      {"<mujoco><default><default class='c'/><default class='c'/></default></mujoco>", "default.class", "second"});
  expect_refused({"<mujoco><default><default/></default></mujoco>", "default.class", "required"});
  expect_refused({body("<geom class='c' size='.1'/>"), "geom.class", "class=\"c\" names a default class"});
  expect_refused({world("<body childclass='c'/>"), "body.childclass", "does not exist"});
  const std::string robot = "<worldbody><body name='b'><joint name='j'/><geom size='.1'/></body></worldbody>";
  expect_refused({"<mujoco>" + robot + "<actuator><motor joint='k'/></actuator></mujoco>", "motor.joint", "\"k\""});
  expect_refused({"<mujoco>" + robot + "<actuator><motor/></actuator></mujoco>", "motor.joint", "required"});
  expect_refused({"<mujoco>" + robot +
                      "<actuator><motor joint='j' name='m'/><motor joint='j' name='m'/></actuator>"
                      "</mujoco>",
                  "motor.name", "second time"});
  expect_refused(
      {"<mujoco>" + robot + "<contact><exclude body1='b' body2='c'/></contact></mujoco>", "exclude.body2", "\"c\""});
  expect_refused(
      {"<mujoco>" + robot + "<keyframe><key name='k'/><key name='k'/></keyframe></mujoco>", "key.name", "second"});
  expect_refused({"<mujoco model='a' model='b'/>", "xml", "line 1"});
}

TEST(HostileMjcf, actuators_and_keyframes_that_do_not_fit) {
  const auto robot = [](const std::string& after) {
    return "<mujoco><worldbody><body><freejoint name='f'/><geom size='.1'/><body><joint name='j'/><geom "
           "size='.1'/></body>"
           "</body></worldbody>" +
           after + "</mujoco>";
  };
  expect_refused({robot("<actuator><motor joint='f' gear='1 0 0 1 0 0'/></actuator>"), "motor.gear", "free joint"});
  expect_refused({robot("<actuator><muscle joint='f' lengthrange='0 1'/></actuator>"), "muscle.site", "has a length"});
  expect_refused({robot("<actuator><adhesion body='none'/></actuator>"), "adhesion.body", "does not exist"});
  expect_refused({robot("<actuator><motor slidersite='j'/></actuator>"), "motor.cranksite", "is required"});
  expect_refused({robot("<actuator><motor joint='j' ctrlrange='2 1'/></actuator>"), "motor.ctrlrange", "2 1"});
  expect_refused({robot("<actuator><motor joint='j' ctrllimited='true'/></actuator>"), "motor.ctrlrange", "smaller"});
  expect_refused({robot("<actuator><motor joint='j' gear='inf'/></actuator>"), "motor.gear", "inf"});
  expect_refused({robot("<actuator><position joint='j' kp='-5'/></actuator>"), "position.kp", "-5"});
  expect_refused({robot("<keyframe><key qpos='0 0 0'/></keyframe>"), "key.qpos", "has 3 numbers; the model has 8"});
  expect_refused({robot("<keyframe><key qvel='1'/></keyframe>"), "key.qvel", "has 1 numbers; the model has 7"});
  expect_refused({robot("<keyframe><key qpos='0 0 0 1 0 0 0 nan'/></keyframe>"), "key.qpos", "nan"});
}

TEST(HostileMjcf, includes_that_are_missing_or_go_in_circles) {
  ImportOptions options;
  options.assets["a.xml"] = "<x><include file='b.xml'/></x>";
  options.assets["b.xml"] = "<x>\n<include file='a.xml'/></x>";
  options.assets["self.xml"] = "<x><include file='self.xml'/></x>";
  options.assets["once.xml"] = "<x/>";
  options.assets["bad.xml"] = "<x><";
  options.assets["doctype.xml"] = "<!DOCTYPE x><x/>";
  const auto include = [](const std::string& file) { return "<mujoco><include file='" + file + "'/></mujoco>"; };
  expect_refused({include("a.xml"), "include.file", "cycle of includes through \"a.xml\""}, options);
  expect_refused({include("a.xml"), "include.file", "line 2 of b.xml"}, options);
  expect_refused({include("self.xml"), "include.file", "cycle"}, options);
  expect_refused({include("/etc/passwd"), "include.file", "not among the 6 assets"}, options);
  expect_refused({include(""), "include.file", "not among"}, options);
  expect_refused({"<mujoco><include/></mujoco>", "include.file", "not among"}, options);
  expect_refused({"<include file='once.xml'/>", "xml", "root"}, options);
  expect_refused({"<mujoco><include file='once.xml'/><include file='once.xml'/></mujoco>", "include.file", "second"},
                 options);
  expect_refused({include("bad.xml"), "xml", "of bad.xml"}, options);
  expect_refused({include("doctype.xml"), "xml", "line 1 of doctype.xml"}, options);

  ImportOptions deep;
  for (int i = 0; i < 40; ++i) {
    deep.assets["f" + std::to_string(i)] = "<x><include file='f" + std::to_string(i + 1) + "'/></x>";
  }
  expect_refused({include("f0"), "include.file", "more than 16"}, deep);
}

TEST(HostileMjcf, nesting_past_the_limit) {
  for (int depth : {kMaxXmlDepth + 1, 1000, 100000}) {
    const std::string xml =
        "<mujoco><worldbody>" + repeat("<body>", depth) + repeat("</body>", depth) + "</worldbody></mujoco>";
    expect_refused({xml, "xml", "nested at most 96 deep"});
  }
  // Each file alone is within the limit; together they are not.
  ImportOptions options;
  options.assets["deep.xml"] = "<x>" + repeat("<body>", 80) + repeat("</body>", 80) + "</x>";
  expect_refused({"<mujoco><worldbody>" + repeat("<body>", 80) + "<include file='deep.xml'/>" + repeat("</body>", 80) +
                      "</worldbody></mujoco>",
                  "xml", "nested at most 96 deep"},
                 options);
}

TEST(HostileMjcf, counts_past_the_limits) {
  expect_refused({world(repeat("<body/>", kMaxBodies + 1)), "body", "4096"});
  expect_refused({world(repeat("<geom size='1'/>", kMaxShapes + 1)), "geom", "16384"});
  expect_refused({world(repeat("<camera/>", kMaxXmlElements)), "xml", std::to_string(kMaxXmlElements)});
  expect_refused({"<mujoco " + repeat("a='<' ", kMaxXmlElementAttributes + 1) + "/>", "xml", "256 attributes in one"});
  const std::string full = "<geom " + repeat("a='' ", kMaxXmlElementAttributes) + "/>";
  expect_refused({world(repeat(full, kMaxXmlAttributes / kMaxXmlElementAttributes + 1)), "xml",
                  std::to_string(kMaxXmlAttributes) + " attributes"});
  expect_refused({std::string(kMaxXmlBytes + 1, ' '), "xml", std::to_string(kMaxXmlBytes)});
  const std::string robot = "<worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody>";
  expect_refused({"<mujoco>" + robot + "<actuator>" + repeat("<motor joint='j'/>", 16385) + "</actuator></mujoco>",
                  "motor", "16384"});
  expect_refused({"<mujoco>" + robot + "<keyframe>" + repeat("<key/>", 1025) + "</keyframe></mujoco>", "key", "1024"});
}

TEST(HostileMjcf, a_long_value_is_not_repeated_in_full) {
  const Result<ImportedScene> result = import_mjcf(body("<geom size='" + std::string(100000, 'x') + "'/>"));
  ASSERT_FALSE(result.ok());
  EXPECT_LT(result.error().message.size(), 1000u);
}

}  // namespace
}  // namespace axion::import::mjcf_hostile_test
