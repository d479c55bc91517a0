// The engine's reader of snapshots. An input is | kind, 1 | rest |: the rest is the snapshot (kind even), or edits of a
// sound one that is sealed again (odd). A world that takes it has a snapshot that it takes again, before it steps on
// and after.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/hash.hpp"
#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"

#include "tests/fuzz/edits.hpp"

namespace {

using namespace axion;  // NOLINT(google-build-using-namespace)

constexpr const char* kScene =
    R"(<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="b" pos="0 0 .09"><freejoint/><geom size=".1"/>
<body pos=".2 0 0"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".05"/></body></body>
<body pos="0 0 .28"><freejoint/><geom size=".1"/></body>
</worldbody><actuator><motor joint="j"/></actuator></mujoco>)";
constexpr std::int64_t kManySteps = std::int64_t(1) << 61;
constexpr std::size_t kSealBytes = 9;  // the checksum, and what a snapshot ends with

template <typename T>
T sound(Result<T> result) {
  if (!result.ok()) std::abort();
  return std::move(result).value();
}

class Target {
 public:
  Target() {
    engine_ = sound(create_engine({.device = "cpu", .threads = 1, .memory_limit_bytes = 0}, nullptr));
    batch_ = sound(engine_->create_batch({.model = sound(compile_model(sound(import::import_mjcf(kScene, {})).scene)),
                                          .world_count = 2,
                                          .dt = 0.005,
                                          .options = {},
                                          .overrides = {}}));
    step(20);  // it lies on the floor, with impulses kept for the next step
    good_ = snapshot(0);
  }

  void take(std::string_view input) {
    if (input.empty()) return;
    std::string bytes(input.substr(1));
    if (input[0] & 1) {
      bytes = fuzz::edited(good_.substr(0, good_.size() - kSealBytes), input.substr(1));
      Hash hash;
      hash.add(std::span(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()));
      const std::uint64_t sum = hash.value();
      bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
      bytes.push_back(good_.back());
    }
    const std::string before = snapshot(1);
    const Status status = set(0, bytes);
    if (!status.ok() && status.error().message.empty()) std::abort();  // a refusal has words
    if (status.ok()) {
      expect_taken_again();
      step(3);
      // Whatever became of it; only numbers of steps that no world reaches have an end.
      if (batch_->step_index(0) < kManySteps) expect_taken_again();
      if (!set(1, before).ok()) std::abort();
    }
    if (snapshot(1) != before) std::abort();  // the world beside it
    if (!set(0, good_).ok() || snapshot(0) != good_) std::abort();
  }

 private:
  void step(int count) {
    const StepRequest request{.batch = batch_.get(),
                              .world_indices = {},
                              .step_count = count,
                              .control = {},
                              .body_wrench = {},
                              .mocap_pose = {},
                              .outputs = {}};
    if (!engine_->step({&request, 1}).ok()) std::abort();
  }
  void expect_taken_again() {
    const std::string taken = snapshot(0);
    if (!set(0, taken).ok() || snapshot(0) != taken) std::abort();
  }
  Status set(std::int32_t world, const std::string& bytes) {
    StateUpdate state;
    state.snapshots = {bytes};
    return batch_->set_state({&world, 1}, state);
  }
  std::string snapshot(std::int32_t world) const { return sound(batch_->snapshots({&world, 1}, {})).front(); }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batch> batch_;
  std::string good_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const target = new Target;
  target->take({reinterpret_cast<const char*>(data), size});
  return 0;
}
