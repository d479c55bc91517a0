#include "engine/backend/cuda/cuda_engine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/backend/cuda/launch_stage.hpp"

namespace axion::backend {
namespace {

// Left to the driver, models and the packed launches.
constexpr double kUsableMemory = 0.9;

class CudaEngine final : public EngineCore {
 public:
  CudaEngine(int index, std::string name, std::int64_t memory_limit, int blocks_float, int blocks_double)
      : EngineCore(memory_limit), index_(index), name_(std::move(name)), blocks_{blocks_float, blocks_double} {}

  ~CudaEngine() override {
    if (done_ != nullptr) cudaEventDestroy(done_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Status open() {
    if (Status s = cuda_status(cudaStreamCreate(&stream_), "make a stream"); !s.ok()) return s;
    // A waiting thread sleeps; it does not take a core from the server.
    return cuda_status(cudaEventCreateWithFlags(&done_, cudaEventBlockingSync | cudaEventDisableTiming),
                       "make an event");
  }

  DeviceInfo device() const override {
    return {"cuda", text("cuda:", index_), name_, budget().limit, budget().used, 0};
  }

 protected:
  std::int64_t world_overhead_bytes() const override { return sizeof(StepStatistics); }

  std::int64_t scratch_growth_bytes(std::size_t scratch_bytes) const override {
    const std::size_t scratch = scratch_wanted(scratch_bytes);
    return scratch > scratch_.size() ? std::int64_t(scratch - scratch_.size()) : 0;
  }

  Result<std::unique_ptr<BatchMemory>> allocate(std::shared_ptr<const EngineModel> model, DType precision,
                                                model::WorldBytes bytes, int world_count,
                                                Reservation reservation) override {
    if (Status s = cuda_status(cudaSetDevice(index_), "select the device"); !s.ok()) return s.error();
    auto memory = precision == DType::kFloat32
                      ? allocate_typed(models_float_, std::move(model), bytes, world_count, std::move(reservation))
                      : allocate_typed(models_double_, std::move(model), bytes, world_count, std::move(reservation));
    if (!memory.ok()) return memory;
    // Grown last: a batch that does not come to be leaves the engine as it was.
    if (Status s = scratch_.reserve(scratch_wanted(bytes.scratch)); !s.ok()) return s.error();
    return memory;
  }

  Status run(Launch& launch) override {
    if (Status s = cuda_status(cudaSetDevice(index_), "select the device"); !s.ok()) return s;
    const std::size_t stride_float = scratch_stride(launch.float32);
    const std::size_t stride_double = scratch_stride(launch.float64);
    if (Status s = stage_.pack(launch); !s.ok()) return s;
    if (Status s = copy(stage_.in_device().data(), stage_.in_host().data(), stage_.in_bytes(), cudaMemcpyHostToDevice);
        !s.ok()) {
      return s;
    }
    if (Status s = start<float>(stride_float, blocks_[0]); !s.ok()) return s;
    if (Status s = start<double>(stride_double, blocks_[1]); !s.ok()) return s;
    if (stage_.group_count() > 0) {
      const cudaError_t error = launch_statistics(stage_.groups(), stage_.sums(), stage_.group_count(), stream_);
      if (Status s = cuda_status(error, "sum the statistics"); !s.ok()) return s;
    }
    if (Status s =
            copy(stage_.out_host().data(), stage_.out_device().data(), stage_.out_bytes(), cudaMemcpyDeviceToHost);
        !s.ok()) {
      return s;
    }
    if (Status s = cuda_status(cudaEventRecord(done_, stream_), "mark the end of a launch"); !s.ok()) return s;
    if (Status s = cuda_status(cudaEventSynchronize(done_), "step"); !s.ok()) return s;
    stage_.unpack(launch);
    return {};
  }

 private:
  template <typename Real>
  using Models = std::map<const EngineModel*, std::weak_ptr<const DeviceModel<Real>>>;

  // As many scratch blocks as the device runs at once, within a quarter of the memory; at least one.
  std::size_t scratch_wanted(std::size_t scratch_bytes) const {
    const std::size_t most = std::size_t(budget().limit) / 4 / std::max<std::size_t>(scratch_bytes, 1);
    const std::size_t blocks = std::max(blocks_[0], blocks_[1]);
    return scratch_bytes * std::clamp<std::size_t>(most, 1, blocks);
  }

  template <typename Real>
  static std::size_t scratch_stride(const std::vector<Launch::Item<Real>>& items) {
    std::size_t stride = 0;
    for (const auto& item : items) {
      stride = std::max(stride, static_cast<const CudaMemory*>(item.memory)->scratch_bytes());
    }
    return stride;
  }

  template <typename Real>
  Status start(std::size_t stride, int resident) {
    CudaLaunch<Real> launch = stage_.device_launch<Real>();
    if (launch.row_count == 0) return {};
    launch.scratch = scratch_.data();
    launch.scratch_stride = stride;
    const std::size_t room = scratch_.size() / stride;  // at least one: the largest batch made it so
    const int blocks =
        static_cast<int>(std::min<std::size_t>({room, std::size_t(resident), std::size_t(launch.row_count)}));
    return cuda_status(launch_steps(launch, blocks, stream_), "start a launch");
  }

  Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return {};
    return cuda_status(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copy a launch");
  }

  template <typename Real>
  Result<std::unique_ptr<BatchMemory>> allocate_typed(Models<Real>& models, std::shared_ptr<const EngineModel> model,
                                                      model::WorldBytes bytes, int world_count,
                                                      Reservation reservation) {
    std::erase_if(models, [](const auto& entry) { return entry.second.expired(); });
    const EngineModel* key = model.get();
    std::shared_ptr<const DeviceModel<Real>> device_model = models[key].lock();
    if (device_model == nullptr) {
      auto uploaded = DeviceModel<Real>::upload(std::move(model));
      if (!uploaded.ok()) return uploaded.error();
      device_model = std::move(uploaded).value();
      models[key] = device_model;
    }
    auto memory = std::make_unique<TypedCudaMemory<Real>>(index_, std::move(device_model), bytes, world_count,
                                                          std::move(reservation));
    if (Status s = memory->allocate(); !s.ok()) return s.error();
    return std::unique_ptr<BatchMemory>(std::move(memory));
  }

  int index_;
  std::string name_;
  int blocks_[2];  // resident blocks of the whole device, float32 and float64
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  DeviceBuffer scratch_;  // shared by all launches: they follow each other on one stream
  LaunchStage stage_;
  Models<float> models_float_;
  Models<double> models_double_;
};

Error unusable(int index, const std::string& why) {
  return {ErrorCode::kFailedPrecondition, "device", text("cuda:", index, " cannot be used: ", why, ".")};
}

}  // namespace

Result<std::unique_ptr<Engine>> create_cuda_engine(const EngineOptions& options, int index) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    return unusable(index, cudaGetErrorString(error));
  }
  if (index >= count) return unusable(index, text("the machine has ", count, " CUDA devices"));
  cudaDeviceProp properties{};
  std::size_t free_bytes = 0, total_bytes = 0;
  int blocks_float = 0, blocks_double = 0;
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) error = cudaMemGetInfo(&free_bytes, &total_bytes);
  // Fails on a device that no kernel here was compiled for.
  if (error == cudaSuccess) error = resident_blocks<float>(&blocks_float);
  if (error == cudaSuccess) error = resident_blocks<double>(&blocks_double);
  if (error == cudaSuccess && (blocks_float < 1 || blocks_double < 1)) error = cudaErrorInvalidConfiguration;
  if (error != cudaSuccess) {
    cudaGetLastError();
    return unusable(index, cudaGetErrorString(error));
  }
  const std::int64_t usable = static_cast<std::int64_t>(kUsableMemory * static_cast<double>(free_bytes));
  const std::int64_t limit = options.memory_limit_bytes > 0 ? std::min(options.memory_limit_bytes, usable) : usable;
  auto engine =
      std::make_unique<CudaEngine>(index, properties.name, limit, blocks_float * properties.multiProcessorCount,
                                   blocks_double * properties.multiProcessorCount);
  if (Status status = engine->open(); !status.ok()) return unusable(index, status.error().message);
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace axion::backend
