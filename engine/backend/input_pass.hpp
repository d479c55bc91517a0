// One pass over the reals of a request: whether all may be taken and, for a device that wants them packed, a copy.
//
// A launch of 8,192 worlds and 50 steps brings 9 million controls: reading them once, in runs as long as their layout
// allows and on several threads, is what the host adds to a launch on a GPU. Which value is wrong, and why, is for
// check_input to find.
#pragma once

#include <cstddef>

#include "engine/backend/checks.hpp"
#include "engine/backend/thread_pool.hpp"

namespace axion::backend {

// Bytes of the values of a view, packed without gaps: [rows, steps, columns], or [rows, columns] where it holds one
// over all steps.
std::size_t packed_bytes(const InputView& view, const InputShape& shape);

// Whether every value is finite in the shape's precision and within its limit. `to`: packed_bytes for a copy, or
// nullptr; what it holds is not defined where the answer is no. `pool`: threads that take part, or nullptr. The view
// has data of a real type.
bool pass_input(const InputView& view, const InputShape& shape, std::byte* to, ThreadPool* pool);

}  // namespace axion::backend
