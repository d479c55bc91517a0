// The episodes of a batch's worlds under a task: what they carry from step to step, and what a step answers.
//
// A step of a task is made in three parts, so that its launch is shared with other batches': plan() says what the
// engine is to do, the engine does it, finish() makes the answer and begins the episodes that follow. plan() changes
// nothing that an episode is made of, so a step that is given up leaves the episode where it was. All of it depends on
// a world's seed, its episode's number and its own state alone. The device's owner only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"

#include "server/task/random.hpp"
#include "server/task/reading.hpp"
#include "server/task/task.hpp"

namespace axion::server::task {

// What a step is to do, and where the engine leaves what finish() reads. Not moved while views of it are used.
struct StepPlan {
  std::vector<std::int32_t> worlds;   // asked for, in order
  std::vector<double> actions;        // [worlds, actions]
  std::vector<std::size_t> stepping;  // rows of `worlds` that are stepped; the others begin an episode
  std::vector<std::int32_t> stepping_worlds;
  std::vector<double> control;  // [stepping, actuators]
  std::vector<double> wrench;   // of pushes, [stepping, bodies of the fields, 6]; empty: there are none
  std::vector<std::vector<std::byte>> fields;
  std::vector<OutputView> views;  // of the fields, by rows of `stepping`
};

// Of n worlds, in the order asked for.
struct StepAnswer {
  std::vector<double> observation;  // [n, observation_size]
  std::vector<double> privileged;   // [n, privileged_size]
  std::vector<std::int32_t> level;  // [n, curricula], of the episodes that the observation belongs to
  std::vector<double> reward;       // [n]
  std::vector<double> terms;        // [n, terms]
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<std::int32_t> ended_by;  // index into end_names(); -1: goes on
  std::vector<double> episode_return;
  std::vector<std::int64_t> episode_length, episode;
  std::vector<std::int32_t> final_rows;      // with kSameStep: which of the n have ended
  std::vector<double> final_observation;     // [final_rows, observation_size]
  std::vector<double> final_privileged;      // [final_rows, privileged_size]
  std::vector<std::int32_t> restarted_rows;  // of the n, in which an episode has begun
};

// The task's ends in order, then "max_episode_steps" and "non_finite".
std::vector<std::string> end_names(const Task& task);

class Episodes {
 public:
  // `seeds`: one a world. No episode has begun yet.
  Episodes(std::shared_ptr<const Task> task, const Batch& batch, std::span<const std::uint64_t> seeds);
  const Task& task() const { return *task_; }
  // Takes what the task's draws are applied to: before any world of the batch has numbers of its own.
  Status take_model(const Batch& batch);
  // Refused by the path of a draw whose bounds make no model. On any thread, as Batch::prepare.
  Status check_draws(const Batch& batch) const;

  // Episodes of these worlds begin anew from number 0 of their seeds; start() begins them.
  void give_seeds(std::span<const std::int32_t> worlds, std::span<const std::uint64_t> seeds);
  // Begins the next episode of each.
  Status start(Batch& batch, std::span<const std::int32_t> worlds);
  // The state of these worlds was changed within their episodes: what is observed of it is read anew.
  Status look_again(const Batch& batch, std::span<const std::int32_t> worlds);
  void observation(std::int32_t world, std::span<double> out) const;
  void privileged(std::int32_t world, std::span<double> out) const;
  // Appends the level of each curriculum.
  void levels(std::int32_t world, std::vector<std::int32_t>& out) const;

  // `changes` grows with all that changes the batch.
  Status plan(const Batch& batch, std::uint64_t changes, StepPlan& plan);
  // `outcome`: of the stepping worlds.
  Status finish(Batch& batch, std::uint64_t changes, const StepPlan& plan, std::span<const std::uint32_t> outcome,
                StepAnswer& answer);

  // What a world carries, as bytes, and back. Refused unless it is of a task with the same layout.
  std::string save(std::int32_t world) const;
  Status load(std::int32_t world, std::string_view bytes);
  Status check(std::string_view bytes) const;

 private:
  struct Clock {
    std::int64_t next = 0, draws = 0;  // step of the episode at which it is drawn again; how often it was
  };
  struct World {
    std::uint64_t seed = 0;
    std::int64_t episode = -1, length = 0;
    double total = 0;
    bool ended = false;
    std::vector<Clock> commands;
    std::vector<Clock> pushes;   // the step at which the next begins, or began; how many are over
    std::vector<double> memory;  // as Layout says
  };
  bool may_be_any(std::size_t i) const;
  // Where the parts of World::memory begin: observation, action, the one before, actions that wait, commands, state
  // before, privileged observation, late frames, targets, draws, touching, levels, and sums that become levels.
  struct Layout {
    std::size_t action = 0, previous = 0, waiting = 0, command = 0, before = 0, privileged = 0, late = 0, target = 0,
                draw = 0, tracked = 0, level = 0, result = 0, end = 0;
  };
  World& world(std::int32_t index) { return worlds_[static_cast<std::size_t>(index)]; }
  const World& world(std::int32_t index) const { return worlds_[static_cast<std::size_t>(index)]; }
  void begin(World& world);
  void make_places(std::size_t count, StepPlan& plan) const;  // of the fields of so many worlds
  Status read_fields(const Batch& batch, std::span<const std::int32_t> worlds, StepPlan& plan) const;
  // Row `row` of a plan's fields, and the contacts of the world, for the reading.
  Status look_at(const Batch& batch, std::int32_t index, const StepPlan& plan, std::size_t row);
  Status read_before(const Batch& batch, std::span<const std::int32_t> worlds);
  Status perturb(Batch& batch, std::span<const std::int32_t> worlds) const;
  void draw_commands(World& world);
  void draw_pushes(World& world);                                // of pushes that are to come
  bool is_pushed(const World& world, std::size_t term) const;    // in its next step
  Status push_worlds(const Batch& batch, StepPlan& plan) const;  // makes the plan's wrenches
  void observe(World& world, bool first);
  void observe(World& world, bool first, const std::vector<ObservationTerm>& terms, double* out, Stream noise,
               int whole);
  const double* acting(const World& world, const double* action) const;
  double control_of(const World& world, std::size_t action, double given) const;
  Status draw_numbers(Batch& batch, std::span<const std::int32_t> worlds);
  // `rows`: of each world a row for each parameter; `places` is what the update refers to.
  StateUpdate drawn_update(const std::vector<std::vector<std::vector<double>>>& rows,
                           std::vector<std::vector<double>>& places) const;
  void rate(World& world);
  double level_of(const World& world, int curriculum) const;  // 0 to 1; 1 of none
  void run_clocks(const World& world);
  void track(World& world);
  double measure(const Measured& part, const World& world, bool terminated);
  void keep_before(World& world);
  double reward_of(const RewardTerm& term, const World& world, bool terminated);
  // `by`: index into end_names() of the first that holds, -1 if none.
  void find_end(const World& world, bool non_finite, bool& terminated, bool& truncated, std::int32_t& by);
  bool holds(const EndTerm& end);
  void finish_world(World& world, std::uint32_t outcome, std::size_t row, StepAnswer& answer);

  std::shared_ptr<const Task> task_;
  Layout layout_;
  std::vector<World> worlds_;
  std::vector<DType> field_types_;
  std::uint64_t changes_ = ~std::uint64_t{0};  // of the batch, when the state before was read
  Reading reading_;
  std::vector<double> numbers_, values_, targets_, phases_, fractions_;
  std::vector<Parameter> drawn_;             // that the task's draws change
  std::vector<std::vector<double>> models_;  // the model's numbers of each
  std::vector<ContactInfo> contacts_;
};

}  // namespace axion::server::task
