// Scenes and short cuts for the tests of the backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/hash.hpp"
#include "engine/engine.hpp"

namespace axion::testing {

// The value, or an exception with the error's text.
template <typename T>
T take(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().field + ": " + result.error().message);
  return std::move(result).value();
}
void check(const Status& status);

// A snapshot whose bytes were changed on purpose, with their checksum.
inline std::string signed_again(std::string bytes) {
  const std::size_t end = bytes.size() - 9;
  Hash hash;
  hash.add(std::span(reinterpret_cast<const std::byte*>(bytes.data()), end));
  const std::uint64_t sum = hash.value();
  std::memcpy(bytes.data() + end, &sum, sizeof(sum));
  return bytes;
}

// A free box and a free sphere that fall on a plane.
model::SceneSpec box_and_sphere();
// Every kind of joint: a free base with tilted inertia; on it a ball, then slide and two hinges, then one hinge; two
// motors, a position drive, and a keyframe.
model::SceneSpec all_joints();
// The quadruped of the examples.
model::SceneSpec quadruped();

// The scene with sensors of every kind, of all its bodies, axes, balls and actuators.
model::SceneSpec with_sensors(model::SceneSpec scene);

std::shared_ptr<const Model> compile_scene(const model::SceneSpec& scene);
// On AXION_TEST_DEVICE: "cpu", or in tests/ptx the emulated GPU, which has no threads to choose.
std::unique_ptr<Engine> cpu_engine(int threads = 1, std::int64_t memory_limit = 0);

BatchSpec batch_spec(std::shared_ptr<const Model> model, int worlds,
                     model::Precision precision = model::Precision::kFloat64);

// A field of some worlds (empty: all) as doubles.
std::vector<double> read(const Batch& batch, Field field, std::vector<std::int32_t> worlds = {});
// All fields of a world, byte for byte.
std::string state_bytes(const Batch& batch, int world);

// n rows of `columns` doubles as an input.
InputView input(const std::vector<double>& values, int columns);
// Deterministic numbers in [-scale, scale].
std::vector<double> noise(int count, double scale, unsigned seed);

StepStatistics step(Engine& engine, Batch& batch, int steps, const std::vector<double>& control = {});
// Spins and shifts every world differently, so that no two worlds are alike.
void scatter_worlds(Batch& batch);

}  // namespace axion::testing
