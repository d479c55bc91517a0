#include "server/schedule/initial_noise.hpp"

#include <algorithm>

namespace axion::server::schedule {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

// SplitMix64 (Steele, Lea, Flood 2014): a counter-based generator, so that number i needs no numbers before it.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// In [-1, 1).
double uniform(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = mix(mix(seed + kGolden) + (index + 1) * kGolden);
  return static_cast<double>(bits >> 11) * 0x1.0p-52 - 1.0;
}

}  // namespace

std::uint64_t world_seed(std::uint64_t batch_seed, std::uint64_t world) {
  return mix(mix(batch_seed + kGolden) ^ ((world + 1) * kGolden));
}

void perturb(const ModelInfo& model, const InitialNoise& noise, std::uint64_t seed, std::span<double> q,
             std::span<double> v) {
  for (const JointInfo& joint : model.joints) {
    if (joint.kind != model::JointKind::kAxes) continue;
    for (std::size_t a = 0; a < joint.axes.size(); ++a) {
      const model::AxisSpec& axis = joint.axes[a];
      const std::size_t iq = static_cast<std::size_t>(joint.position_start) + a;
      const std::size_t iv = static_cast<std::size_t>(joint.velocity_start) + a;
      q[iq] += noise.joint_position * uniform(seed, 2 * iq);
      if (axis.limited) q[iq] = std::clamp(q[iq], axis.lower, axis.upper);
      v[iv] += noise.joint_velocity * uniform(seed, 2 * iv + 1);
    }
  }
}

}  // namespace axion::server::schedule
