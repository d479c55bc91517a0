// Files that a document names, among those that were sent along. Used inside engine/import only.
#pragma once

#include <algorithm>
#include <array>
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

// Names that a file may have: with the directory before its own, its own, and that without any directory.
inline std::array<std::string, 3> asset_names(const std::string& directory, const std::string& file) {
  return {joined_path(directory, file), file, std::string(without_directory(file))};
}

inline std::optional<std::string_view> find_asset(const XmlFiles& files, const std::string& directory,
                                                  const std::string& file) {
  for (const std::string& name : asset_names(directory, file)) {
    const auto found = files.look_up(name);
    if (found != files.end()) return found->second;
  }
  return std::nullopt;
}

// The name of a file of a mesh that is drawn, which is noted as wanted where `wanted` says so; "" where there is none.
template <typename Names>
std::string visual_file(const XmlFiles& files, const Names& names, bool wanted) {
  for (const std::string& name : names) {
    const std::string known(files.known(name));
    if (known.empty()) continue;
    if (wanted) files.look_up(known);
    return known;
  }
  return "";
}

}  // namespace axion::import
