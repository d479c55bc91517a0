// An open loop trot for the quadruped of ../models/quadruped.xml: joint angles as a function of time alone. The same
// numbers as ../python/gait.py.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace axion::examples {

// Lengths in m, times in s.
struct Trot {
  double stride = 0.10;    // way of a foot on the ground, relative to the trunk
  double frequency = 1.6;  // cycles per second
  double height = 0.28;    // of the hips above the feet
  double lift = 0.05;      // of a swinging foot
  double duty = 0.6;       // share of the cycle on the ground: above a half, all feet touch for a moment
  double start = 2.0;      // it stands before
  double ramp = 1.0;       // the stride grows to its length in this time

  // rad, in the order of the robot's controls: front left, front right, rear left, rear right; abduction, hip, knee.
  std::array<double, 12> joint_angles(double time) const {
    constexpr double kLink = 0.2;                                // m, thigh and shank
    constexpr std::array<double, 4> kKneeSide{1, 1, -1, -1};     // front knees point backwards, rear knees forwards
    constexpr std::array<double, 4> kPhase{0.0, 0.5, 0.5, 0.0};  // diagonal legs swing together
    constexpr double kTurn = 2 * std::numbers::pi;
    const double grown = std::clamp((time - start) / ramp, 0.0, 1.0);
    std::array<double, 12> angles{};
    for (std::size_t leg = 0; leg < 4; ++leg) {
      const double cycles = (time - start) * frequency + kPhase[leg];
      const double phase = cycles - std::floor(cycles);
      const bool down = phase < duty;
      const double swing = std::clamp((phase - duty) / (1 - duty), 0.0, 1.0);
      const double forward = down ? 0.5 - phase / duty : swing - std::sin(kTurn * swing) / kTurn - 0.5;
      const double foot_x = grown * stride * forward;
      const double foot_down = height - grown * lift * (down ? 0.0 : 0.5 - 0.5 * std::cos(kTurn * swing));
      // Two equal links: the knee opens to the foot's distance, the hip turns by half of it and towards the foot.
      const double bend = std::acos(std::min(std::hypot(foot_x, foot_down) / (2 * kLink), 1.0));
      angles[3 * leg + 1] = kKneeSide[leg] * bend - std::atan2(foot_x, foot_down);
      angles[3 * leg + 2] = -2 * kKneeSide[leg] * bend;
    }
    return angles;
  }
};

}  // namespace axion::examples
