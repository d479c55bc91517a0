// Constants that several rooms use.
#pragma once

namespace axion::math {

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kHalfRoot = 0.70710678118654752;                                         // √½
inline constexpr double kSineOf22_5 = 0.38268343236508977, kCosineOf22_5 = 0.92387953251128676;  // of 22.5 degrees
// m/s²: the default gravity of scenes, and the acceleration by which the solver judges loads and rests, whatever a
// scene's own gravity is.
inline constexpr double kGravity = 9.81;

}  // namespace axion::math
