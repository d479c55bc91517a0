#include "engine/import/mjcf_height_fields.hpp"

#include <algorithm>
#include <cmath>

#include "engine/import/asset_files.hpp"
#include "engine/import/height_field_data.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

HeightFieldFormat format_of(const Attributes& a, std::string_view file) {
  const std::string type = a.text("content_type", "");
  if (type == "image/png" || (type.empty() && extension_of(file) == ".png")) return HeightFieldFormat::kPng;
  if (!type.empty() && type != "image/vnd.mujoco.hfield") {
    a.refuse("content_type", "must be image/png or image/vnd.mujoco.hfield");
  }
  return HeightFieldFormat::kBinary;
}

// Heights that the document itself gives, its first row that of the greatest y; flat where it gives none.
HeightFieldData inline_field(const Attributes& a) {
  HeightFieldData field{a.integer("ncol", 0), a.integer("nrow", 0), {}};
  for (const char* name : {"nrow", "ncol"}) {
    if (a.integer(name, 0) < 2) a.refuse(name, "must be at least 2 without a file");
  }
  if (field.rows > model::kMaxFieldHeights / field.columns) {
    a.refuse("nrow", "times ncol must be at most " + std::to_string(model::kMaxFieldHeights));
  }
  const auto rows = std::size_t(field.rows), columns = std::size_t(field.columns);
  field.heights.resize(rows * columns);
  if (!a.has("elevation")) return field;
  const std::vector<double> heights = parse_numbers(a.element(), *a.element().find("elevation"));
  if (heights.size() != field.heights.size()) {
    a.refuse("elevation", "must have nrow times ncol numbers, " + std::to_string(field.heights.size()) + "; it has " +
                              std::to_string(heights.size()));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const auto height = static_cast<float>(heights[r * columns + c]);
      if (!std::isfinite(height)) a.refuse("elevation", "has a number that is out of range");
      field.heights[(rows - 1 - r) * columns + c] = height;
    }
  }
  return field;
}

}  // namespace

HeightFieldAssets::HeightFieldAssets(const XmlElement& root, const DocumentSettings& documents, const XmlFiles& files)
    : documents_(documents), files_(files) {
  for (const XmlElement& section : root.children) {
    if (section.tag != "asset") continue;
    for (const XmlElement& element : section.children) {
      if (element.tag != "hfield") continue;
      const Attributes a(element);
      const std::string name = a.text("name", asset_name(a.text("file", "")));
      if (name.empty()) refuse(element, "name", "is required of a height field without a file");
      if (!assets_.emplace(name, a).second) refuse(element, "name", "names a height field a second time");
    }
  }
}

const Attributes& HeightFieldAssets::asset(const Attributes& geom) const {
  const auto found = assets_.find(geom.text("hfield", ""));
  if (found == assets_.end()) geom.refuse("hfield", "names no height field of the assets");
  return found->second;
}

bool HeightFieldAssets::is_given(const Attributes& geom) const {
  const Attributes& a = asset(geom);
  return !a.has("file") ||
         find_asset(files_, documents_.of(a.element()).mesh_directory, a.text("file", "")).has_value();
}

void HeightFieldAssets::add_to(const Attributes& geom, std::vector<model::HeightFieldSpec>& fields) {
  const std::string name = geom.text("hfield", "");
  const Attributes& a = asset(geom);
  if (!in_scene_.insert(name).second) return;
  HeightFieldData data;
  if (a.has("file")) {
    const std::string file = a.text("file", "");
    Result<HeightFieldData> read = read_height_field(
        find_asset(files_, documents_.of(a.element()).mesh_directory, file).value_or(""), format_of(a, file));
    if (!read.ok()) a.refuse("file", read.error().message);
    data = std::move(read).value();
  } else {
    data = inline_field(a);
  }
  double size[4] = {0, 0, 0, 0};
  if (!a.numbers("size", size, 4)) a.refuse("size", "is required");
  for (double length : size) {
    if (!(length > 0)) a.refuse("size", "must have four positive numbers");
  }
  // From 0 to the top; what is flat is all at 0.
  const auto [low, high] = std::minmax_element(data.heights.begin(), data.heights.end());
  const double lowest = *low, span = double(*high) - lowest, scale = span > 1e-5 ? size[2] / span : size[2];
  for (float& height : data.heights) height = static_cast<float>(scale * (height - lowest));
  fields.push_back({name, data.columns, data.rows, size[0], size[1], size[3], std::move(data.heights)});
}

}  // namespace axion::import
