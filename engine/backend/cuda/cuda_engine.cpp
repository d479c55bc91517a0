#include "engine/backend/cuda/cuda_engine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/backend/cuda/launch_stage.hpp"
#include "engine/backend/cuda/launch_wait.hpp"

namespace axion::backend {
namespace {

// Left to the driver, models and the packed launches.
constexpr double kUsableMemory = 0.9;

// Threads of the host that pack inputs: a few read as fast as memory gives.
constexpr int kMostThreads = 8;

// The step kernel of one precision: what it takes, and the shapes that its launches choose from.
struct KernelChoice {
  KernelUse use{};
  std::vector<BlockShape> shapes;
  BlockShape last{};  // that it was launched with
};

class CudaEngine final : public EngineCore {
 public:
  CudaEngine(int index, std::string name, std::int64_t memory_limit, const DeviceLimits& limits, KernelChoice narrow,
             KernelChoice wide, int threads)
      : EngineCore(memory_limit),
        index_(index),
        name_(std::move(name)),
        limits_(limits),
        narrow_(std::move(narrow)),
        wide_(std::move(wide)),
        pool_(threads) {}

  ~CudaEngine() override {
    if (done_ != nullptr) cudaEventDestroy(done_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Status open() {
    if (Status s = cuda_status(cudaStreamCreate(&stream_), "make a stream"); !s.ok()) return s;
    return cuda_status(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "make an event");
  }

  DeviceInfo device() const override {
    return {"cuda",
            text("cuda:", index_),
            name_,
            budget().limit,
            budget().used,
            0,
            last_shape_.threads,
            std::int64_t(last_shape_.near_bytes)};
  }

 protected:
  Result<InputRoom> input_room(std::size_t bytes) override {
    if (Status s = cuda_status(cudaSetDevice(index_), "select the device"); !s.ok()) return s.error();
    const Result<std::byte*> data = stage_.reserve_values(bytes);
    if (!data.ok()) return data.error();
    return InputRoom{data.value(), &pool_};
  }

  std::int64_t world_overhead_bytes() const override { return sizeof(StepStatistics); }

  std::int64_t scratch_growth_bytes(std::size_t scratch_bytes) const override {
    const std::size_t scratch = scratch_wanted(scratch_bytes);
    return scratch > scratch_.size() ? std::int64_t(scratch - scratch_.size()) : 0;
  }

  Result<std::unique_ptr<BatchMemory>> allocate(std::shared_ptr<const EngineModel> model, DType precision,
                                                world::WorldBytes bytes, int world_count,
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
    int worlds = 0;
    for (const auto& item : launch.float32) worlds += item.job.world_count;
    for (const auto& item : launch.float64) worlds += item.job.world_count;
    const std::vector<JobGroup> narrow = group(launch.float32, narrow_, worlds);
    const std::vector<JobGroup> wide = group(launch.float64, wide_, worlds);
    if (Status s = stage_.pack(launch, narrow, wide); !s.ok()) return s;
    const Status status = run_packed(launch, narrow, wide);
    // What was started ends before the caller's memory and the stage are used for anything else.
    if (!status.ok()) cudaStreamSynchronize(stream_);
    return status;
  }

 private:
  template <typename Real>
  using Models = std::map<const EngineModel*, std::weak_ptr<const DeviceModel<Real>>>;

  Status run_packed(Launch& launch, const std::vector<JobGroup>& narrow, const std::vector<JobGroup>& wide) {
    if (Status s = stage_.upload(stream_); !s.ok()) return s;
    if (Status s = start<float>(narrow, scratch_stride(launch.float32), narrow_); !s.ok()) return s;
    if (Status s = start<double>(wide, scratch_stride(launch.float64), wide_); !s.ok()) return s;
    if (Status s = cuda_status(cudaEventRecord(done_, stream_), "mark the end of a launch"); !s.ok()) return s;
    LaunchWait wait(stage_.row_group_count());
    return stage_.unpack(launch, [&](unsigned* flag, unsigned number) -> Status {
      cudaError_t state = cudaErrorNotReady;
      const auto ended = [&] {
        state = cudaEventQuery(done_);
        if (state != cudaErrorNotReady) return true;
        cudaGetLastError();  // the runtime keeps it as the last error; the next launch shall not report it
        return false;
      };
      if (wait.until(flag, number, ended)) return {};
      if (state != cudaSuccess) return cuda_status(state, "step");
      return Error{ErrorCode::kInternal, "", "The GPU ended a launch without all of its worlds."};
    });
  }

  // As many scratch blocks as the device runs at once, within a quarter of the memory; at least one.
  std::size_t scratch_wanted(std::size_t scratch_bytes) const {
    const std::size_t most = std::size_t(budget().limit) / 4 / std::max<std::size_t>(scratch_bytes, 1);
    int blocks = 1;
    for (const auto* kernel : {&narrow_, &wide_}) {
      for (const BlockShape& shape : kernel->shapes) blocks = std::max(blocks, shape.blocks);
    }
    return scratch_bytes * std::clamp<std::size_t>(most, 1, std::size_t(blocks) * limits_.multiprocessors);
  }

  template <typename Real>
  static std::size_t scratch_stride(const std::vector<Launch::Item<Real>>& items) {
    std::size_t stride = 0;
    for (const auto& item : items) {
      stride = std::max(stride, static_cast<const CudaMemory*>(item.memory)->scratch_bytes());
    }
    return stride;
  }

  // Puts the jobs in the order of their groups.
  template <typename Real>
  std::vector<JobGroup> group(std::vector<Launch::Item<Real>>& items, const KernelChoice& kernel, int worlds) {
    std::vector<PlannedJob> jobs;
    for (const auto& item : items) {
      auto* memory = static_cast<TypedCudaMemory<Real>*>(item.memory);
      jobs.push_back({&memory->clocks(item.job.m, limits_, kernel.shapes), item.job.world_count});
    }
    JobOrder order = group_jobs(kernel.shapes, jobs, limits_.multiprocessors, worlds);
    std::vector<Launch::Item<Real>> ordered;
    for (const int i : order.order) ordered.push_back(items[i]);
    items = std::move(ordered);
    return std::move(order.groups);
  }

  // A grid for each group, one after the other: they share the scratch.
  template <typename Real>
  Status start(const std::vector<JobGroup>& groups, std::size_t stride, KernelChoice& kernel) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ResidentLaunch<Real> launch = stage_.device_launch<Real>(static_cast<int>(g));
      launch.scratch = scratch_.data();
      launch.scratch_stride = stride;
      const BlockShape& shape = groups[g].shape;
      const std::size_t room = scratch_.size() / stride;  // at least one: the largest batch made it so
      const std::size_t resident = std::size_t(shape.blocks) * limits_.multiprocessors;
      const auto blocks = std::min<std::size_t>({room, resident, std::size_t(launch.row_count)});
      cudaError_t error = shape == kernel.last ? cudaSuccess : prefer_shared<Real>(shape, limits_, kernel.use);
      if (error == cudaSuccess) error = launch_steps(launch, shape, static_cast<int>(blocks), stream_);
      if (Status s = cuda_status(error, "start a launch"); !s.ok()) return s;
      stage_.started<Real>(static_cast<int>(g), static_cast<int>(blocks));
      last_shape_ = kernel.last = shape;
    }
    return {};
  }

  template <typename Real>
  Result<std::unique_ptr<BatchMemory>> allocate_typed(Models<Real>& models, std::shared_ptr<const EngineModel> model,
                                                      world::WorldBytes bytes, int world_count,
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
  const DeviceLimits limits_;
  KernelChoice narrow_, wide_;  // float32 and float64
  BlockShape last_shape_{};
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  DeviceBuffer scratch_;  // shared by all launches: they follow each other on one stream
  LaunchStage stage_;
  ThreadPool pool_;  // checks and packs inputs
  Models<float> models_float_;
  Models<double> models_double_;
};

Error unusable(int index, const std::string& why) {
  return {ErrorCode::kFailedPrecondition, "device", text("cuda:", index, " cannot be used: ", why, ".")};
}

template <typename Real>
cudaError_t choose_shapes(const DeviceLimits& limits, const ShapeWish& wish, KernelChoice* kernel) {
  const cudaError_t error = prepare_steps<Real>(limits, &kernel->use);
  if (error == cudaSuccess) kernel->shapes = block_shapes(limits, kernel->use, wish);
  return error;
}

// Why a kernel has no shape: the wish, or the device.
Error no_shape(int index, const DeviceLimits& limits, const KernelUse& use, const ShapeWish& wish) {
  std::size_t most = 0;
  for (const BlockShape& shape : block_shapes(limits, use, {wish.threads, -1})) most = std::max(most, shape.near_bytes);
  if (wish.near_bytes > 0 && most > 0) {
    return invalid_argument("near_bytes", text("near_bytes is ", wish.near_bytes, "; a block on cuda:", index,
                                               " can have at most ", most, "."));
  }
  return unusable(index, text("no block of ", wish.threads > 0 ? text(wish.threads, " threads ") : "the step's kernel ",
                              "fits on a multiprocessor"));
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
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) error = cudaMemGetInfo(&free_bytes, &total_bytes);
  const DeviceLimits limits{properties.multiProcessorCount, properties.sharedMemPerMultiprocessor,
                            properties.sharedMemPerBlockOptin, properties.reservedSharedMemPerBlock,
                            std::size_t(properties.l2CacheSize)};
  const ShapeWish wish{options.block_threads, options.near_bytes};
  KernelChoice narrow, wide;
  if (error == cudaSuccess) error = choose_shapes<float>(limits, wish, &narrow);
  if (error == cudaSuccess) error = choose_shapes<double>(limits, wish, &wide);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return unusable(index, cudaGetErrorString(error));
  }
  for (const KernelChoice* kernel : {&narrow, &wide}) {
    if (kernel->shapes.empty()) return no_shape(index, limits, kernel->use, wish);
  }
  const std::int64_t usable = static_cast<std::int64_t>(kUsableMemory * static_cast<double>(free_bytes));
  const std::int64_t limit = options.memory_limit_bytes > 0 ? std::min(options.memory_limit_bytes, usable) : usable;
  const int threads = std::min(options.threads > 0 ? options.threads : available_processors(), kMostThreads);
  auto engine =
      std::make_unique<CudaEngine>(index, properties.name, limit, limits, std::move(narrow), std::move(wide), threads);
  if (Status status = engine->open(); !status.ok()) return unusable(index, status.error().message);
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace axion::backend
