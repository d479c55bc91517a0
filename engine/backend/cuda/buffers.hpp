// Memory of a GPU and memory that a GPU copies from, owned; and errors of the CUDA runtime as Status.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <new>
#include <utility>

#include "engine/backend/text.hpp"
#include "engine/base/result.hpp"

namespace axion::backend {

inline Status cuda_status(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  const ErrorCode code = error == cudaErrorMemoryAllocation ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
  return Error{code, "", text("The GPU failed to ", what, ": ", cudaGetErrorString(error), ".")};
}

struct DeviceAllocator {
  static cudaError_t allocate(void** p, std::size_t bytes) { return cudaMalloc(p, bytes); }
  static void free(void* p) { cudaFree(p); }
};

struct PinnedAllocator {
  static cudaError_t allocate(void** p, std::size_t bytes) { return cudaMallocHost(p, bytes); }
  static void free(void* p) { cudaFreeHost(p); }
};

template <typename Allocator>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) Allocator::free(data_);
  }

  // At least `bytes`; what it held is lost when it grows. What it was stays if it cannot.
  Status reserve(std::size_t bytes) {
    if (bytes <= bytes_) return {};
    void* data = nullptr;
    if (Status status = cuda_status(Allocator::allocate(&data, bytes), "give memory"); !status.ok()) {
      cudaGetLastError();  // the failure is not sticky; the next call shall not report it again
      return status;
    }
    if (data_ != nullptr) Allocator::free(data_);
    data_ = static_cast<std::byte*>(data);
    bytes_ = bytes;
    return {};
  }
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

using DeviceBuffer = Buffer<DeviceAllocator>;
using PinnedBuffer = Buffer<PinnedAllocator>;

}  // namespace axion::backend
