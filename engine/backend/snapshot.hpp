// Snapshots: all that a world carries from one step to the next, as bytes that outlive the batch and the process.
//
//   | SnapshotHeader | state and parameter arrays in the order of declarations, contacts as many as there are |
//   | the world's own numbers, float64, a row of all parameters (model/parameters.hpp), or none |
//   | checksum of all before, 8 | kSnapshotEnd, 1 |
// An array that a world is given later travels too: the list of fields is the format, and its hash is in the header, so
// that a snapshot of other arrays is refused. Version 1 had no `eased` (model/world_state.hpp): such a snapshot is
// taken as one of a world in which nothing was. Bytes come from outside and are hostile until check_snapshot has
// passed.
// Little-endian, as the tensors of the wire.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/engine_model.hpp"
#include "engine/engine.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::backend {

inline constexpr std::uint32_t kOldestSnapshotVersion = 1, kSnapshotVersion = 2;
inline constexpr char kSnapshotEnd = 'Z';  // not zero: arrays of byte strings drop zeros at the end

struct SnapshotHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t real_bytes;  // 4 or 8
  std::uint64_t bytes;       // of the whole snapshot
  std::uint64_t model[2];    // fingerprint of the scene
  std::uint64_t layout;      // hash of the arrays' sizes and of the pairs that contacts are named by
  double dt;                 // s
  // The choices that decide what the arrays mean. The others say how the next step is solved.
  std::uint8_t constraint_level, joint_mode, gyroscopic_mode, half_step_start;
  std::uint32_t warm_count;     // contacts with an impulse kept for the next step
  std::uint32_t contact_count;  // contacts of the last step
  std::uint32_t number_count;   // of the world's own: 0, where it has the model's, or all parameters'
};
static_assert(sizeof(SnapshotHeader) == 72);

// What snapshots of a batch's worlds have in common: all of a header but bytes and counts.
template <typename Real>
SnapshotHeader snapshot_header(const EngineModel& model, const BatchSpec& spec);

// The world that `block` holds (world/world_layout.hpp). `outcome` stands for its own if it is not null.
template <typename Real>
std::string write_snapshot(const SnapshotHeader& common, const EngineModel& model, std::byte* block,
                           const std::uint32_t* outcome, std::span<const double> numbers);

// The world's own numbers in a snapshot that has passed check_snapshot.
std::vector<double> snapshot_numbers(std::string_view bytes);

// INVALID_ARGUMENT, naming `name`, unless these bytes are a whole and sound snapshot that a world with this header can
// take: nothing in it leads out of an array, and every number that a step reads is finite. Whether the model can be
// compiled with its own numbers is for the caller to see.
template <typename Real>
Status check_snapshot(const SnapshotHeader& common, const EngineModel& model, std::string_view bytes,
                      const std::string& name);

// Makes `block` the world of a snapshot that has passed check_snapshot. Its step index.
template <typename Real>
std::int64_t read_snapshot(const EngineModel& model, std::string_view bytes, std::byte* block);

}  // namespace axion::backend
