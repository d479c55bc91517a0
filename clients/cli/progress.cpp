#include "clients/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace axion::cli {

Progress::Progress(std::string label, bool quiet)
    : label_(std::move(label)), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (!quiet_ && terminal_ && tenths_ >= 0) {
    std::fputc('\n', stderr);
  }
}

void Progress::show(double fraction, const std::string& note) {
  constexpr int kWidth = 30;
  const absl::Time now = absl::Now();
  const int tenths = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 10);
  // A terminal is redrawn at most ten times a second, but always at the end.
  const bool due = terminal_ ? fraction >= 1 || now - drawn_ > absl::Milliseconds(100) : tenths > tenths_;
  if (quiet_ || !due) {
    return;
  }
  tenths_ = tenths;
  drawn_ = now;
  const auto filled = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  absl::FPrintF(stderr, "%s%s [%s] %3.0f %%  %s%s", terminal_ ? "\r" : "", label_, bar, 100 * fraction, note,
                terminal_ ? "\033[K" : "\n");
  std::fflush(stderr);
}

}  // namespace axion::cli
