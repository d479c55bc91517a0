// Snapshots that engines before this one took are taken, where what they lack was not.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/backend/snapshot.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/newton/solver_scenes.hpp"

namespace axion::testing::old_snapshot_test {
namespace {

// A snapshot of version 1 of the format, which did not have `eased`.
template <typename Real>
std::string as_version_1(std::string bytes, const Model& model) {
  const model::ModelView<Real> m = dynamic_cast<const backend::EngineModel&>(model).arrays<Real>().view();
  backend::SnapshotHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::size_t at = sizeof(header), from = 0;
  for (const auto& array : model::declarations<model::WorldState, Real>()) {
    const std::string name = array.name;
    std::size_t count = array.length(m);
    const bool of_contacts = name == "contacts" || name == "contact_gap" || name == "contact_moment";
    if (of_contacts || name == "lambda_contact") count = count > 0 ? header.contact_count : 0;
    if (name == "lambda_contact") count *= 3;
    if (name == "warm") count = header.warm_count;
    if (name == "eased") from = at;
    at += count * array.element_bytes;
  }
  const std::size_t cut = m.lock_softness_count * sizeof(Real);
  bytes.erase(from, cut);
  header.version = 1, header.bytes -= cut;
  std::memcpy(bytes.data(), &header, sizeof(header));
  return signed_again(std::move(bytes));
}

TEST(Snapshot, of_an_engine_that_eased_nothing_goes_on_with_the_same_bits) {
  for (const model::SceneSpec& scene : {four_bar(), box_and_sphere()}) {
    const auto engine = cpu_engine();
    const auto batch = take(engine->create_batch(batch_spec(compile_scene(scene), 2)));
    step(*engine, *batch, 10);
    const std::string snapshot = take(batch->snapshots(std::vector<std::int32_t>{0}, {})).front(),
                      old = as_version_1<double>(snapshot, *batch->spec().model);
    EXPECT_EQ(old.size() < snapshot.size(), scene.joints.size() == 4) << "a four-bar has a loop, and a box has none";
    StateUpdate state;
    state.snapshots = {old};
    check(batch->set_state(std::vector<std::int32_t>{1}, state));
    step(*engine, *batch, 10);
    EXPECT_EQ(state_bytes(*batch, 1), state_bytes(*batch, 0));
    EXPECT_EQ(take(batch->snapshots(std::vector<std::int32_t>{1}, {})),
              take(batch->snapshots(std::vector<std::int32_t>{0}, {})));
  }
}

}  // namespace
}  // namespace axion::testing::old_snapshot_test
