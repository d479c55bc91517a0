// Files that a document names, among those that were sent along. Used inside engine/import only.
#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "engine/import/xml_tree.hpp"

namespace axion::import {

inline std::string_view without_directory(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The name of an asset that has none of its own.
inline std::string_view asset_name(std::string_view file) {
  const std::string_view base = without_directory(file);
  return base.substr(0, base.find_last_of('.'));
}

// With its point, in small letters.
inline std::string extension_of(std::string_view file) {
  std::string extension(file.substr(std::min(file.find_last_of('.'), file.size())));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

// A file in a directory, which may be empty.
inline std::string joined_path(std::string directory, std::string_view file) {
  if (!directory.empty() && directory.back() != '/') directory += '/';
  return directory.append(file);
}

// Under the name with the directory before it, under the name alone, or without any directory.
inline std::optional<std::string_view> find_asset(const XmlFiles& files, const std::string& directory,
                                                  const std::string& file) {
  for (const std::string& name : {joined_path(directory, file), file, std::string(without_directory(file))}) {
    const auto found = files.look_up(name);
    if (found != files.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace axion::import
