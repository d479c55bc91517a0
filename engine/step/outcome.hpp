// Bits of a step's outcome as plain integers, those of axion::Outcome.
#pragma once

#include <cstdint>

#include "engine/model/fields.hpp"

namespace axion::step {

inline constexpr std::uint32_t kConvergedBit = axion::kConverged;
inline constexpr std::uint32_t kMaxIterationsBit = axion::kMaxIterations;
inline constexpr std::uint32_t kContactOverflowBit = axion::kContactOverflow;
inline constexpr std::uint32_t kNonFiniteBit = axion::kNonFinite;
inline constexpr std::uint32_t kFallbackBit = axion::kFallback;
inline constexpr std::uint32_t kEasedBit = axion::kEased;
inline constexpr std::uint32_t kOverlapBit = axion::kOverlap;

}  // namespace axion::step
