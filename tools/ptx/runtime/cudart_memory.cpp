// The CUDA runtime's memory and copies.
#include <cstdlib>
#include <cstring>

#include "tools/ptx/runtime/runtime.hpp"

using axion::ptx::Opened;
using axion::ptx::Runtime;
using axion::ptx::U64;

namespace {

constexpr U64 kDeviceBytes = U64(141) * 1000 * 1000 * 1000;
constexpr std::size_t kPinnedAlign = 4096;

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  Runtime& r = Runtime::get();
  const Opened opened(r);
  *p = reinterpret_cast<void*>(bytes == 0 ? 0 : r.machine().memory().allocate(bytes));
  if (*p == nullptr && bytes > 0) return r.fail(cudaErrorMemoryAllocation, "no room for " + std::to_string(bytes));
  return cudaSuccess;
}

cudaError_t cudaFree(void* p) {
  Runtime& r = Runtime::get();
  const Opened opened(r);
  if (p == nullptr || r.machine().memory().release(reinterpret_cast<U64>(p))) return cudaSuccess;
  return r.fail(cudaErrorInvalidValue, "what cudaFree gets is no allocation");
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  *p = std::aligned_alloc(kPinnedAlign, (bytes + kPinnedAlign - 1) / kPinnedAlign * kPinnedAlign);
  if (*p == nullptr) return r.fail(cudaErrorMemoryAllocation, "no room for " + std::to_string(bytes));
  r.pinned[*p] = bytes;
  const U64 begin = reinterpret_cast<U64>(*p);
  if (bytes > 0) r.machine().memory().add({begin, begin + bytes, "pinned memory"});
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* p) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  if (p == nullptr) return cudaSuccess;
  if (r.pinned.erase(p) == 0) return r.fail(cudaErrorInvalidValue, "what cudaFreeHost gets is no allocation");
  r.machine().memory().remove(reinterpret_cast<U64>(p));
  std::free(p);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  *total = kDeviceBytes;
  *free_bytes = kDeviceBytes - r.machine().memory().allocated();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return Runtime::get().copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return Runtime::get().copy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  Runtime& r = Runtime::get();
  const Opened opened(r);
  if (bytes == 0) return cudaSuccess;
  if (!r.machine().memory().holds(reinterpret_cast<U64>(p), bytes)) {
    return r.fail(cudaErrorInvalidValue, "cudaMemset of what is not allocated");
  }
  std::memset(p, value, bytes);
  return cudaSuccess;
}
}
