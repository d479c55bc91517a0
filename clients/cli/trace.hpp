// What `axion run` records: some numbers of some worlds over time, as CSV or as a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axion/v1/tensor.pb.h"

namespace axion::cli {

// One number of a field: "body_pose:2" is the third of a world.
struct Channel {
  std::string field;
  std::int64_t index = 0;
  std::string label() const { return field + ":" + std::to_string(index); }
};

// Parses "field:index". INVALID_ARGUMENT if it is not of that form.
absl::StatusOr<Channel> parse_channel(const std::string& word);

class Trace {
 public:
  Trace(std::vector<Channel> channels, int world_count) : channels_(std::move(channels)), world_count_(world_count) {}

  // Takes the records of one answer: tensors [n, records, ...] of each channel's field, n >= world_count; their
  // `times`. OUT_OF_RANGE if a channel's index lies outside its field.
  absl::Status append(const std::vector<double>& times, const std::vector<const v1::Tensor*>& tensors);

  const std::vector<Channel>& channels() const { return channels_; }
  const std::vector<double>& times() const { return times_; }
  int world_count() const { return world_count_; }
  double value(std::size_t record, int world, std::size_t channel) const {
    return values_[(record * static_cast<std::size_t>(world_count_) + static_cast<std::size_t>(world)) *
                       channels_.size() +
                   channel];
  }

  // Columns time, world and one for each channel.
  absl::Status write_csv(const std::string& path) const;

 private:
  std::vector<Channel> channels_;
  int world_count_;
  std::vector<double> times_;
  std::vector<double> values_;  // [record, world, channel]
};

}  // namespace axion::cli
