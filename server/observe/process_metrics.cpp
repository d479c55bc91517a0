#include "server/observe/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "server/net/descriptors.hpp"

namespace axion::server::observe {
namespace {

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void add(std::vector<prometheus::MetricFamily>& all, const char* name, const char* help, double value,
         prometheus::MetricType type = prometheus::MetricType::Gauge) {
  prometheus::ClientMetric metric;
  metric.gauge.value = metric.counter.value = value;
  all.push_back({name, help, type, {metric}});
}

// Seconds since 1970 at which the machine was started; 0 where /proc does not tell.
double boot_time() {
  for (const absl::string_view line : absl::StrSplit(text_of("/proc/stat"), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    double seconds = 0;
    if (words.size() == 2 && words[0] == "btime" && absl::SimpleAtod(words[1], &seconds)) return seconds;
  }
  return 0;
}

}  // namespace

std::vector<prometheus::MetricFamily> process_metrics() {
  std::vector<prometheus::MetricFamily> all;
  // Of proc(5), after the name of the program, which may hold anything: field 3 is the first here.
  const std::string stat = text_of("/proc/self/stat");
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(stat).substr(std::min(stat.rfind(')') + 2, stat.size())), ' ');
  const auto field = [&fields](std::size_t number) {
    double value = 0;
    return number - 3 < fields.size() && absl::SimpleAtod(fields[number - 3], &value) ? value : 0;
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  add(all, "process_cpu_seconds_total", "Time of processors that the server has taken.",
      (field(14) + field(15)) / ticks, prometheus::MetricType::Counter);
  add(all, "process_resident_memory_bytes", "Memory of the machine that the server has now.",
      field(24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  add(all, "process_virtual_memory_bytes", "Addresses that the server has reserved.", field(23));
  add(all, "process_open_fds", "Files and connections that are open.", static_cast<double>(net::open_descriptors()));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add(all, "process_max_fds", "Most files and connections that may be open.", static_cast<double>(limit.rlim_cur));
  }
  if (const double boot = boot_time(); boot > 0) {
    add(all, "process_start_time_seconds", "When the server was started, in seconds since 1970.",
        boot + field(22) / ticks);
  }
  return all;
}

}  // namespace axion::server::observe
