#include "engine/backend/cpu/cpu_engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>
#include <utility>

#include "engine/backend/cpu/run_row.hpp"
#include "engine/backend/engine_core.hpp"
#include "engine/backend/text.hpp"
#include "engine/backend/thread_pool.hpp"

namespace axion::backend {
namespace {

// Rows that a thread takes at once: enough to pay for the counter, few enough that no thread waits long for the last.
constexpr int kMaxChunkRows = 16;

// Zeroed memory for blocks of model/world_layout.hpp. Of a large one the system makes pages as they are first used, so
// that it costs nothing at once.
class BlockArray {
 public:
  BlockArray() = default;
  explicit BlockArray(std::size_t bytes) : bytes_(world::align_up(bytes, world::kBlockAlignment)) {
    if (bytes_ == 0) return;
    std::size_t room = bytes_ + world::kBlockAlignment;
    memory_.reset(std::calloc(room, 1));
    void* at = memory_.get();
    if (at == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(std::align(world::kBlockAlignment, bytes_, at, room));
  }
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class CpuMemory final : public BatchMemory {
 public:
  CpuMemory(std::size_t world_bytes, int world_count, Reservation reservation)
      : stride_(world_bytes),
        worlds_(world_bytes * world_count),
        statistics_(world_count),
        step_indices_(world_count),
        reservation_(std::move(reservation)) {}

  std::int64_t bytes() const override { return reservation_.bytes(); }

  Status keep_tables(std::span<const std::byte> tables, std::int64_t row_bytes) override {
    const std::int64_t bytes = static_cast<std::int64_t>(tables.size()) + row_bytes;
    if (!reservation_.grow(bytes - table_bytes_)) return no_room_for_tables(bytes);
    table_bytes_ = bytes;
    return {};
  }

  Status visit(std::span<const std::int32_t> worlds, Access, const Visitor& visitor) override {
    for (std::size_t i = 0; i < worlds.size(); ++i) visitor(static_cast<int>(i), worlds_.data() + worlds[i] * stride_);
    return {};
  }

  StepStatistics launch_statistics(int rows) const override {
    StepStatistics total;
    for (int start = 0; start < rows; start += kStatisticsGroup) {
      StepStatistics group;
      for (int i = start; i < std::min(rows, start + kStatisticsGroup); ++i) group.add(statistics_[i]);
      total.add(group);
    }
    return total;
  }

  std::span<const std::int64_t> launch_step_indices(int rows) const override {
    return std::span<const std::int64_t>(step_indices_).first(rows);
  }

  template <typename Real>
  void complete(step::StepJob<Real>& job) {
    job.worlds = worlds_.data();
    job.statistics = statistics_.data();
    job.step_index = step_indices_.data();
  }

 private:
  std::size_t stride_;
  BlockArray worlds_;
  std::vector<StepStatistics> statistics_;
  std::vector<std::int64_t> step_indices_;
  std::int64_t table_bytes_ = 0;
  Reservation reservation_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::int64_t physical_memory() { return std::int64_t(sysconf(_SC_PHYS_PAGES)) * std::int64_t(sysconf(_SC_PAGE_SIZE)); }

class CpuEngine final : public EngineCore {
 public:
  CpuEngine(int threads, std::int64_t memory_limit, const RowRunner& runner)
      : EngineCore(memory_limit), name_(processor_name()), runner_(runner), pool_(threads), scratch_(threads) {}

  DeviceInfo device() const override {
    return {"cpu", "cpu", name_, budget().limit, budget().used, pool_.thread_count()};
  }

 protected:
  Result<InputRoom> input_room(std::size_t) override { return InputRoom{nullptr, &pool_}; }

  std::int64_t world_overhead_bytes() const override { return sizeof(StepStatistics) + sizeof(std::int64_t); }

  std::int64_t scratch_growth_bytes(std::size_t scratch_bytes) const override {
    return scratch_bytes > scratch_bytes_ ? std::int64_t(scratch_bytes - scratch_bytes_) * pool_.thread_count() : 0;
  }

  Result<std::unique_ptr<BatchMemory>> allocate(std::shared_ptr<const EngineModel>, DType, world::WorldBytes bytes,
                                                int world_count, Reservation reservation) override {
    auto memory = std::make_unique<CpuMemory>(bytes.world, world_count, std::move(reservation));
    // Grown last: a batch that does not come to be leaves the engine as it was.
    if (bytes.scratch > scratch_bytes_) {
      std::vector<BlockArray> grown;
      grown.reserve(static_cast<std::size_t>(pool_.thread_count()));
      for (int i = 0; i < pool_.thread_count(); ++i) grown.emplace_back(bytes.scratch);
      scratch_ = std::move(grown);
      scratch_bytes_ = bytes.scratch;
    }
    return std::unique_ptr<BatchMemory>(std::move(memory));
  }

  Status run(Launch& launch) override {
    std::vector<Part> parts;
    int rows = 0;
    add_parts(launch.float32, parts, rows);
    add_parts(launch.float64, parts, rows);
    const int chunk = std::clamp(rows / (8 * pool_.thread_count()), 1, kMaxChunkRows);
    pool_.run((rows + chunk - 1) / chunk, [&](int worker, int index) {
      const int end = std::min(rows, (index + 1) * chunk);
      for (int row = index * chunk; row < end; ++row) run_row(runner_, parts, row, scratch_[worker].data());
    });
    return {};
  }

 private:
  // Rows start .. of the launch that belong to one job, of either precision.
  struct Part {
    int start;
    const step::StepJob<float>* narrow;
    const step::StepJob<double>* wide;
  };

  template <typename Real>
  static void add_parts(std::vector<Launch::Item<Real>>& items, std::vector<Part>& parts, int& rows) {
    for (auto& item : items) {
      static_cast<CpuMemory*>(item.memory)->complete(item.job);
      if constexpr (sizeof(Real) == sizeof(float)) {
        parts.push_back({rows, &item.job, nullptr});
      } else {
        parts.push_back({rows, nullptr, &item.job});
      }
      rows += item.job.world_count;
    }
  }

  static void run_row(const RowRunner& runner, const std::vector<Part>& parts, int row, std::byte* scratch) {
    const auto after = std::upper_bound(parts.begin(), parts.end(), row,
                                        [](int value, const Part& part) { return value < part.start; });
    const Part& part = *std::prev(after);
    if (part.narrow != nullptr) {
      runner.run_narrow(*part.narrow, row - part.start, scratch);
    } else {
      runner.run_wide(*part.wide, row - part.start, scratch);
    }
  }

  std::string name_;
  const RowRunner runner_;
  ThreadPool pool_;
  std::size_t scratch_bytes_ = 0;
  std::vector<BlockArray> scratch_;  // one a thread
};

}  // namespace

Result<std::unique_ptr<Engine>> create_cpu_engine(const EngineOptions& options) {
  const std::int64_t limit = options.memory_limit_bytes > 0 ? options.memory_limit_bytes : physical_memory();
  const std::vector<RowRunner> runners = usable_row_runners();
  RowRunner runner = runners.back();
  if (!options.instruction_set.empty()) {
    const auto named = std::find_if(runners.begin(), runners.end(), [&](const RowRunner& candidate) {
      return candidate.instruction_set == options.instruction_set;
    });
    if (named == runners.end()) {
      std::string names;
      for (const RowRunner& candidate : runners)
        names += std::string(names.empty() ? "" : ", ") + candidate.instruction_set;
      return invalid_argument("instruction_set", text("instruction_set is \"", options.instruction_set,
                                                      "\"; this build and machine have ", names, "."));
    }
    runner = *named;
  }
  const int threads = options.threads > 0 ? options.threads : available_processors();
  return std::unique_ptr<Engine>(std::make_unique<CpuEngine>(threads, limit, runner));
}

}  // namespace axion::backend
