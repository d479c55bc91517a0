// EngineCore: the Engine behind engine.hpp's interface, the same for every backend: checks, memory limits, statistics.
//
// A backend says what a batch costs, gives it memory and runs a launch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend/engine_batch.hpp"
#include "engine/backend/memory.hpp"

namespace axion::backend {

// The jobs of one call of Engine::step, by precision, with the memory of the batch that each is for.
struct Launch {
  template <typename Real>
  struct Item {
    step::StepJob<Real> job;
    BatchMemory* memory;
  };
  std::vector<Item<float>> float32;
  std::vector<Item<double>> float64;
};

class EngineCore : public Engine {
 public:
  Result<std::unique_ptr<Batch>> create_batch(const BatchSpec& spec) final;
  Result<StepStatistics> step(std::span<const StepRequest> requests) final;

 protected:
  explicit EngineCore(std::int64_t memory_limit) : budget_(std::make_shared<MemoryBudget>()) {
    budget_->limit = memory_limit;
  }

  // Bytes that a batch takes for each world beside its block.
  virtual std::int64_t world_overhead_bytes() const = 0;
  // Bytes by which the engine's scratch would grow for worlds of this size; it is kept for later batches.
  virtual std::int64_t scratch_growth_bytes(std::size_t scratch_bytes) const = 0;
  // Memory for a batch; throws std::bad_alloc or returns kResourceExhausted when the device has no more.
  virtual Result<std::unique_ptr<BatchMemory>> allocate(std::shared_ptr<const EngineModel> model, DType precision,
                                                        world::WorldBytes bytes, int world_count,
                                                        Reservation reservation) = 0;
  // Memory that a launch's controls and wrenches, so many bytes, are packed into while they are checked, for devices
  // that want that; and threads that take part. Nothing of the last launch is in use when it is asked for.
  struct InputRoom {
    std::byte* data = nullptr;  // aligned to kFieldAlignment; nullptr: jobs read the caller's memory
    ThreadPool* pool = nullptr;
  };
  virtual Result<InputRoom> input_room(std::size_t) { return InputRoom{}; }
  // Runs all jobs to their end. kInternal if the device fails.
  virtual Status run(Launch& launch) = 0;

  const MemoryBudget& budget() const { return *budget_; }

 private:
  template <typename Real>
  Result<std::unique_ptr<Batch>> make_batch(const BatchSpec& spec, std::shared_ptr<const EngineModel> model);
  Status check(std::span<const StepRequest> requests) const;
  // Checks the values of all inputs and packs them where the backend wants it; requests then point there.
  Status take_inputs(std::span<StepRequest> requests);

  std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace axion::backend
