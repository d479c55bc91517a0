#include "engine/import/mjcf_schema.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace axion::import {
namespace {

using Row = SchemaRow;

constexpr std::string_view kDryFriction = "is not used: friction gives way as its contact does";
constexpr std::string_view kSolver = "is not used: the solver's choices are made for each batch";

constexpr std::string_view kGeomRead =
    "type pos quat axisangle euler xyaxes zaxis fromto size contype conaffinity condim group priority friction mass "
    "density shellinertia mesh fitscale hfield adhesion surfacevel fluidshape fluidcoef solref solimp solmix margin";
constexpr std::string_view kGeomIgnored = "material rgba user castshadow gap";
constexpr std::string_view kPairRead = "geom1 geom2 condim friction solref solimp margin adhesion";
constexpr std::string_view kPairIgnored = "gap";
constexpr std::string_view kPairWarned = "solreffriction";
constexpr std::string_view kMeshRead = "file content_type vertex face refpos refquat scale inertia maxhullvert builtin";
constexpr std::string_view kMeshIgnored =
    "normal texcoord facenormal facetexcoord smoothnormal params material octree_maxdepth";
constexpr std::string_view kJointRead =
    "type pos axis springdamper limited range stiffness damping armature frictionloss ref springref actuatorfrclimited "
    "actuatorfrcrange actuatorgravcomp springyield solreflimit solimplimit margin solreffriction solimpfriction";
constexpr std::string_view kJointIgnored = "group user";
constexpr std::string_view kTendonRead =
    "limited range stiffness damping frictionloss armature springlength springyield actuatorfrclimited "
    "actuatorfrcrange solreflimit solimplimit solreffriction solimpfriction margin";
constexpr std::string_view kTendonIgnored = "group width material rgba user";
constexpr std::string_view kDriveRead =
    "joint jointinparent tendon slidersite cranksite site refsite body ctrllimited ctrlrange forcelimited forcerange "
    "gear cranklength kp kv dampratio timeconst area diameter bias inheritrange dyntype gaintype biastype dynprm "
    "gainprm biasprm gain tausmooth range force scale lmin lmax vmax fpmax fvmax lengthrange "
    "actlimited actrange actdim actearly delay input velrange ffrange armature damping";
constexpr std::string_view kMotorRead =
    "joint jointinparent tendon slidersite cranksite site refsite ctrllimited ctrlrange lengthrange gear cranklength "
    "delay armature damping resistance motorconst nominal saturation inductance thermal cogging lugre input controller";
// Samples and how they are interpolated say how a delay is made.
constexpr std::string_view kDriveIgnored = "group user nsample interp";

constexpr std::string_view kSiteSensor = "site cutoff noise";
constexpr std::string_view kFrameSensor = "objtype objname reftype refname cutoff noise";
constexpr std::string_view kPairSensor = "geom1 geom2 body1 body2 cutoff noise";
constexpr std::string_view kSensorIgnored = "user nsample interp";
constexpr std::string_view kSensorWarned = "delay interval";
constexpr std::string_view kDelay = "is not used: sensors read the state of their record";

constexpr std::string_view kNotPhysics = "";

constexpr Row kRows[] = {
    {"", "mujoco", Treatment::kRead, "model", "", "", ""},
    {"mujoco", "compiler", Treatment::kRead,
     "angle coordinate eulerseq inertiafromgeom inertiagrouprange settotalmass autolimits boundmass boundinertia "
     "balanceinertia alignfree fitaabb meshdir assetdir",
     "strippath texturedir discardvisual convexhull usethread fusestatic exactmeshinertia "
     "saveinertial savecanonical savecompiled passthrough conflict",
     "", ""},
    {"compiler", "lengthrange", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"mujoco", "option", Treatment::kRead,
     "timestep gravity magnetic density viscosity wind actuatorgroupdisable collision cone impratio",
     "apirate o_margin o_solref o_solimp o_friction sleep_tolerance ccd_tolerance mpr_tolerance "
     "ccd_iterations "
     "mpr_iterations sdf_iterations sdf_initpoints",
     "integrator jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations "
     "noslip_tolerance",
     kSolver},
    {"option", "flag", Treatment::kRead,
     "constraint equality frictionloss limit contact passive spring damper gravity clampctrl filterparent actuation "
     "refsafe",
     "warmstart sensor midphase nativeccd autoreset energy fwdinv invdiscrete "
     "sensornoise "
     "multiccd island sleep diagexact",
     "eulerdamp override ipc speculative", kSolver},
    {"mujoco", "size", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"mujoco", "visual", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"mujoco", "statistic", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"mujoco", "custom", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"mujoco", "asset", Treatment::kRead, "", "", "", ""},
    {"asset", "mesh", Treatment::kRead, kMeshRead, kMeshIgnored, "", ""},
    {"asset", "texture", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"asset", "material", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"asset", "hfield", Treatment::kRead, "name file content_type nrow ncol size elevation", "", "", ""},
    {"asset", "skin", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"asset", "model", Treatment::kRead, "name file content_type", "", "", ""},
    {"mesh", "plugin", Treatment::kUnsupported, "", "", "", "plugins are not offered"},
    {"mujoco", "extension", Treatment::kUnsupported, "", "", "", "plugins are not offered"},
    {"mujoco", "sensor", Treatment::kRead, "", "", "", ""},
    {"sensor", "touch", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "accelerometer", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "velocimeter", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "gyro", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "force", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "torque", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "magnetometer", Treatment::kRead, kSiteSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "rangefinder", Treatment::kRead, "site camera data cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointpos", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointvel", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointactuatorfrc", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointlimitpos", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointlimitvel", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "jointlimitfrc", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "ballquat", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "ballangvel", Treatment::kRead, "joint cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "actuatorpos", Treatment::kRead, "actuator cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "actuatorvel", Treatment::kRead, "actuator cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "actuatorfrc", Treatment::kRead, "actuator cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framepos", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framequat", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framexaxis", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "frameyaxis", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framezaxis", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framelinvel", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "frameangvel", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "framelinacc", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "frameangacc", Treatment::kRead, kFrameSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "subtreecom", Treatment::kRead, "body cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "subtreelinvel", Treatment::kRead, "body cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "subtreeangmom", Treatment::kRead, "body cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "e_potential", Treatment::kRead, "cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "e_kinetic", Treatment::kRead, "cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "clock", Treatment::kRead, "cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "user", Treatment::kRead, "dim cutoff noise", "user objtype objname datatype needstage", kSensorWarned,
     kDelay},
    {"sensor", "tendonpos", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tendonvel", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tendonactuatorfrc", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tendonlimitpos", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tendonlimitvel", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tendonlimitfrc", Treatment::kRead, "tendon cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "distance", Treatment::kRead, kPairSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "normal", Treatment::kRead, kPairSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "fromto", Treatment::kRead, kPairSensor, kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "contact", Treatment::kRead,
     "geom1 geom2 body1 body2 subtree1 subtree2 site num data reduce cutoff noise", kSensorIgnored, kSensorWarned,
     kDelay},
    {"sensor", "insidesite", Treatment::kRead, "site objtype objname enclosed cutoff noise", kSensorIgnored,
     kSensorWarned, kDelay},
    {"sensor", "camprojection", Treatment::kRead, "site camera cutoff noise", kSensorIgnored, kSensorWarned, kDelay},
    {"sensor", "tactile", Treatment::kWarned, "", "", "", "is left out: this kind of sensor is not offered"},
    {"sensor", "plugin", Treatment::kWarned, "", "", "", "is left out: this kind of sensor is not offered"},
    {"mujoco", "deformable", Treatment::kRead, "", "", "", ""},
    {"deformable", "skin", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"deformable", "flex", Treatment::kUnsupported, "", "", "", "bodies are rigid"},

    {"mujoco", "default", Treatment::kRead, "class", "", "", ""},
    {"default", "default", Treatment::kRead, "class", "", "", ""},
    {"default", "geom", Treatment::kRead, kGeomRead, kGeomIgnored, "", ""},
    {"default", "joint", Treatment::kRead, kJointRead, kJointIgnored, "", ""},
    {"default", "tendon", Treatment::kRead, kTendonRead, kTendonIgnored, "", ""},
    {"default", "general", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "motor", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "position", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "velocity", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "intvelocity", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "cylinder", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "damper", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "muscle", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    // Other kinds of actuators are refused where a drive has them as its default (mjcf_actuators.cpp).
    {"default", "adhesion", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"default", "dcmotor", Treatment::kRead, kMotorRead, kDriveIgnored, "", ""},
    {"default", "pid", Treatment::kRead, "*", "", "", ""},
    {"default", "orientation", Treatment::kRead, "*", "", "", ""},
    {"default", "texture", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"default", "mesh", Treatment::kRead, "scale maxhullvert inertia", kMeshIgnored, "", ""},
    {"default", "material", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"default", "site", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"default", "camera", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"default", "light", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"default", "pair", Treatment::kRead, kPairRead, kPairIgnored, kPairWarned, kDryFriction},
    {"default", "equality", Treatment::kRead, "active solref solimp", "", "", ""},

    {"mujoco", "worldbody", Treatment::kRead, "childclass", "", "", ""},
    {"body", "body", Treatment::kRead, "name childclass pos quat axisangle euler xyaxes zaxis mocap gravcomp",
     "user sleep fuse simple", "", ""},
    {"body", "inertial", Treatment::kRead, "pos quat axisangle euler xyaxes zaxis mass diaginertia fullinertia", "", "",
     ""},
    {"body", "geom", Treatment::kRead, kGeomRead, kGeomIgnored, "", ""},
    {"body", "joint", Treatment::kRead, kJointRead, kJointIgnored, "", ""},
    {"body", "freejoint", Treatment::kRead, "name align", "group", "", ""},
    {"body", "site", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"body", "camera", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"body", "light", Treatment::kIgnored, "", "", "", kNotPhysics},
    {"body", "frame", Treatment::kRead, "name childclass pos quat axisangle euler xyaxes zaxis", "", "", ""},
    {"body", "replicate", Treatment::kRead, "count sep offset euler childclass", "prefix", "", ""},
    {"body", "attach", Treatment::kRead, "model body frame prefix", "", "", ""},
    {"body", "composite", Treatment::kUnsupported, "", "", "",
     "MuJoCo has it no more since 4.0; write its bodies out instead"},
    {"body", "flexcomp", Treatment::kUnsupported, "", "", "", "bodies are rigid"},
    {"body", "plugin", Treatment::kUnsupported, "", "", "", "plugins are not offered"},
    {"geom", "plugin", Treatment::kUnsupported, "", "", "", "plugins are not offered"},

    {"mujoco", "contact", Treatment::kRead, "", "", "", ""},
    {"contact", "pair", Treatment::kRead, kPairRead, kPairIgnored, kPairWarned, kDryFriction},
    {"contact", "exclude", Treatment::kRead, "name body1 body2", "", "", ""},
    {"mujoco", "equality", Treatment::kRead, "", "", "", ""},
    {"equality", "connect", Treatment::kRead, "active body1 body2 anchor site1 site2 solref solimp", "", "", ""},
    {"equality", "weld", Treatment::kRead, "active body1 body2 anchor relpose torquescale site1 site2 solref solimp",
     "", "", ""},
    {"equality", "joint", Treatment::kRead, "active joint1 joint2 polycoef solref solimp", "", "", ""},
    {"equality", "tendon", Treatment::kRead, "name class active tendon1 tendon2 polycoef solref solimp", "", "", ""},
    {"equality", "*", Treatment::kRead, "*", "", "", ""},  // the reader says why not, unless they are inactive
    {"mujoco", "tendon", Treatment::kRead, "", "", "", ""},
    {"tendon", "spatial", Treatment::kRead, kTendonRead, kTendonIgnored, "", ""},
    {"tendon", "fixed", Treatment::kRead, kTendonRead, kTendonIgnored, "", ""},
    {"spatial", "site", Treatment::kRead, "site", "", "", ""},
    {"spatial", "geom", Treatment::kRead, "geom sidesite", "", "", ""},
    {"spatial", "pulley", Treatment::kRead, "divisor", "", "", ""},
    {"fixed", "joint", Treatment::kRead, "joint coef", "", "", ""},
    {"mujoco", "actuator", Treatment::kRead, "", "", "", ""},
    {"actuator", "general", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "motor", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "position", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "velocity", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "intvelocity", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "damper", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "cylinder", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "muscle", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "adhesion", Treatment::kRead, kDriveRead, kDriveIgnored, "", ""},
    {"actuator", "dcmotor", Treatment::kRead, kMotorRead, kDriveIgnored, "", ""},
    {"actuator", "pid", Treatment::kUnsupported, "", "", "", "an actuator has one control, and no integral of it"},
    {"actuator", "orientation", Treatment::kUnsupported, "", "", "", "an actuator has one control"},
    {"actuator", "plugin", Treatment::kUnsupported, "", "", "", "plugins are not offered"},
    {"mujoco", "keyframe", Treatment::kRead, "", "", "", ""},
    {"keyframe", "key", Treatment::kRead, "name time qpos qvel ctrl act mpos mquat", "plastic", "", ""},
};

// Tags whose elements have a name and a class where they are used, but not among the defaults.
constexpr std::string_view kNamedAndClassed =
    "geom mesh joint pair spatial fixed general motor position velocity intvelocity cylinder damper muscle adhesion "
    "dcmotor connect "
    "weld";

bool in_list(std::string_view list, std::string_view word) {
  if (list == "*") return true;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// `context` is what contains the element, through frames and replicates.
const Row* find_row(std::string_view context, std::string_view tag) {
  if (context == "worldbody") {
    // The world has geoms and bodies, but no joint and no inertia.
    if (tag == "inertial" || tag == "joint" || tag == "freejoint") return nullptr;
    context = "body";
  }
  for (const Row& row : kRows) {
    if (row.context == context && (row.tag == tag || row.tag == "*")) return &row;
  }
  return nullptr;
}

// What describes an element and does not move it, whatever version of the format has it; names with a colon belong to
// other formats (xml:, xmlns:).
bool is_description(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         in_list("xmlns rgba material user group info castshadow visible label description comment id", name);
}

bool is_zero(const XmlAttribute& attribute) {
  return attribute.value == "0" || attribute.value == "0.0" || attribute.value == "0.";
}

void check_attributes(const XmlElement& element, const Row& row, Notes& notes) {
  for (const XmlAttribute& attribute : element.attributes) {
    const std::string_view name = attribute.name;
    if (in_list(row.read, name) || in_list(row.ignored, name)) continue;
    if (in_list(row.warned, name)) {
      if (!is_zero(attribute)) notes.warn(element, name, std::string(row.reason));
      continue;
    }
    const bool named = row.context != "default" && in_list(kNamedAndClassed, element.tag);
    if (row.context == "sensor" && name == "name") continue;
    if (named && (name == "name" || name == "class")) continue;
    if (is_description(name)) {
      notes.warn(element, name, "is not known here; it cannot change the motion");
      continue;
    }
    notes.unknown(element, name, "is not an attribute that this element has");
  }
}

bool is_frame(std::string_view tag) { return tag == "frame" || tag == "replicate"; }

void check_children(const XmlElement& element, std::string_view context, Notes& notes) {
  if (element.has_text) notes.warn(element, "", "contains text, which has no meaning in the format");
  for (const XmlElement& child : element.children) {
    const Row* row = find_row(context, child.tag);
    if (is_frame(element.tag) && child.tag == "inertial") row = nullptr;
    if (row == nullptr) refuse(child, "", "is not an element that <" + element.tag.substr(0, 64) + "> has");
    switch (row->treatment) {
      case Treatment::kRead:
        check_attributes(child, *row, notes);
        // What other equalities contain is as unsupported as they are.
        if (row->tag != "*") check_children(child, is_frame(child.tag) ? context : child.tag, notes);
        break;
      case Treatment::kIgnored:
        break;
      case Treatment::kWarned:
        notes.warn(child, "", std::string(row->reason));
        break;
      case Treatment::kUnsupported:
        notes.unsupported(child, "", std::string(row->reason));
        break;
    }
  }
}

}  // namespace

std::span<const SchemaRow> schema_rows() { return kRows; }

void check_schema(const XmlElement& root, const std::vector<AttachedModel>& attached, Notes& notes) {
  if (root.tag != "mujoco") refuse(root, "", "is not the root of a MuJoCo document, which is <mujoco>");
  check_attributes(root, kRows[0], notes);
  check_children(root, root.tag, notes);
  for (const AttachedModel& model : attached) {
    XmlElement own;
    own.tag = root.tag;
    own.children = model.compiler;
    own.children.push_back(model.defaults);
    check_children(own, own.tag, notes);
  }
}

}  // namespace axion::import
