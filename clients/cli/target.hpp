// What a command works on: a batch named on the command line, or worlds made for the length of the command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/local_errors.hpp"

namespace axion::cli {

// A model of "models/ID" or of an MJCF or URDF file (with --assets, --allow_unsupported). Its warnings go to stderr.
absl::StatusOr<v1::Model> open_model(const client::Client& client, const std::string& word);

// A new batch of the model as the flags say (--worlds, --dt, --preset, ...).
absl::StatusOr<client::Batch> make_batch(const client::Client& client, const v1::Model& model);

// "batches/ID" (stays afterwards), or a new batch of "models/ID" or a file (deleted when the handle ends).
absl::StatusOr<client::Batch> open_batch(const client::Client& client, const std::string& word);

// The batch that a command's one word names; `command` is for the words of a fault.
absl::StatusOr<client::Batch> named_batch(const Invocation& invocation, const char* command);

// The row of controls that --control or --hold asks for; empty if neither does.
absl::StatusOr<std::vector<double>> control_of_flags(const client::Client& client, const client::Batch& batch);

// --show as indices.
absl::StatusOr<std::vector<std::int32_t>> shown_worlds(const client::Batch& batch);

}  // namespace axion::cli
