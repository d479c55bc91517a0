// Scenes after merge_welds, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "engine/model/merge_welds.hpp"

namespace axion::model {

inline WeldedScene merged(const SceneSpec& scene) {
  Result<WeldedScene> result = merge_welds(scene);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

inline void expect_near(const Vec3d& a, const Vec3d& b) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << "component " << i;
}

}  // namespace axion::model
