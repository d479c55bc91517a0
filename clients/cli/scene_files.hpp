// Files that MJCF and URDF documents name, collected from this machine.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace axion::cli {

// The text, with U+FFFD in the place of each byte that is no part of UTF-8, which alone a message can carry.
std::string as_utf8(std::string_view text);

// Whether a file is URDF: by its name, else by its root element.
bool is_urdf(const std::string& path, const std::string& text);

// The files that an MJCF document at `path` refers to, by the names that the server looks for: what it and these
// include, models that are attached, meshes (STL, OBJ, MSH) and height fields by the compiler's mesh directory. Files
// of a model that is attached are looked for from its folder on, and named with that before them; then from that of
// the included document that names them. Files that are not there are left out, and the server says so if it needs
// them. One that is there and may not be sent (file_access.hpp) is an error; `file_folders` allow more.
absl::StatusOr<std::map<std::string, std::string>> files_of_mjcf(const std::string& path, const std::string& text,
                                                                 const std::vector<std::string>& file_folders = {});

// The meshes that links collide with, by the names that the document has; meshes that are not there are left out, and
// the server says so if it needs them. package://PACKAGE/FILE is looked for in ROS_PACKAGE_PATH and in the folders that
// the document is in, package://FILE beside it, and what is not beside it from those folders on.
// One that is there and may not be sent is an error, as with files_of_mjcf; packages in the folders that the document
// is in are those with a package.xml.
absl::StatusOr<std::map<std::string, std::string>> meshes_of_urdf(const std::string& path, const std::string& text,
                                                                  const std::vector<std::string>& file_folders = {});

}  // namespace axion::cli
