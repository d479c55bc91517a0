// Meshes of MJCF: their mass, frame and hull beside MuJoCo's, the files they come in, and files that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "engine/import/mesh_data.hpp"
#include "engine/import/mjcf.hpp"
#include "engine/import/urdf.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/principal_axes.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import::mjcf_mesh_test {
namespace {

using model::Vec3d;

std::string scene_of(const std::string& assets, const std::string& geom, const std::string& compiler = "") {
  return "<mujoco><compiler " + compiler + "/><asset>" + assets +
         "</asset><worldbody><body name=\"b\" pos=\"0 0 1\"><freejoint/>" + geom + "</body></worldbody></mujoco>";
}

const char* const kWedge =
    "<mesh name=\"m\" vertex=\"0 0 0 .3 0 0 0 .2 0 0 0 .4 .3 .2 0\" scale=\"1 1.5 .7\" refpos=\".1 0 0\" refquat=\"1 "
    ".2 .3 0\"/>";

std::string dented(const std::string& inertia) {
  return "<mesh name=\"m\" inertia=\"" + inertia +
         "\" vertex=\"-.1 -.1 -.2 .1 -.1 -.2 .1 .1 -.2 -.1 .1 -.2 0 0 .3 0 0 .1\" "
         "face=\"0 2 1 0 3 2 0 1 5 1 4 5 1 2 4 2 3 4 3 0 4 0 5 4\"/>";
}

ImportedScene read(const std::string& xml, const ImportOptions& options = {}) {
  Result<ImportedScene> imported = import_mjcf(xml, options);
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  return imported.ok() ? std::move(imported).value() : ImportedScene{};
}

std::string error_of(const std::string& xml, const ImportOptions& options = {}) {
  const Result<ImportedScene> imported = import_mjcf(xml, options);
  return imported.ok() ? "" : imported.error().message;
}

// What MuJoCo 3's compiler gives the same document: mass, centre of mass in the body, principal moments in order.
struct Reference {
  double mass;
  Vec3d centre, moments;
};

void expect_mass(const std::string& xml, const Reference& reference) {
  const ImportedScene imported = read(xml);
  ASSERT_EQ(imported.scene.bodies.size(), 1u);
  const model::BodySpec& body = imported.scene.bodies[0];
  EXPECT_NEAR(body.mass, reference.mass, 1e-6 * reference.mass);  // MuJoCo keeps vertices as floats
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(body.p_BoBcm[i], reference.centre[i], 1e-6);
  math::Mat3<double> V;
  math::Vec3<double> d;
  model::symmetric_eigen(model::to_matrix(body.I_Bcm), V, d);
  double moments[3] = {d.x, d.y, d.z};
  std::sort(moments, moments + 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(moments[i], reference.moments[i], 1e-6 * reference.moments[2]);
}

TEST(MjcfMesh, mass_centre_and_inertia_are_those_of_mujoco) {
  const std::string geom = "<geom type=\"mesh\" mesh=\"m\"/>";
  expect_mass(scene_of(kWedge, "<geom type=\"mesh\" mesh=\"m\" pos=\".1 .2 .3\" euler=\"30 10 20\"/>"),
              {8.400000584125529,
               {0.021131547840287257, 0.29240663919975796, 0.41625766578925316},
               {0.04959262918492666, 0.08243462357597968, 0.10125867790401898}});
  expect_mass(scene_of(dented("convex"), geom), {6.666667064030973,
                                                 {0, 0, -0.07499999925494194},
                                                 {0.026666669050852538, 0.07583334197600716, 0.07583334197600716}});
  const Reference dent{6.000000342726715,
                       {0, 0.005555555776313498, -0.08333333291941218},
                       {0.02376421955914761, 0.06348148857976955, 0.06505060458912955}};
  expect_mass(scene_of(dented("exact"), geom), dent);
  expect_mass(scene_of(dented("legacy"), geom), dent);
  expect_mass(scene_of(dented("shell"), geom), {252.8776440387099,
                                                {0, 0.0013775524701465274, -0.05684835976921024},
                                                {1.5908396400873681, 4.738957241918054, 4.804245767105076}});
}

TEST(MjcfMesh, solids_that_are_new_as_shapes_weigh_what_mujoco_says) {
  expect_mass(scene_of("", "<geom type=\"cylinder\" size=\".1 .2\" pos=\".1 0 0\" euler=\"10 20 30\"/>"),
              {12.566370614359174, {0.1, 0, 0}, {0.06283185307179588, 0.19896753472735362, 0.19896753472735362}});
  expect_mass(scene_of("", "<geom type=\"ellipsoid\" size=\".1 .2 .05\" density=\"500\"/>"),
              {2.0943951023931957, {0, 0, 0}, {0.005235987755982991, 0.017802358370342167, 0.020943951023931963}});
}

TEST(MjcfMesh, becomes_a_shape_in_the_frame_of_its_mass) {
  const ImportedScene imported =
      read(scene_of(kWedge, "<geom name=\"g\" type=\"mesh\" mesh=\"m\" pos=\".1 .2 .3\" euler=\"30 10 20\"/>"));
  ASSERT_EQ(imported.scene.shapes.size(), 1u);
  const model::ShapeSpec& shape = imported.scene.shapes[0];
  EXPECT_EQ(shape.kind, model::ShapeKind::kMesh);
  EXPECT_EQ(shape.mesh, "m");
  const Vec3d centre{0.021131547840287257, 0.29240663919975796, 0.41625766578925316};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(shape.X_BS.position[i], centre[i], 1e-6);
  ASSERT_EQ(imported.scene.meshes.size(), 1u);
  EXPECT_EQ(imported.scene.meshes[0].vertices.size(), 5u);
  EXPECT_TRUE(model::compile(imported.scene).ok());
}

TEST(MjcfMesh, gives_its_size_to_a_solid_that_is_fitted_to_it) {
  const ImportedScene imported = read(scene_of(kWedge, "<geom type=\"capsule\" mesh=\"m\"/>"));
  ASSERT_EQ(imported.scene.shapes.size(), 1u);
  EXPECT_EQ(imported.scene.shapes[0].kind, model::ShapeKind::kCapsule);
  EXPECT_NEAR(imported.scene.shapes[0].size[0], 0.09232793615279442, 1e-7);
  EXPECT_NEAR(imported.scene.shapes[0].size[1], 0.10858275065749702, 1e-7);
  EXPECT_NEAR(imported.scene.bodies[0].mass, 9.112531530271651, 1e-5);
}

// A tetrahedron in each of the formats.
constexpr float kCorners[4][3] = {{0, 0, 0}, {0.3f, 0, 0}, {0, 0.2f, 0}, {0, 0, 0.4f}};
constexpr int kFaces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string stl() {
  std::string bytes(80, ' ');
  append(bytes, std::uint32_t{4});
  for (const auto& face : kFaces) {
    for (int i = 0; i < 3; ++i) append(bytes, 0.0f);
    for (int corner : face) {
      for (float x : kCorners[corner]) append(bytes, x);
    }
    append(bytes, std::uint16_t{0});
  }
  return bytes;
}

std::string msh() {
  std::string bytes;
  for (std::int32_t count : {4, 0, 0, 4}) append(bytes, count);
  for (const auto& corner : kCorners) append(bytes, corner);
  for (const auto& face : kFaces) append(bytes, face);
  return bytes;
}

const char* const kObj =
    "# tetrahedron\nv 0 0 0\nv 0.3 0 0\r\nv 0 0.2 0\nv 0 0 0.4 1.0\nvn 0 0 1\nf 1/1/1 3/2/1 2//1\nf 1 2 4\nf 2 3 4\nf "
    "-2 -4 -1\n";

TEST(MjcfMesh, reads_stl_obj_and_msh_by_name_with_or_without_the_directory) {
  const double volume = 0.3 * 0.2 * 0.4 / 6;
  const struct {
    const char *file, *key, *compiler;
    std::string bytes;
  } cases[] = {{"t.stl", "t.stl", "", stl()},
               {"parts/t.STL", "meshes/parts/t.STL", "meshdir=\"meshes\"", stl()},
               {"parts/t.obj", "t.obj", "meshdir=\"meshes/\"", kObj},
               {"t.msh", "t.msh", "assetdir=\"a\"", msh()}};
  for (const auto& c : cases) {
    ImportOptions options;
    options.assets[c.key] = c.bytes;
    const ImportedScene imported =
        read(scene_of("<mesh file=\"" + std::string(c.file) + "\"/>", "<geom type=\"mesh\" mesh=\"t\"/>", c.compiler),
             options);
    ASSERT_EQ(imported.scene.bodies.size(), 1u) << c.file;
    EXPECT_NEAR(imported.scene.bodies[0].mass, 1000 * volume, 1e-5) << c.file;
    ASSERT_EQ(imported.scene.meshes.size(), 1u) << c.file;
    EXPECT_EQ(imported.scene.meshes[0].vertices.size(), 4u) << c.file;
  }
}

TEST(MjcfMesh, of_files_that_are_elsewhere_it_wants_what_it_needs_and_nothing_for_the_eye) {
  const std::string xml =
      scene_of("<mesh file=\"hull.stl\"/><mesh file=\"weight.stl\"/><mesh file=\"fit.stl\"/><mesh file=\"skin.stl\"/>",
               "<geom type=\"mesh\" mesh=\"hull\" mass=\"0\"/><geom type=\"sphere\" mesh=\"fit\" size=\"1\"/>"
               "<geom type=\"mesh\" mesh=\"weight\" contype=\"0\" conaffinity=\"0\"/>"
               "<geom type=\"mesh\" mesh=\"skin\" contype=\"0\" conaffinity=\"0\" mass=\"0\"/>",
               "meshdir=\"m\"");
  ImportOptions options{.allow_unsupported = true, .assets = {}};
  options.assets.elsewhere = {"m/hull.stl", "m/weight.stl", "m/fit.stl", "m/skin.stl", "m/other.stl"};
  EXPECT_TRUE(import_mjcf(xml, options).ok());
  const std::set<std::string> needed{"m/hull.stl", "m/weight.stl", "m/fit.stl"};
  EXPECT_EQ(options.assets.wanted, needed);
}

// As MuJoCo weighs them; its hull would have all vertices.
TEST(MjcfMesh, of_several_objects_of_a_file_the_first_alone_is_taken_with_a_warning) {
  const std::string far = "v 5 0 0\nv 6 0 0\nv 5 1 0\nv 5 0 1\n";
  const std::string faces = "f -4 -2 -3\nf -4 -3 -1\nf -3 -2 -1\nf -2 -4 -1\n";
  const struct {
    std::string text;
    int objects;
  } cases[] = {
      {"o first\n" + std::string(kObj) + "o second\n" + far + faces, 2},
      {std::string(kObj) + "g second\n" + far + faces + "g third\n" + faces, 3},
      {far + "o none\no first\nv 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .4\n" + faces + "o second\n" + far + faces, 2}};
  for (const auto& c : cases) {
    ImportOptions options;
    options.assets["t.obj"] = c.text;
    const ImportedScene imported =
        read(scene_of("<mesh file=\"t.obj\"/>", "<geom type=\"mesh\" mesh=\"t\"/>"), options);
    ASSERT_EQ(imported.scene.bodies.size(), 1u);
    EXPECT_NEAR(imported.scene.bodies[0].mass, 1000 * 0.3 * 0.2 * 0.4 / 6, 1e-5) << c.text;
    ASSERT_EQ(imported.scene.meshes.size(), 1u);
    for (const Vec3d& v : imported.scene.meshes[0].vertices) EXPECT_LT(v[0], 0.5);
    ASSERT_EQ(imported.warnings.size(), 1u);
    EXPECT_NE(imported.warnings[0].find("has " + std::to_string(c.objects) + " objects, of which the first alone"),
              std::string::npos)
        << imported.warnings[0];
  }
}

// A pyramid of 20/3 l without one of its sides, which goes in to a point instead: by `depth` 0.18 m it loses 2.8 l.
std::string hollow_obj(double depth, bool is_open, bool has_corners_of_its_own) {
  const double at[6][3] = {{-.1, -.1, -.2}, {.1, -.1, -.2}, {.1, .1, -.2},
                           {-.1, .1, -.2},  {0, 0, .3},     {0, -.1 + depth, -.15}};
  const int faces[8][3] = {{0, 2, 1}, {0, 3, 2}, {0, 1, 5}, {1, 4, 5}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}, {0, 5, 4}};
  std::string vertices, lines;
  int count = 0;
  const auto vertex = [&](int i) {
    vertices +=
        "v " + std::to_string(at[i][0]) + " " + std::to_string(at[i][1]) + " " + std::to_string(at[i][2]) + "\n";
    return std::to_string(++count);
  };
  if (!has_corners_of_its_own) {
    for (int i = 0; i < 6; ++i) vertex(i);
  }
  for (const auto& face : faces) {
    if (is_open && &face == &faces[0]) continue;
    lines += "f";
    for (const int i : face) lines += " " + (has_corners_of_its_own ? vertex(i) : std::to_string(i + 1));
    lines += "\n";
  }
  return vertices + lines;
}

TEST(MjcfMesh, whose_hull_fills_its_hollows_is_a_warning) {
  struct Case {
    double depth;
    bool is_open, has_corners_of_its_own;
    const char* told;
  };
  for (const Case& c :
       {Case{0.18, false, false, "has 1.7 times its volume"}, Case{0.18, false, true, "has 1.7 times its volume"},
        Case{0.18, true, false, ""},      // it is open, and has no volume
        Case{0.08, false, false, ""}}) {  // 1.2 times
    ImportOptions options;
    options.assets["m.obj"] = hollow_obj(c.depth, c.is_open, c.has_corners_of_its_own);
    const ImportedScene mjcf = read(scene_of("<mesh file=\"m.obj\"/>", "<geom type=\"mesh\" mesh=\"m\"/>"), options);
    const Result<ImportedScene> urdf = import_urdf(
        "<robot name=\"r\"><link name=\"l\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" "
        "ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><mesh filename=\"m.obj\"/></geometry>"
        "</collision></link></robot>",
        options);
    ASSERT_TRUE(urdf.ok()) << urdf.error().message;
    for (const ImportedScene* scene : {&mjcf, &urdf.value()}) {
      ASSERT_EQ(scene->warnings.size(), *c.told == 0 ? 0u : 1u);
      if (*c.told != 0) {
        EXPECT_NE(scene->warnings[0].find(c.told), std::string::npos) << scene->warnings[0];
      }
    }
  }
}

TEST(MjcfMesh, that_is_only_seen_needs_no_file) {
  const ImportedScene imported = read(
      scene_of("<mesh file=\"absent.stl\"/>",
               "<geom type=\"mesh\" mesh=\"absent\" contype=\"0\" conaffinity=\"0\" mass=\"0\"/><geom size=\".1\"/>"));
  EXPECT_EQ(imported.scene.shapes.size(), 1u);
  EXPECT_TRUE(imported.warnings.empty());
}

TEST(MjcfMesh, that_is_wrong_is_refused_with_its_line_and_the_reason) {
  const std::string geom = "<geom type=\"mesh\" mesh=\"m\"/>";
  const auto vertices = [&](const std::string& v) { return scene_of("<mesh name=\"m\" vertex=\"" + v + "\"/>", geom); };
  EXPECT_NE(error_of(scene_of("<mesh name=\"m\" file=\"a.stl\"/>", geom)).find("was not sent along"),
            std::string::npos);
  EXPECT_NE(error_of(scene_of("<mesh name=\"o\" file=\"a.stl\"/>", geom)).find("names no mesh"), std::string::npos);
  EXPECT_NE(error_of(vertices("0 0 0 1 0 0 0 1 0")).find("four or more vertices"), std::string::npos);
  EXPECT_NE(error_of(vertices("0 0 0 1 0 0 0 1 0 1 1 0")).find("span a volume"), std::string::npos);
  EXPECT_NE(error_of(vertices("0 0 0 1 0 0 0 1 0 0 0 nan")).find("vertex"), std::string::npos);
  EXPECT_NE(error_of(scene_of("<mesh name=\"m\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" face=\"0 1 7\"/>", geom))
                .find("not there"),
            std::string::npos);
  EXPECT_NE(
      error_of(scene_of("<mesh name=\"m\" inertia=\"exact\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" face=\"0 1 2\"/>", geom))
          .find("closed surface"),
      std::string::npos);
  EXPECT_NE(error_of(scene_of(dented("solid"), geom)).find("inertia"), std::string::npos);
  EXPECT_NE(error_of(scene_of(dented("exact") + dented("exact"), geom)).find("a second time"), std::string::npos);
}

// A frame places meshes, and solids fitted to them, as it does other geoms; copies share one mesh.
TEST(MjcfMesh, is_placed_by_a_frame_and_copied_with_one_mesh) {
  for (const std::string geom : {"type=\"mesh\" mesh=\"m\"", "type=\"cylinder\" mesh=\"m\""}) {
    const std::string inside = "<geom " + geom + " pos=\".1 .2 .3\" euler=\"0 0 30\"/>";
    const ImportedScene plain = read(scene_of(kWedge, "<geom " + geom + " pos=\"-.1 .15 .3\" euler=\"0 0 120\"/>"));
    const ImportedScene framed =
        read(scene_of(kWedge, "<frame pos=\".1 .05 0\" euler=\"0 0 90\">" + inside + "</frame>"));
    ASSERT_EQ(framed.scene.shapes.size(), 1u);
    const model::PoseSpec &X = framed.scene.shapes[0].X_BS, &Y = plain.scene.shapes[0].X_BS;
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(X.position[k], Y.position[k], 1e-12) << geom;
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(X.rotation[k], Y.rotation[k], 1e-12) << geom;
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(framed.scene.bodies[0].p_BoBcm[k], plain.scene.bodies[0].p_BoBcm[k], 1e-12) << geom;
    }
    const ImportedScene copies =
        read(scene_of(kWedge, "<replicate count=\"3\" offset=\"1 0 0\" euler=\"0 0 20\">" + inside + "</replicate>"));
    EXPECT_EQ(copies.scene.shapes.size(), 3u);
    EXPECT_EQ(copies.scene.meshes.size(), geom.find("type=\"mesh\"") == 0 ? 1u : 0u);
    EXPECT_TRUE(model::compile(copies.scene).ok());
  }
}

// Every beginning of a file, and files with wrong bytes, are refused or read, and nothing else happens.
TEST(MjcfMesh, files_cut_off_or_with_wrong_bytes_do_no_harm) {
  std::mt19937 random(5);
  for (const auto& [name, whole] :
       {std::pair<std::string, std::string>{"m.stl", stl()}, {"m.obj", kObj}, {"m.msh", msh()}}) {
    const std::string xml = scene_of("<mesh file=\"" + name + "\"/>", "<geom type=\"mesh\" mesh=\"m\"/>");
    const auto offer = [&, file = name](const std::string& bytes) {
      ImportOptions options;
      options.assets[file] = bytes;
      const Result<ImportedScene> imported = import_mjcf(xml, options);
      if (!imported.ok()) {
        EXPECT_FALSE(imported.error().message.empty());
        return;
      }
      EXPECT_TRUE(model::compile(imported.value().scene).ok());
    };
    for (std::size_t length = 0; length <= whole.size(); ++length) offer(whole.substr(0, length));
    for (int i = 0; i < 2000; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 1 + i % 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
      offer(bytes);
    }
  }
}

// Parts of a hull's decomposition that have no thickness touch as thin plates; what has no width is refused.
TEST(MjcfMesh, what_lies_in_a_plane_touches_as_a_plate) {
  const auto document = [](const std::string& vertices) {
    return scene_of("<mesh name='m' vertex='" + vertices + "' face='0 1 2 0 2 3'/>",
                    "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><geom type='mesh' mesh='m'/>");
  };
  const ImportedScene scene = read(document(".1 0 0 .1 .3 0 .1 .3 .4 .1 0 .4"));
  ASSERT_EQ(scene.warnings.size(), 1u);
  EXPECT_NE(scene.warnings[0].find("a plate of 0.5 mm"), std::string::npos) << scene.warnings[0];
  ASSERT_EQ(scene.scene.meshes.size(), 1u);
  ASSERT_EQ(scene.scene.meshes[0].vertices.size(), 8u);
  ASSERT_EQ(scene.scene.shapes.size(), 1u);
  const model::Pose X = model::to_pose(scene.scene.shapes[0].X_BS);
  for (const Vec3d& v : scene.scene.meshes[0].vertices) {
    EXPECT_NEAR(std::abs((X * model::to_vec3(v)).x - 0.1), 2.5e-4, 1e-9);
  }
  EXPECT_TRUE(model::compile(scene.scene).ok());
  EXPECT_NE(error_of(document("0 0 0 .1 0 0 .2 0 0 .3 0 0")).find("span a volume"), std::string::npos);
}

}  // namespace
}  // namespace axion::import::mjcf_mesh_test
