// The kernels of the CUDA backend as host code sees them. Pointers in a ResidentLaunch are device memory.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/cuda/resident_block.hpp"

namespace axion::backend {

// What the step kernel takes of a multiprocessor, as the runtime says, and leave to launch it with all the shared
// memory that a block can have. To be asked once, before the first launch; fails on a device that no kernel here was
// compiled for.
template <typename Real>
cudaError_t prepare_steps(const DeviceLimits& device, KernelUse* use);

// Asks for as much of a multiprocessor as shared memory as launches of this shape need; what is left is first cache.
template <typename Real>
cudaError_t prefer_shared(const BlockShape& shape, const DeviceLimits& device, const KernelUse& use);

// `blocks` blocks of the shape's threads, of which shape.blocks shall fit on a multiprocessor together. Adds
// launch.row_count + blocks to *launch.taken.
template <typename Real>
cudaError_t launch_steps(const ResidentLaunch<Real>& launch, const BlockShape& shape, int blocks, cudaStream_t stream);

}  // namespace axion::backend
