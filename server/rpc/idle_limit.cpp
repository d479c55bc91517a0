#include "server/rpc/idle_limit.hpp"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/schedule/failure.hpp"
#include "server/schedule/steady_time.hpp"

namespace axion::server::rpc {

IdleLimit::IdleLimit(absl::Duration limit, std::function<void(const absl::Status&)> finish)
    : limit_(limit), finish_(std::move(finish)) {}

void IdleLimit::wait(const std::function<void()>& start) {
  absl::MutexLock lock(&mutex_);
  if (ending_) return;
  waits_ = true;
  since_ = schedule::steady_now();
  if (alarm_ == nullptr) set_alarm(limit_);
  start();
}

bool IdleLimit::take_up() {
  absl::MutexLock lock(&mutex_);
  waits_ = false;
  return !ending_;
}

void IdleLimit::end(const absl::Status& status) {
  std::shared_ptr<grpc::Alarm> alarm;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = status;
    alarm = alarm_;
  }
  alarm->Cancel();
}

void IdleLimit::set_alarm(absl::Duration after) {
  alarm_ = std::make_shared<grpc::Alarm>();
  alarm_->Set(absl::ToChronoTime(absl::Now() + after), [this](bool) { ring(); });
}

void IdleLimit::ring() {
  std::optional<absl::Status> ending;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Duration left = waits_ ? limit_ - (schedule::steady_now() - since_) : limit_;
    if (!ending_ && left <= absl::ZeroDuration()) {
      ending_ = schedule::make_failure(
          absl::StatusCode::kDeadlineExceeded,
          absl::StrCat("asset_idle_timeout: the client has sent or taken nothing for ", absl::FormatDuration(limit_)),
          {.reason = std::string(schedule::reason::kDeadline)});
    }
    if (!ending_) return set_alarm(left);
    ending = ending_;
  }
  const auto finish = finish_;  // which this object may not outlive
  finish(*ending);
}

}  // namespace axion::server::rpc
