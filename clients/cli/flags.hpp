// Flags of the `axion` tool. One namespace of names serves all commands; commands.cpp says which command reads which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/time/time.h"

// All commands.
ABSL_DECLARE_FLAG(std::string, server);
ABSL_DECLARE_FLAG(bool, json);
ABSL_DECLARE_FLAG(absl::Duration, timeout);
ABSL_DECLARE_FLAG(std::string, token);
ABSL_DECLARE_FLAG(bool, tls);
ABSL_DECLARE_FLAG(std::string, tls_ca);
ABSL_DECLARE_FLAG(std::string, tls_cert);
ABSL_DECLARE_FLAG(std::string, tls_key);
ABSL_DECLARE_FLAG(std::string, tls_server_name);
ABSL_DECLARE_FLAG(bool, insecure_token);
// token
ABSL_DECLARE_FLAG(std::string, tenant);
ABSL_DECLARE_FLAG(std::string, name);
ABSL_DECLARE_FLAG(std::string, out);
ABSL_DECLARE_FLAG(bool, keep);
// Commands that make a batch.
ABSL_DECLARE_FLAG(int32_t, worlds);
ABSL_DECLARE_FLAG(double, dt);
ABSL_DECLARE_FLAG(std::string, preset);
ABSL_DECLARE_FLAG(std::string, precision);
ABSL_DECLARE_FLAG(double, tolerance);
ABSL_DECLARE_FLAG(std::vector<std::string>, options);
ABSL_DECLARE_FLAG(uint64_t, seed);
ABSL_DECLARE_FLAG(double, noise);
ABSL_DECLARE_FLAG(absl::Duration, idle_ttl);
ABSL_DECLARE_FLAG(std::vector<std::string>, assets);
ABSL_DECLARE_FLAG(std::vector<std::string>, file_folders);
ABSL_DECLARE_FLAG(std::string, base);
ABSL_DECLARE_FLAG(double, base_height);
ABSL_DECLARE_FLAG(bool, motors);
ABSL_DECLARE_FLAG(bool, ground);
ABSL_DECLARE_FLAG(bool, self_collision);
ABSL_DECLARE_FLAG(bool, keep_overlaps);
ABSL_DECLARE_FLAG(bool, massless);
ABSL_DECLARE_FLAG(bool, allow_unsupported);
ABSL_DECLARE_FLAG(std::vector<std::string>, shape_overrides);
ABSL_DECLARE_FLAG(std::vector<std::string>, joint_overrides);
// Commands that step.
ABSL_DECLARE_FLAG(int32_t, steps);
ABSL_DECLARE_FLAG(std::vector<std::string>, control);
ABSL_DECLARE_FLAG(std::string, hold);
ABSL_DECLARE_FLAG(std::vector<std::string>, outputs);
ABSL_DECLARE_FLAG(std::vector<std::string>, show);
// run
ABSL_DECLARE_FLAG(double, seconds);
ABSL_DECLARE_FLAG(double, every);
ABSL_DECLARE_FLAG(std::vector<std::string>, trace);
ABSL_DECLARE_FLAG(int32_t, trace_worlds);
ABSL_DECLARE_FLAG(std::string, keyframe);
ABSL_DECLARE_FLAG(std::string, csv);
// state
ABSL_DECLARE_FLAG(std::vector<std::string>, fields);
// reset
ABSL_DECLARE_FLAG(std::vector<std::string>, only);
// stats, watch
ABSL_DECLARE_FLAG(bool, per_world);
ABSL_DECLARE_FLAG(absl::Duration, interval);
ABSL_DECLARE_FLAG(int32_t, count);
// drain
ABSL_DECLARE_FLAG(absl::Duration, wait);
// bench
ABSL_DECLARE_FLAG(int32_t, calls);
ABSL_DECLARE_FLAG(int32_t, in_flight);
