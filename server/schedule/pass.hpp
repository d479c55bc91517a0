// A part of the device's work beside steps: something done to items, worlds mostly, and cut between them.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "engine/engine.hpp"

namespace axion::server::schedule {

struct Pass {
  std::size_t count = 1;
  // Does the items [first, last): all, in turn, from 0 on. What it refers to lives as long as the pass.
  std::function<absl::Status(Engine& engine, std::size_t first, std::size_t last)> run;
  // It needs no device, is long and changes nothing: it is done whole on another thread, which asks whether anybody
  // still waits for it (engine/base/stop.hpp).
  bool beside = false;
  // It changes the batch. It may be refused in its first piece, which then has changed nothing; after that the work is
  // finished even if no caller waits, so that it is done to all worlds or to none.
  bool changes = false;
};

// One that cannot be cut.
template <typename F>
Pass whole(F work, bool changes = false) {
  return {.count = 1,
          .run = [work = std::move(work)](Engine& engine, std::size_t, std::size_t) { return work(engine); },
          .beside = false,
          .changes = changes};
}

}  // namespace axion::server::schedule
