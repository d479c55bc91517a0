// COLLADA (DAE) files: the triangles and polygons of the scene, in metres.
//
// Nodes of the scene are placed as the file says and its unit is applied; its up axis is not, as programs of ROS have
// it. Lines, skins and splines are passed over. Hostile input: limits of xml_tree, and on vertices, faces and nodes
// that are visited. Used inside engine/import only.
#pragma once

#include <string_view>

#include "engine/base/result.hpp"
#include "engine/import/mesh_data.hpp"

namespace axion::import {

// The message of an error continues "the file ...".
Result<MeshData> read_dae(std::string_view bytes);

}  // namespace axion::import
