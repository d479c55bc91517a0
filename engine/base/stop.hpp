// Long work that ends early if no caller waits for it any more: compiling scenes, working out worlds' own numbers.
//
// Who runs such work says on its thread how to learn of that (StopScope). The work asks between its pieces, which take
// milliseconds at most, and is left by an exception, Stopped, which reaches the maker of the scope: nothing of the work
// is kept then. Work outside of a scope is never stopped.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace axion {

struct Stopped {};

class StopScope {
 public:
  explicit StopScope(std::function<bool()> asked) : asked_(std::move(asked)), outer_(current()) { current() = this; }
  ~StopScope() { current() = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Whether the work of this thread is to stop, by any of its scopes.
  static bool asked() {
    for (const StopScope* scope = current(); scope != nullptr; scope = scope->outer_) {
      if (scope->asked_()) return true;
    }
    return false;
  }

 private:
  static const StopScope*& current() {
    thread_local const StopScope* scope = nullptr;
    return scope;
  }

  const std::function<bool()> asked_;
  const StopScope* const outer_;
};

inline void stop_if_asked() {
  if (StopScope::asked()) throw Stopped();
}
// For loops of many small parts.
inline void stop_if_asked(std::size_t part) {
  if (part % 1024 == 1023) stop_if_asked();
}

}  // namespace axion
