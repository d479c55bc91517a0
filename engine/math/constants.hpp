// Constants that several rooms use.
#pragma once

namespace axion::math {

inline constexpr double kPi = 3.14159265358979323846;
// m/s²: the default gravity of scenes, and the acceleration by which the solver judges loads and rests, whatever a
// scene's own gravity is.
inline constexpr double kGravity = 9.81;

}  // namespace axion::math
