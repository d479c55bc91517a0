// A progress bar on stderr: redrawn in place on a terminal, a line every tenth otherwise.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace axion::cli {

class Progress {
 public:
  // `quiet` shows nothing.
  Progress(std::string label, bool quiet);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // fraction from 0 to 1; `note` stands after the bar.
  void show(double fraction, const std::string& note);

 private:
  std::string label_;
  bool quiet_;
  bool terminal_;
  int tenths_ = -1;
  absl::Time drawn_ = absl::InfinitePast();
};

}  // namespace axion::cli
