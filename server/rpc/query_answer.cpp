#include "server/rpc/query_answer.hpp"

#include "server/rpc/request_conversion.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

std::span<double> make_doubles(std::span<const std::int64_t> shape, v1::Tensor& tensor) {
  auto* data = reinterpret_cast<double*>(make_tensor(DType::kFloat64, shape, tensor));
  return {data, schedule::element_count(shape)};
}

double bytes_of(std::initializer_list<std::vector<std::int64_t>> shapes) {
  double bytes = 4096;
  for (const std::vector<std::int64_t>& shape : shapes) {
    double count = sizeof(double);
    for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
    bytes += count;
  }
  return bytes;
}

absl::Status take_room(double bytes, const schedule::Limits& limits, schedule::MemoryHold& memory) {
  if (absl::Status fits = check_answer_bytes(bytes, limits); !fits.ok()) return fits;
  return memory.grow(2 * static_cast<std::int64_t>(bytes), "the answer");
}

absl::Status from_query(const Status& status) {
  return status.ok() ? absl::OkStatus() : schedule::from_engine(status.error());
}

}  // namespace axion::server::rpc
