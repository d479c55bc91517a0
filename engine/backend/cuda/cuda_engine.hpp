// The CUDA backend: worlds in device memory, one block a world, one launch (a grid a precision) for all requests.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace axion::backend {

// kFailedPrecondition, with the reason, where device `index` cannot be used: no driver, no such device, or a device
// that the kernels were not compiled for. Programs that contain this start on machines without a GPU.
Result<std::unique_ptr<Engine>> create_cuda_engine(const EngineOptions& options, int index);

}  // namespace axion::backend
