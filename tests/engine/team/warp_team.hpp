// Teams of one host thread that share out work as others do: by packs of any length, or to the threads of a warp. With
// them a host runs every form of an algorithm on one input, and compares bits.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "engine/team/serial_team.hpp"

namespace axion::testing {

// A team of one thread with vectors of so many bytes; 0: number by number. The compiler makes of vectors that the
// processor does not have several that it has.
template <int bytes>
class PackTeam : public team::SerialTeam {
 public:
  static constexpr int kVectorBytes = bytes;
};

// Runs body(i, meet) for i from 0 to count − 1 as coroutines of this thread: from one meet() to the next each in its
// turn, in ascending or descending order.
class Coroutines {
 public:
  Coroutines(int count, bool descending) : fibres_(count), descending_(descending) {}

  void run(const std::function<void(int, const std::function<void()>&)>& body) {
    body_ = &body;
    for (std::size_t i = 0; i < fibres_.size(); ++i) start(static_cast<int>(i));
    for (int running = static_cast<int>(fibres_.size()); running > 0;) {
      int ended = 0;
      for (std::size_t k = 0; k < fibres_.size(); ++k) {
        Fibre& fibre = fibres_[descending_ ? fibres_.size() - 1 - k : k];
        turn_ = &fibre;
        swapcontext(&caller_, &fibre.context);
        ended += fibre.ended;
      }
      if (ended != 0 && ended != running) throw std::logic_error("threads of a warp do not meet equally often");
      running -= ended;
    }
  }

 private:
  static constexpr std::size_t kStackBytes = 256 << 10;
  struct Fibre {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
    int number = 0;
    bool ended = false;
  };

  void start(int i) {
    Fibre& fibre = fibres_[i];
    fibre.number = i, fibre.ended = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get(), fibre.context.uc_stack.ss_size = kStackBytes;
    fibre.context.uc_link = &caller_;
    started = this;
    makecontext(&fibre.context, &Coroutines::enter, 0);
  }
  static void enter() {
    Coroutines* const here = started;
    Fibre* const fibre = here->turn_;
    (*here->body_)(fibre->number, [here, fibre] { swapcontext(&fibre->context, &here->caller_); });
    fibre->ended = true;
  }

  inline static thread_local Coroutines* started = nullptr;
  std::vector<Fibre> fibres_;
  bool descending_;
  const std::function<void(int, const std::function<void()>&)>* body_ = nullptr;
  ucontext_t caller_{};
  Fibre* turn_ = nullptr;
};

// A team that shares out work as a CUDA block of one warp does, number by number and a matrix to its 32 threads. They
// take turns, and loops run, in ascending order or in descending.
class WarpTeam : public team::OrderedTeam {
 public:
  static constexpr int kVectorBytes = 0;
  static constexpr bool kSharesByWarp = true;

  explicit WarpTeam(team::Order order)
      : OrderedTeam(order), warp_(std::make_shared<Coroutines>(team::kSumLanes, order == team::Order::kReversed)) {}

  template <typename Body>
  void together(Body&& body) const {
    ++meetings;
    warp_->run([&](int thread, const std::function<void()>& meet) { body(thread, meet); });
  }
  template <typename Keep>
  int first(int from, int count, Keep&& keep) const {
    ++searches;
    while (from < count && !keep(from)) ++from;
    return from < count ? from : count;
  }

  mutable int meetings = 0, searches = 0;  // how often the verbs that it alone has were called

 private:
  std::shared_ptr<Coroutines> warp_;
};

static_assert(team::Team<PackTeam<0>> && team::Team<WarpTeam>);

}  // namespace axion::testing
