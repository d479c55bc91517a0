// The CUDA runtime's device, streams, events and kernels. Streams and events are numbers: every call is done at once.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/ptx/runtime/linked_ptx.hpp"
#include "tools/ptx/runtime/runtime.hpp"

using axion::ptx::Runtime;
using axion::ptx::U32;
using axion::ptx::U64;

namespace {

// An H200.
constexpr int kMultiprocessors = 132;
constexpr size_t kSharedPerMultiprocessor = 228 << 10, kSharedPerBlock = 227 << 10, kReservedShared = 1 << 10;
constexpr int kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32, kRegisters = 65536;
constexpr int kCacheBytes = 50 << 20;

// Registers of a thread: as many as the launch bounds leave.
int registers(const axion::ptx::Function& entry) { return std::min<int>(255, kRegisters / int(entry.max_threads)); }

template <typename Handle>
Handle next_handle() {
  static U64 last = 0;
  return reinterpret_cast<Handle>(++last);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : Runtime::get().fail(cudaErrorInvalidDevice, "there is one device");
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return Runtime::get().fail(cudaErrorInvalidDevice, "there is one device");
  *p = {};
  std::strncpy(p->name, "emulated H200", sizeof p->name - 1);
  p->totalGlobalMem = U64(141) * 1000 * 1000 * 1000;
  p->major = 9, p->minor = 0;
  p->multiProcessorCount = kMultiprocessors;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  p->sharedMemPerBlockOptin = kSharedPerBlock;
  p->reservedSharedMemPerBlock = kReservedShared;
  p->regsPerBlock = p->regsPerMultiprocessor = kRegisters;
  p->maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  p->maxThreadsPerBlock = 1024;
  p->maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  p->warpSize = 32;
  p->l2CacheSize = kCacheBytes;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = next_handle<cudaStream_t>();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return Runtime::get().sticky_error; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = next_handle<cudaEvent_t>();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return Runtime::get().sticky_error; }
cudaError_t cudaEventQuery(cudaEvent_t) { return Runtime::get().sticky_error; }

cudaError_t cudaGetLastError() {
  Runtime& r = Runtime::get();
  return std::exchange(r.last_error, r.sticky_error);
}

const char* cudaGetErrorString(cudaError_t error) {
  const std::string& message = Runtime::get().message();
  return error == cudaSuccess || message.empty() ? "no error" : message.c_str();
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* function) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  const Runtime::Use* use = r.find(function);
  if (use == nullptr) return r.fail(cudaErrorInvalidDeviceFunction, "no such entry in the PTX");
  *a = {};
  a->sharedSizeBytes = use->entry->shared_bytes;
  a->localSizeBytes = use->entry->local_bytes;
  a->maxThreadsPerBlock = static_cast<int>(use->entry->max_threads);
  a->numRegs = registers(*use->entry);
  a->ptxVersion = a->binaryVersion = 90;
  a->maxDynamicSharedSizeBytes = static_cast<int>(use->most_dynamic_shared);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  Runtime::Use* use = r.find(function);
  if (use == nullptr) return r.fail(cudaErrorInvalidDeviceFunction, "no such entry in the PTX");
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || value + use->entry->shared_bytes > kSharedPerBlock) {
      return r.fail(cudaErrorInvalidValue, "more dynamic shared memory than a block can have");
    }
    use->most_dynamic_shared = static_cast<U32>(value);
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout && value >= -1 && value <= 100) return cudaSuccess;
  return r.fail(cudaErrorInvalidValue, "an attribute of " + std::to_string(value));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  const Runtime::Use* use = r.find(function);
  if (use == nullptr) return r.fail(cudaErrorInvalidDeviceFunction, "no such entry in the PTX");
  const int warp_threads = (threads + 31) / 32 * 32;
  const size_t needed = shared + use->entry->shared_bytes + kReservedShared;
  *blocks = std::min({kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / warp_threads,
                      kRegisters / (warp_threads * registers(*use->entry)), int(kSharedPerMultiprocessor / needed)});
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t) {
  return Runtime::get().launch(function, grid, block, arguments, shared);
}

// ---- What nvcc's host code calls
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  Runtime::get().calls.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  auto& calls = Runtime::get().calls;
  if (calls.empty()) return cudaErrorInvalidValue;
  *grid = calls.back().grid, *block = calls.back().block, *shared = calls.back().shared;
  *static_cast<cudaStream_t*>(stream) = calls.back().stream;
  calls.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t) {
  return Runtime::get().launch(kernel, grid, block, arguments, shared);
}

void** __cudaRegisterFatBinary(void* binary) {
  axion::ptx::register_fat_binary(binary);
  return static_cast<void**>(binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* host_function, char*, const char* device_name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  Runtime::get().name_entry(host_function, device_name);
}
}
