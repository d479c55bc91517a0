// Files that a URDF document names, collected from this machine.
#pragma once

#include <map>
#include <string>

namespace axion::cli {

// Whether a file is URDF: by its name, else by its root element.
bool is_urdf(const std::string& path, const std::string& text);

// The meshes that links collide with, by the names that the document has; those that are not there are left out, and
// the server says so if it needs them. package://PACKAGE/FILE is looked for in ROS_PACKAGE_PATH and in the folders that
// the document is in.
std::map<std::string, std::string> meshes_of_urdf(const std::string& path, const std::string& text);

}  // namespace axion::cli
