#include "tools/ptx/runtime/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tools/ptx/runtime/linked_ptx.hpp"

namespace axion::ptx {
namespace {

Options options_from_environment() {
  Options options;
  const char* list = std::getenv("AXION_PTX");
  const std::string_view words = list == nullptr ? "" : list;
  options.races = words.find("races") != words.npos;
  if (words.find("forward") != words.npos) options.order = Order::kForward;
  if (words.find("backward") != words.npos) options.order = Order::kBackward;
  return options;
}

}  // namespace

Options& runtime_options() {
  static Options options = options_from_environment();
  return options;
}

Runtime& Runtime::get() {
  static Runtime* const runtime = new Runtime;  // outlives whatever is destroyed at exit
  return *runtime;
}

Machine& Runtime::machine() {
  if (machine_ == nullptr) machine_ = std::make_unique<Machine>(linked_ptx(), runtime_options());
  return *machine_;
}

cudaError_t Runtime::fail(cudaError_t error, const std::string& why) {
  message_ = why;
  last_error = error;
  std::fprintf(stderr, "emulated CUDA: %s\n", why.c_str());
  return error;
}

Runtime::Use* Runtime::find(const void* host_function) {
  if (const auto found = uses_.find(host_function); found != uses_.end()) return &found->second;
  const auto name = names_.find(host_function);
  if (name == names_.end()) return nullptr;
  const auto& functions = machine().module().functions;
  const auto entry = functions.find(name->second);
  if (entry == functions.end() || !entry->second->is_entry) return nullptr;
  Use& use = uses_[host_function];
  use.entry = entry->second.get();
  return &use;
}

cudaError_t Runtime::launch(const void* host_function, dim3 grid, dim3 block, void** arguments, size_t shared) {
  if (sticky_error != cudaSuccess) return last_error = sticky_error;
  Use* use = find(host_function);
  if (use == nullptr) return fail(cudaErrorInvalidDeviceFunction, "no such entry in the PTX");
  const U64 threads = U64(block.x) * block.y * block.z;
  if (threads == 0 || threads > use->entry->max_threads) {
    return fail(cudaErrorInvalidConfiguration, "a block of " + std::to_string(threads) + " threads");
  }
  if (U64(grid.x) * grid.y * grid.z == 0) return fail(cudaErrorInvalidConfiguration, "a grid without blocks");
  if (shared > use->most_dynamic_shared) {
    return fail(cudaErrorInvalidValue, std::to_string(shared) + " bytes of dynamic shared memory, allowed are " +
                                           std::to_string(use->most_dynamic_shared));
  }
  last_grid = grid;
  if (instead) {
    machine().memory().open(true);  // and left so: opening and closing takes longer than the host's own work
    return instead(arguments), cudaSuccess;
  }
  const Opened opened(*this);
  ++launches;
  const std::size_t races = machine().races().size();
  try {
    machine().launch(*use->entry, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<U32>(shared),
                     arguments);
  } catch (const DeviceError& error) {
    return sticky_error = fail(cudaErrorLaunchFailure, error.what());
  }
  for (std::size_t k = races; k < machine().races().size(); ++k) {
    sticky_error = fail(cudaErrorLaunchFailure, machine().describe(machine().races()[k]));
  }
  return sticky_error;
}

cudaError_t Runtime::copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (sticky_error != cudaSuccess) return last_error = sticky_error;
  if (bytes == 0) return cudaSuccess;
  const Opened opened(*this);
  const Memory& memory = machine().memory();
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) return fail(cudaErrorInvalidValue, "cudaMemcpyDefault is not known here");
  const auto wrong = [&](const void* p, bool device) {
    const U64 at = reinterpret_cast<U64>(p);
    return device ? !memory.in_arena(at) || !memory.holds(at, bytes) : memory.in_arena(at);
  };
  if (wrong(to, to_device)) return fail(cudaErrorInvalidValue, "a copy to where it may not go");
  if (wrong(from, from_device)) return fail(cudaErrorInvalidValue, "a copy from where it may not read");
  std::memmove(to, from, bytes);
  ++copies;
  return cudaSuccess;
}

}  // namespace axion::ptx
