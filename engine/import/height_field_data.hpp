// Height fields as files have them: PNG, and MuJoCo's own binary format.
//
// Hostile input: sizes are checked before anything is allocated. Used inside engine/import only.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace axion::import {

// Row by row, the first that of the least y.
struct HeightFieldData {
  int columns = 0, rows = 0;
  std::vector<float> heights;
};

enum class HeightFieldFormat { kPng, kBinary };

// The message of an error continues "the file ...". Of a picture heights are its first channel (grey, or red) in 8
// bits, and its lowest line is the row of the least y. The binary format is int32 rows, int32 columns, and float32
// heights. Not finite heights are refused.
Result<HeightFieldData> read_height_field(std::string_view bytes, HeightFieldFormat format);

}  // namespace axion::import
