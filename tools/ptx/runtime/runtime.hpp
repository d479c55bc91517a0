// The emulated GPU behind the CUDA runtime of this folder (cudart_*.cpp), for the programs that are linked with it.
//
// There is one device, described as an H200, and one machine, which reads the PTX that the program is linked with
// (linked_ptx.hpp) at the first use. Every call is done when it returns. Device memory that the host touches without a
// copy ends the program. A call that fails says why on stderr.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/ptx/interpreter/machine.hpp"
#include "tools/ptx/runtime/cuda_api.cuh"

namespace axion::ptx {

// Before the first use; else from the environment: AXION_PTX is a list of "races", and "forward" or "backward"
// (Order).
Options& runtime_options();

class Runtime {
 public:
  static Runtime& get();

  // What the last failed call said.
  const std::string& message() const { return message_; }
  Machine& machine();

  // For cudart_*.cpp.
  struct Use {  // what an entry was allowed
    const Function* entry = nullptr;
    U32 most_dynamic_shared = 48 << 10;
  };
  void name_entry(const void* host_function, const char* device_name) { names_[host_function] = device_name; }
  Use* find(const void* host_function);
  cudaError_t launch(const void* host_function, dim3 grid, dim3 block, void** arguments, size_t shared);
  cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
  cudaError_t fail(cudaError_t error, const std::string& why);

  // Called with a kernel's arguments in place of the kernel, where it is set: a device that computes nothing, to time
  // the host by.
  std::function<void(void** arguments)> instead;

  std::recursive_mutex mutex;
  cudaError_t last_error = cudaSuccess, sticky_error = cudaSuccess;
  std::map<const void*, size_t> pinned;
  U64 launches = 0, copies = 0;  // calls that did something
  dim3 last_grid;                // of the last launch
  struct Call {
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
  };
  std::vector<Call> calls;

 private:
  std::unique_ptr<Machine> machine_;
  std::map<const void*, std::string> names_;
  std::map<const void*, Use> uses_;
  std::string message_;
};

// Lets the runtime touch device memory while it lives, and keeps other threads out.
class Opened {
 public:
  explicit Opened(Runtime& r) : runtime_(r), lock_(r.mutex) { r.machine().memory().open(true); }
  ~Opened() { runtime_.machine().memory().open(false); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  Runtime& runtime_;
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace axion::ptx
