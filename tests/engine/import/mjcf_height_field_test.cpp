// Height fields of MJCF: their heights beside those that MuJoCo 3 has of the same data in the document, in its own
// format and in pictures, rays against them beside its rays, and files that are wrong.
#include <cstring>
#include <string>

#include "engine/collide/find_contacts.hpp"
#include "engine/collide/ray_shapes.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/validate_scene.hpp"
#include "tests/engine/import/imported_world.hpp"

namespace axion::import::mjcf_height_field_test {
namespace {

std::string scene_of(const std::string& asset, const std::string& geom = "") {
  return "<mujoco><asset>" + asset + "</asset><worldbody><geom name=\"g\" type=\"hfield\" hfield=\"h\"" + geom +
         "/></worldbody></mujoco>";
}

template <std::size_t kSize>
std::string bytes_of(const char (&bytes)[kSize]) {
  return {bytes, kSize - 1};
}

std::string binary(int rows, int columns, const std::vector<float>& heights) {
  std::string bytes(8 + 4 * heights.size(), '\0');
  std::memcpy(bytes.data(), &rows, 4);
  std::memcpy(bytes.data() + 4, &columns, 4);
  std::memcpy(bytes.data() + 8, heights.data(), 4 * heights.size());
  return bytes;
}

// Three columns and two rows, above 10 50 90 and below 255 0 128 in red; and the same in 16 bits of grey.
const std::string kRgb = bytes_of(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x03\x00\x00\x00\x02\x08\x02\x00\x00"
    "\x00\x12\x16\xf1\x4d\x00\x00\x00\x1c\x49\x44\x41\x54\x78\x9c\x63\xe4\x3a\xc1\xac\x61\xf9\x5f\xe3\xff\x3f\x86\xff"
    "\x0c\x0c\x0c\x0c\x0c\x0d\xcc\xcc\x00\x46\x58\x05\xe1\xfd\x73\x3b\x60\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60"
    "\x82");
const std::string kGrey16 = bytes_of(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x03\x00\x00\x00\x02\x10\x00\x00\x00"
    "\x00\xe8\x8f\xe5\x85\x00\x00\x00\x16\x49\x44\x41\x54\x78\x9c\x63\xe4\x3a\xa1\xc1\xa0\xc1\xc0\xf2\x95\x81\x91\xc1"
    "\x8f\x01\x00\x13\x98\x02\x6c\x84\xc3\xdc\x4e\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82");

void expect_heights(const std::string& xml, const ImportOptions& options, const std::vector<double>& expected) {
  const Result<ImportedScene> imported = import_mjcf(xml, options);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const model::SceneSpec& scene = imported.value().scene;
  ASSERT_EQ(scene.height_fields.size(), 1u);
  const model::HeightFieldSpec& field = scene.height_fields[0];
  EXPECT_EQ(field.rows, 2);
  EXPECT_EQ(field.columns, 3);
  EXPECT_EQ(field.half_x, 1);
  EXPECT_EQ(field.half_y, 2);
  EXPECT_EQ(field.base, 0.1);
  ASSERT_EQ(field.heights.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(field.heights[i], 0.5 * expected[i], 1e-6) << i;
  ASSERT_EQ(scene.shapes.size(), 1u);
  EXPECT_EQ(scene.shapes[0].kind, model::ShapeKind::kHeightField);
  EXPECT_TRUE(model::compile(scene).ok());
}

TEST(MjcfHeightField, heights_in_the_document_and_in_files_are_those_of_mujoco) {
  const std::string size = " size=\"1 2 .5 .1\"/>";
  expect_heights(scene_of("<hfield name=\"h\" nrow=\"2\" ncol=\"3\" elevation=\"1 2 3 4 5 6.5\"" + size), {},
                 {0.54545456, 0.72727275, 1, 0, 0.18181819, 0.36363637});
  expect_heights(scene_of("<hfield name=\"h\" nrow=\"2\" ncol=\"3\"" + size), {}, {0, 0, 0, 0, 0, 0});
  ImportOptions files;
  files.assets["maps/a.bin"] = binary(2, 3, {1, 2, 3, 4, 5, 6.5});
  files.assets["rgb.png"] = kRgb, files.assets["h.PNG"] = kGrey16, files.assets["plain"] = kGrey16;
  const std::string map = scene_of("<hfield name=\"h\" nrow=\"7\" file=\"a.bin\"" + size);
  expect_heights("<mujoco><compiler meshdir=\"maps\"/>" + map.substr(8), files,
                 {0, 0.18181819, 0.36363637, 0.54545456, 0.72727275, 1});
  const std::vector<double> picture{1, 0, 128 / 255.0, 10 / 255.0, 50 / 255.0, 90 / 255.0};
  expect_heights(scene_of("<hfield name=\"h\" file=\"rgb.png\"" + size), files, picture);
  expect_heights(scene_of("<hfield file=\"h.PNG\"" + size), files, picture);
  expect_heights(scene_of("<hfield name=\"h\" content_type=\"image/png\" file=\"plain\"" + size), files, picture);
}

// Rays into a turned field, and the distances that MuJoCo 3 gives.
TEST(MjcfHeightField, rays_meet_the_surface_where_they_do_in_mujoco) {
  const struct {
    math::Vec3<double> p, d;
    double distance;
  } kRays[] = {
      {{-0.08, -1.02, 1.2}, {-0.53491497346456174, 0.54660950137405839, -0.64427014844008601}, 0.74763756389520186},
      {{-0.28, 0.26, 1.21}, {0.82353642665496296, 0.1364643165242426, -0.55060443540526105}, -1},
      {{-0.5, -1.23, 0.98}, {0.70294880445587993, 0.62858434351730541, -0.33278326490219912}, -1},
      {{1.4, -0.32, 0.44}, {-0.98820758963611388, 0.12451440633722494, 0.089117464057670653}, 1.1770116435955094},
      {{1.48, -0.67, 0.69}, {-0.87658845778322947, 0.45852985455972034, -0.14609260131389681}, 1.3157481205699888},
      {{1.4, -0.99, 1.89}, {-0.46047896249211512, 0.67261015297794802, -0.57927084098301274}, 2.4825797470637774},
      {{0.72, -0.4, 0.77}, {-0.29412636738815062, 0.91164910504537444, -0.28702889972443263}, 1.2549960131125073},
      {{-0.45, -0.36, 1.73}, {0.31173278173221036, 0.13502328052277507, -0.94052718541803249}, 1.1391363774818792},
      {{1.79, 1.03, 1.23}, {-0.81195465101965492, 0.01638607519918674, -0.58349048083676314}, 1.2699645954845584},
      {{2, -1.07, 0.61}, {-0.46569819586368977, 0.7983568258493603, -0.3817742382469495}, 1.5597491088445605},
      {{-1.3, 0.8, 1.81}, {0.64019433973980877, -0.41469074054327254, -0.64667054755322095}, 1.7933025954109159},
      {{1.51, 0.55, 0.64}, {-0.98573885725722155, -0.035926860646502787, -0.16440245125092801}, 1.2215948683085267},
      {{0.68, 0.35, 1.36}, {-0.14457750108218992, -0.5844249983965476, -0.79846400509354498}, 1.1304628094788431},
      {{1.43, 0.42, 0.93}, {-0.88191249217644652, -0.39144107709202286, -0.2626865799925191}, 1.4184722959694687},
  };
  const ImportedScene scene =
      imported(scene_of("<hfield name=\"h\" nrow=\"3\" ncol=\"4\" size=\"1.5 1 .6 .2\" "
                        "elevation=\"1 2 0 4  5 3 1.5 0  2 6 2.5 1\"/>",
                        " pos=\".1 .2 .3\" euler=\"10 20 30\""));
  const model::CompiledModel compiled = model::compile(scene.scene).value();
  const auto m = compiled.arrays.view();
  const auto& shape = m.shapes[0];
  const math::Mat3<double> R = math::to_matrix(shape.q_CS);
  for (const auto& ray : kRays) {
    const double distance = collide::cast_ray(collide::shape_of(m, shape), math::transpose_times(R, ray.p - shape.p_CS),
                                              math::transpose_times(R, ray.d));
    EXPECT_NEAR(distance, ray.distance, 1e-6);
  }
}

TEST(MjcfHeightField, what_is_wrong_is_refused_by_its_name) {
  const std::string size = " size=\"1 2 .5 .1\"/>", grid = "<hfield name=\"h\" nrow=\"2\" ncol=\"3\"";
  expect_refused(scene_of(grid + "/>"), "hfield.size", "is required");
  expect_refused(scene_of(grid + " size=\"1 2 .5 0\"/>"), "hfield.size", "positive");
  expect_refused(scene_of(grid + " elevation=\"1 2\"" + size), "hfield.elevation", "nrow times ncol");
  expect_refused(scene_of(grid + " elevation=\"1 2 3 4 5 1e39\"" + size), "hfield.elevation", "out of range");
  expect_refused(scene_of("<hfield name=\"h\" nrow=\"2\"" + size), "hfield.ncol", "at least 2");
  expect_refused(scene_of("<hfield name=\"h\" nrow=\"99999\" ncol=\"99999\"" + size), "hfield.nrow", "1048576");
  expect_refused(scene_of("<hfield nrow=\"2\" ncol=\"3\"" + size), "hfield.name", "is required");
  expect_refused(scene_of(grid + size + grid + size), "hfield.name", "second time");
  expect_refused(scene_of(""), "geom.hfield", "names no height field");
  expect_refused(scene_of("<hfield name=\"h\" file=\"a.png\"" + size), "geom.hfield", "not sent along");
  expect_refused("<mujoco><asset>" + grid + size +
                     "</asset><worldbody><body><freejoint/><geom size=\".1\"/><geom type=\"hfield\" hfield=\"h\"/>"
                     "</body></worldbody></mujoco>",
                 "geom", "of a height field must be the world");
  EXPECT_TRUE(
      import_mjcf(scene_of("<hfield name=\"h\" file=\"a.png\"" + size, " contype=\"0\" conaffinity=\"0\"")).ok());
}

TEST(MjcfHeightField, files_that_are_wrong_are_refused) {
  std::string broken = kRgb;
  broken[60] ^= 1;
  std::string huge = kRgb;  // of which the header alone says how large the picture is
  huge[17] = huge[21] = 1;
  const struct {
    const char* name;
    std::string bytes;
    const char* what;
  } kFiles[] = {
      {"a.bin", "", "shorter than"},
      {"a.bin", binary(2, 3, {1, 2, 3, 4, 5}), "bytes"},
      {"a.bin", binary(2, 3, {1, 2, 3, 4, 5, 6, 7}), "bytes"},
      {"a.bin", binary(-2, -3, {1, 2, 3, 4, 5, 6}), "at least 2"},
      {"a.bin", binary(1, 6, {1, 2, 3, 4, 5, 6}), "at least 2"},
      {"a.bin", binary(1 << 30, 1 << 30, {1}), "1048576"},
      {"a.bin", binary(2, 2, {1, 2, 3, std::numeric_limits<float>::quiet_NaN()}), "not finite"},
      {"a.png", "", "no PNG"},
      {"a.png", "P6 3 2 255", "no PNG"},
      {"a.png", kRgb.substr(0, 20), "no PNG"},
      {"a.png", kRgb.substr(0, 60), "no PNG"},
      {"a.png", broken, "no PNG"},
      {"a.png", huge, "no PNG"},
  };
  for (const auto& file : kFiles) {
    ImportOptions options;
    options.assets[file.name] = file.bytes;
    const std::string xml = scene_of("<hfield name=\"h\" size=\"1 2 .5 .1\" file=\"" + std::string(file.name) + "\"/>");
    const Result<ImportedScene> result = import_mjcf(xml, options);
    ASSERT_FALSE(result.ok()) << file.what;
    EXPECT_EQ(result.error().field, "hfield.file");
    EXPECT_THAT(result.error().message, ::testing::HasSubstr(file.what));
  }
}

}  // namespace
}  // namespace axion::import::mjcf_height_field_test
