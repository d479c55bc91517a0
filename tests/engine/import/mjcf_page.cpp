#include "tests/engine/import/mjcf_page.hpp"

#include <algorithm>
#include <vector>

#include "engine/import/mjcf_schema.hpp"

namespace axion::import {
namespace {

constexpr std::string_view kPreface = R"(# MJCF: what becomes of each element and attribute

Made by `axion-mjcf-page > docs/mjcf.md` from the schema that the importer checks documents against; a test says when it
is not up to date.

* **read**: taken over, or its value is checked. Where only some values are, a line under the table says so; others are
  an error with the element, its line and the attribute, or with `allow_unsupported` a warning.
* **no effect**: has no effect on the motion of rigid bodies. Colours and visual meshes are kept for pictures, and the
  rest is passed over. Sites and cameras are read where a sensor or an equality names them.
* **warning**: not used, and a warning says why, unless it is 0.
* **refused**: would change the motion; an error with its line, or with `allow_unsupported` a warning.

What is in none of these lists is not MJCF and is refused, except that attributes that only describe an element are a
warning. `<frame>` and `<replicate>` may be around what they contain anywhere in a body. `<include>` is replaced by what
the file contains, which comes with the request by name. `<attach>` is replaced by a body, a frame or the world of a
model of `<asset>`, whose file comes likewise, with its defaults, its compiler settings, its assets, and what of its
contacts, tendons, equalities, actuators and sensors refers to nothing else; its keyframes are left out with a warning.
What refers to parts that `<replicate>` copies is copied with them. `class` and `name` may be given to geoms, joints,
meshes, pairs, tendons, actuators and equalities.

)";

constexpr PageNote kNotes[] = {
    {"compiler", "coordinate", "local"},
    {"compiler", "alignfree", "false: frames of free bodies stay where the document puts them"},
    {"option", "actuatorgroupdisable", "none: a scene has all its actuators"},
    {"option", "collision", "all, dynamic"},
    {"flag", "actuation", "enable"},
    {"mesh", "builtin", "none"},
    {"mesh", "file", "of an OBJ file with several objects or groups the first alone, with a warning"},
    {"geom", "type", "sdf where it touches nothing and no mass is taken from it"},
    {"geom", "adhesion", "0: contacts do not pull"},
    {"geom", "fluidshape", "ellipsoid of spheres, capsules, ellipsoids, cylinders and boxes"},
    {"geom", "shellinertia", "of meshes false; their asset has `inertia=\"shell\"`"},
    {"joint", "springyield", "0: springs do not yield"},
    {"joint", "stiffness", "linear, as `damping` and those of tendons: further numbers are 0"},
    {"joint", "armature", "of free joints a body of its own, without weight, welded to theirs"},
    {"joint", "frictionloss",
     "of free joints, where it is no more than a hundredth of the weight on them, left out with a warning"},
    {"joint", "actuatorfrcrange",
     "of joints with one actuator, or motors alone; what actuators at fixed tendons do there is not bounded, with a "
     "warning"},
    {"freejoint", "align", "false, as `alignfree`"},
    {"body", "mocap", "a fixed body, with a warning, where a joint, a tendon or a motor at a site is on it"},
    {"pair", "adhesion", "0, as that of geoms"},
    {"pair", "friction",
     "alike in every direction: another second number than the first, or fifth than the fourth, is a "
     "warning"},
    {"connect", "site1", "with site2: both points, wherever the reference configuration has them"},
    {"weld", "torquescale", "0 is a connect; others weigh where the weld is soft"},
    {"fixed", "springyield", "0: springs do not yield"},
    {"fixed", "actuatorfrcrange", "of tendons with one actuator, or motors alone"},
    {"spatial", "springyield", "0: springs do not yield"},
    {"spatial", "actuatorfrcrange", "of tendons with one actuator, or motors alone"},
    {"geom", "geom", "in a tendon: spheres and cylinders"},
    {"geom", "sidesite",
     "in a tendon: as MuJoCo 4.0 has it; where the line through it and the centre does not part the ends, it says "
     "nothing"},
    {"insidesite", "enclosed", "false; else the sensor is left out with a warning"},
    {"general", "dyntype", "none, integrator, filter, filterexact, muscle; both filters are exact"},
    {"general", "actdim", "1: an activation is one number"},
    {"general", "gaintype", "fixed, affine, muscle"},
    {"general", "biastype", "none, affine; muscle with that gain and its numbers"},
    {"general", "biasprm", "where minus the second number is the gain, a positive third one is a ratio of damping"},
    {"dcmotor", "inductance",
     "0, as `thermal`, `cogging`, `lugre` and the last number of `saturation`: a motor has no memory and no angle"},
    {"dcmotor", "controller",
     "its first and third number, stiffness and damping; it has no integrator and no bounds of its own"},
    {"dcmotor", "input", "one of voltage, pos, vel, ff: an actuator has one control"},
    {"muscle", "lengthrange",
     "required where a slide that it crosses has no range, a ball has one or a body is free, and along a joint or "
     "fixed "
     "tendon where neither has a range"},
    {"general", "body", "of motors, that press what touches the body"},
    {"general", "delay", "0: controls act at once"},
    {"general", "armature", "of actuators with another transmission than body"},
    {"general", "damping", "the first number, of actuators with another transmission than body"},
    {"general", "inheritrange", "of positions"},
};

std::string code_list(std::string_view words) {
  if (words == "*") return "all";
  std::string out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) out += (out.empty() ? "`" : " `") + std::string(words.substr(0, end)) + "`";
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out.empty() ? "–" : out;
}

std::string element_of(const SchemaRow& row) {
  const std::string tag = row.tag == "*" ? "others" : "`<" + std::string(row.tag) + ">`";
  return row.context.empty() ? tag : tag + " in `<" + std::string(row.context) + ">`";
}

std::string fate_of(const SchemaRow& row) {
  switch (row.treatment) {
    case Treatment::kRead:
      return "read";
    case Treatment::kIgnored:
      return "no effect";
    case Treatment::kWarned:
      return "warning: " + std::string(row.reason);
    default:
      return "refused: " + std::string(row.reason);
  }
}

}  // namespace

std::span<const PageNote> page_notes() { return kNotes; }

std::string mjcf_page() {
  std::string page(kPreface);
  page += "| element | becomes | attributes read | no effect | warning |\n| --- | --- | --- | --- | --- |\n";
  for (const SchemaRow& row : schema_rows()) {
    const bool warns = row.treatment == Treatment::kRead && !row.warned.empty();
    page += "| " + element_of(row) + " | " + fate_of(row) + " | " + code_list(row.read) + " | " +
            code_list(row.ignored) + " | " + code_list(row.warned) + (warns ? ": " + std::string(row.reason) : "") +
            " |\n";
  }
  page += "\nOf these values alone:\n\n";
  for (const PageNote& note : kNotes) {
    page += "* `<" + std::string(note.tag) + "> " + std::string(note.attribute) + "`: " + std::string(note.what) + "\n";
  }
  return page;
}

}  // namespace axion::import
