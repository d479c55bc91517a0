// Answers to queries of worlds: their tensors, and the room that these take.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "axion/v1/tensor.pb.h"

#include "engine/base/result.hpp"

#include "server/schedule/limits.hpp"
#include "server/schedule/memory_budget.hpp"

namespace axion::server::rpc {

// A float64 tensor of that shape, to be filled.
std::span<double> make_doubles(std::span<const std::int64_t> shape, v1::Tensor& tensor);

// What an answer of float64 tensors of these shapes takes.
double bytes_of(std::initializer_list<std::vector<std::int64_t>> shapes);

// RESOURCE_EXHAUSTED where an answer of so many bytes cannot be sent, or there is no memory for it; else `memory` holds
// what it takes.
absl::Status take_room(double bytes, const schedule::Limits& limits, schedule::MemoryHold& memory);

// The engine's refusal of a query, as the server's.
absl::Status from_query(const Status& status);

}  // namespace axion::server::rpc
