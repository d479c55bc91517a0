// Bits of a step's outcome, as engine.hpp gives them to callers.
#pragma once

#include <cstdint>

namespace axion::step {

inline constexpr std::uint32_t kConvergedBit = 1u << 0;
inline constexpr std::uint32_t kMaxIterationsBit = 1u << 1;
inline constexpr std::uint32_t kContactOverflowBit = 1u << 2;
inline constexpr std::uint32_t kNonFiniteBit = 1u << 3;
inline constexpr std::uint32_t kFallbackBit = 1u << 4;

}  // namespace axion::step
