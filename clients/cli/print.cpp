#include "clients/cli/print.hpp"

#include <google/protobuf/util/json_util.h>

#include <iostream>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/tensor.hpp"

namespace axion::cli {
namespace {

nlohmann::json nested(const v1::Tensor& tensor, int dimension, std::int64_t& next) {
  if (dimension == tensor.shape_size()) {
    const double value = client::element_as_double(tensor, next++);
    const bool real = tensor.dtype() == v1::DTYPE_FLOAT32 || tensor.dtype() == v1::DTYPE_FLOAT64;
    return real ? nlohmann::json(value) : nlohmann::json(static_cast<std::int64_t>(value));
  }
  nlohmann::json list = nlohmann::json::array();
  for (std::int64_t i = 0; i < tensor.shape(dimension); ++i) {
    list.push_back(nested(tensor, dimension + 1, next));
  }
  return list;
}

}  // namespace

nlohmann::json message_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  return status.ok() ? nlohmann::json::parse(text) : nlohmann::json{{"error", std::string(status.message())}};
}

nlohmann::json tensor_json(const v1::Tensor& tensor) {
  std::int64_t next = 0;
  return nested(tensor, 0, next);
}

std::string row_text(const v1::Tensor& tensor, std::int64_t row, const std::string& indent,
                     const std::function<std::string(std::int64_t line)>& about) {
  const std::int64_t rows = tensor.shape_size() > 0 ? tensor.shape(0) : 1;
  const std::int64_t per_row = rows > 0 ? client::element_count(tensor) / rows : 0;
  const std::int64_t per_line = tensor.shape_size() > 2 ? tensor.shape(tensor.shape_size() - 1) : 1;
  std::string text;
  for (std::int64_t i = 0; i < per_row; ++i) {
    if (i % per_line == 0) {
      absl::StrAppend(&text, i > 0 ? "\n" : "", indent);
    }
    absl::StrAppendFormat(&text, " %11.6g", client::element_as_double(tensor, row * per_row + i));
    if ((i + 1) % per_line == 0) {
      const std::string name = about(i / per_line);
      absl::StrAppend(&text, name.empty() ? "" : "  ", name);
    }
  }
  return text;
}

std::string outcome_text(std::uint32_t outcome) {
  std::vector<std::string> names;
  for (const auto bit : {v1::OUTCOME_CONVERGED, v1::OUTCOME_MAX_ITERATIONS, v1::OUTCOME_CONTACT_OVERFLOW,
                         v1::OUTCOME_NON_FINITE, v1::OUTCOME_FALLBACK, v1::OUTCOME_EASED, v1::OUTCOME_OVERLAP}) {
    if ((outcome & bit) != 0) {
      names.push_back(v1::Outcome_Name(bit).substr(std::string("OUTCOME_").size()));
    }
  }
  return names.empty() ? "-" : absl::StrJoin(names, "|");
}

std::string bytes_text(std::int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) {
    value /= 1024;
  }
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
}

double mean_of(const v1::BinnedCounts& counts) {
  const auto total = std::accumulate(counts.counts().begin(), counts.counts().end(), std::int64_t{0});
  return total > 0 ? counts.sum() / static_cast<double>(total) : 0.0;
}

std::string quantile_text(const v1::BinnedCounts& counts, double fraction) {
  const auto total = std::accumulate(counts.counts().begin(), counts.counts().end(), std::int64_t{0});
  double reached = 0;
  for (int bin = 0; bin < counts.counts_size(); ++bin) {
    reached += static_cast<double>(counts.counts(bin));
    if (reached >= fraction * static_cast<double>(total)) {
      return bin < counts.bounds_size() ? absl::StrFormat("%g", counts.bounds(bin))
             : counts.bounds_size() > 0 ? absl::StrFormat(">%g", counts.bounds(counts.bounds_size() - 1))
                                        : "-";
    }
  }
  return "-";
}

void print_json(const nlohmann::json& json) { std::cout << json.dump() << std::endl; }

}  // namespace axion::cli
