#include "clients/cli/trace.hpp"

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/local_errors.hpp"
#include "clients/cpp/tensor.hpp"

namespace axion::cli {

absl::StatusOr<Channel> parse_channel(const std::string& word) {
  const std::size_t colon = word.find(':');
  Channel channel{word.substr(0, colon), 0};
  if (channel.field.empty() || (colon != std::string::npos &&
                                (!absl::SimpleAtoi(word.substr(colon + 1), &channel.index) || channel.index < 0))) {
    return usage_error(absl::StrCat("--trace: '", word, "' is not field:index"));
  }
  return channel;
}

absl::Status Trace::append(const std::vector<double>& times, const std::vector<const v1::Tensor*>& tensors) {
  const auto records = static_cast<std::int64_t>(times.size());
  std::vector<std::int64_t> sizes;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const v1::Tensor& tensor = *tensors[c];
    const bool shaped = tensor.shape_size() >= 2 && tensor.shape(0) >= world_count_ && tensor.shape(1) == records;
    if (!shaped) {
      return absl::InternalError(
          absl::StrCat("the server answered ", channels_[c].field, " with shape ", client::shape_text(tensor)));
    }
    sizes.push_back(client::element_count(tensor) / (tensor.shape(0) * records));
    if (channels_[c].index >= sizes.back()) {
      return absl::OutOfRangeError(
          absl::StrCat("--trace=", channels_[c].label(), ": the field has ", sizes.back(), " numbers a world"));
    }
  }
  for (std::int64_t record = 0; record < records; ++record) {
    times_.push_back(times[static_cast<std::size_t>(record)]);
    for (int world = 0; world < world_count_; ++world) {
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        const std::int64_t at = (world * records + record) * sizes[c] + channels_[c].index;
        values_.push_back(client::element_as_double(*tensors[c], at));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Trace::write_csv(const std::string& path) const {
  std::ofstream file(path);
  file << "time,world";
  for (const Channel& channel : channels_) {
    file << "," << channel.label();
  }
  file << "\n";
  for (std::size_t record = 0; record < times_.size(); ++record) {
    for (int world = 0; world < world_count_; ++world) {
      file << absl::StrFormat("%.9g,%d", times_[record], world);
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        file << absl::StrFormat(",%.9g", value(record, world, c));
      }
      file << "\n";
    }
  }
  file.close();
  return file ? absl::OkStatus() : file_error(absl::StrCat("cannot write the file '", path, "'"));
}

}  // namespace axion::cli
