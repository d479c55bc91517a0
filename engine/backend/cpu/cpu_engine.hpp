// The CPU backend: a pool of threads over the worlds of a launch, each world the team of one thread.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace axion::backend {

// `options.threads` and `options.memory_limit_bytes` have been checked; zero takes what the machine has.
Result<std::unique_ptr<Engine>> create_cpu_engine(const EngineOptions& options);

}  // namespace axion::backend
