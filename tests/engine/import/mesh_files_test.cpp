// STL files of text and COLLADA files: what is read, and that what cannot be is said.
#include <gtest/gtest.h>

#include <string>

#include "engine/import/mesh_data.hpp"
#include "engine/import/mesh_mass.hpp"

namespace axion::import::mesh_files_test {
namespace {

const std::string kFacets = R"(solid wedge
facet normal 0 0 -1
 outer loop
  vertex 0 0 0
  vertex 0 1 0
  vertex 1 0 0
 endloop
endfacet
facet normal 0 -1 0
 outer loop
  vertex 0 0 0
  vertex 1.0e0 0 0
  vertex 0 0 +1
 endloop
endfacet
endsolid wedge
)";

TEST(MeshFiles, stl_of_text) {
  const Result<MeshData> mesh = read_mesh(kFacets, MeshFormat::kStl);
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_EQ(mesh.value().vertices.size(), 4u);  // equal corners are one
  EXPECT_EQ(mesh.value().faces.size(), 2u);
  for (const char* bad :
       {"solid", "solid x\nvertex 1 2\n", "solid x\nvertex 1 2 nan\n", "solid x\nvertex 1 2 3\nvertex 1 2 4\n"}) {
    EXPECT_FALSE(read_mesh(bad, MeshFormat::kStl).ok()) << bad;
  }
}

// A unit cube of quads in inches, twice: where the outer node puts it, and smaller in the node within.
std::string collada(const std::string& nodes, const std::string& unit = "<unit meter='.0254'/>") {
  return "<?xml version='1.0'?><COLLADA xmlns='x'><asset>" + unit + R"(<up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id='cube'><mesh>
 <source id='points'><float_array id='numbers' count='24'>0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1</float_array>
  <technique_common><accessor source='#numbers' count='8' stride='3'/></technique_common></source>
 <vertices id='corners'><input semantic='POSITION' source='#points'/></vertices>
 <polylist count='6'><input semantic='VERTEX' source='#corners' offset='0'/>
 <input semantic='NORMAL' source='#n' offset='1'/>
  <vcount>4 4 4 4 4 4</vcount>
  <p>3 0 2 0 1 0 0 0 4 0 5 0 6 0 7 0 0 0 1 0 5 0 4 0 1 0 2 0 6 0 5 0 2 0 3 0 7 0 6 0 3 0 0 0 4 0 7 0</p></polylist>
 <lines count='1'><input semantic='VERTEX' source='#corners' offset='0'/><p>0 1</p></lines>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id='s'>)" +
         nodes +
         "</visual_scene></library_visual_scenes><scene>"
         "<instance_visual_scene url='#s'/></scene></COLLADA>";
}

TEST(MeshFiles, collada_places_its_nodes_and_applies_its_unit) {
  const std::string nodes =
      "<node><translate>0 0 10</translate><rotate>0 0 1 90</rotate><instance_geometry url='#cube'/>"
      "<node><matrix>2 0 0 5  0 2 0 0  0 0 -2 0  0 0 0 1</matrix><instance_geometry url='#cube'/></node></node>";
  const Result<MeshData> mesh = read_mesh(collada(nodes), MeshFormat::kDae);
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  ASSERT_EQ(mesh.value().vertices.size(), 16u);
  EXPECT_EQ(mesh.value().faces.size(), 24u);
  // Of the corner (1 0 0), which is the fourth that a face has: turned to (0 1 0), and 10 inches up; z stays z.
  const model::Vec3d corner = mesh.value().vertices[2];
  EXPECT_NEAR(corner[0], 0, 1e-12);
  EXPECT_NEAR(corner[1], .0254, 1e-12);
  EXPECT_NEAR(corner[2], .254, 1e-12);
  // Faces look outwards in a mirror too: the volumes of 1 and 8 cubic inches add up with their signs.
  const Result<MeshMass> mass = mesh_mass(mesh.value(), MeshInertia::kExact);
  ASSERT_TRUE(mass.ok()) << mass.error().message;
  EXPECT_NEAR(mass.value().volume, 9 * .0254 * .0254 * .0254, 1e-15);
}

TEST(MeshFiles, collada_that_cannot_be_read_says_why) {
  const auto message = [](const std::string& text) {
    const Result<MeshData> mesh = read_mesh(text, MeshFormat::kDae);
    return mesh.ok() ? std::string("was read") : mesh.error().message;
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(message(text).find(part), std::string::npos) << message(text);
  };
  const std::string node = "<node><instance_geometry url='#cube'/></node>";
  const std::string good = collada(node);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(message(good), "was read");
  expect("", "is no COLLADA file");
  expect("<mesh/>", "is no COLLADA file");
  expect("<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA/>", "is no COLLADA file");
  expect(collada(""), "has no triangles");
  expect(changed("0 0 0 1 0 0 1", "0 0 0 nan 0 0 1"), "something else than numbers");
  expect(changed("<p>3 0", "<p>8 0"), "no such vertex");
  expect(changed("<p>3 0", "<p>-3 0"), "no such vertex");
  expect(changed("<vcount>4", "<vcount>400"), "fewer corners");
  expect(changed("source='#points'", "source='#nothing'"), "without positions");
  expect(collada("<node><skew>1</skew></node>"), "skew");
  expect(collada(node, "<unit meter='0'/>"), "no length");
  // Nodes that hold themselves, and each other many times over.
  expect(collada("<node id='n'><instance_node url='#n'/></node>"), "deep");
  std::string bomb;
  for (int i = 0; i < 20; ++i) {
    bomb += "<node id='b" + std::to_string(i) + "'>";
    for (int k = 0; k < 10; ++k) bomb += "<instance_node url='#b" + std::to_string(i + 1) + "'/>";
    bomb += "</node>";
  }
  expect(collada(bomb), "nodes");
}

}  // namespace
}  // namespace axion::import::mesh_files_test
