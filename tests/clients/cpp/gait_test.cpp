#include "clients/examples/cpp/gait.hpp"

#include <gtest/gtest.h>

namespace axion::examples {
namespace {

// Numbers of clients/examples/python/gait.py: the two examples walk alike.
TEST(Gait, equals_the_python_example) {
  const struct {
    double time;
    std::array<double, 12> angles;
  } rows[] = {
      {1.0,
       {0.000000000, 0.795398830, -1.590797660, 0.000000000, 0.795398830, -1.590797660, 0.000000000, -0.795398830,
        1.590797660, 0.000000000, -0.795398830, 1.590797660}},
      {2.5,
       {0.000000000, 0.879547290, -1.759094580, 0.000000000, 0.795398830, -1.590797660, 0.000000000, -0.795398830,
        1.590797660, 0.000000000, -0.879547290, 1.759094580}},
      {4.1,
       {0.000000000, 0.830472825, -1.589547426, 0.000000000, 0.805805834, -1.842583355, 0.000000000, -1.036777521,
        1.842583355, 0.000000000, -0.759074600, 1.589547426}},
      {7.37,
       {0.000000000, 0.952685644, -1.561190624, 0.000000000, 0.664704400, -1.575774125, 0.000000000, -0.911069725,
        1.575774125, 0.000000000, -0.608504980, 1.561190624}},
  };
  for (const auto& [time, angles] : rows) {
    const auto found = Trot().joint_angles(time);
    for (std::size_t i = 0; i < angles.size(); ++i) {
      EXPECT_NEAR(found[i], angles[i], 1e-8) << "t " << time << " angle " << i;
    }
  }
}

}  // namespace
}  // namespace axion::examples
