// Messages as text for people and JSON for programs.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "axion/v1/simulation.pb.h"

namespace axion::cli {

// Field names as in the .proto files; a Tensor inside is base64, so print those with tensor_json.
nlohmann::json message_json(const google::protobuf::Message& message);

// Nested lists in the shape of the tensor.
nlohmann::json tensor_json(const v1::Tensor& tensor);

// One row of the first dimension: numbers in lines of the last dimension, or one a line where there are but two. A line
// ends with what `about` says of it.
std::string row_text(const v1::Tensor& tensor, std::int64_t row, const std::string& indent,
                     const std::function<std::string(std::int64_t line)>& about);

// "CONVERGED|FALLBACK", or "-" for none.
std::string outcome_text(std::uint32_t outcome);

// "1.5 MiB"
std::string bytes_text(std::int64_t bytes);

// Mean of binned values; 0 if there are none.
double mean_of(const v1::BinnedCounts& counts);

// Upper bound of the bin in which a fraction of the values is reached: "4", or ">16" for the last bin.
std::string quantile_text(const v1::BinnedCounts& counts, double fraction);

void print_json(const nlohmann::json& json);

}  // namespace axion::cli
