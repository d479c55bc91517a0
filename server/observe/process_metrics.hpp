// What Prometheus' own client libraries tell of a process, by the names that common dashboards ask for.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace axion::server::observe {

// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds,
// process_max_fds and process_start_time_seconds of this process, as they stand; without what /proc does not tell.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace axion::server::observe
