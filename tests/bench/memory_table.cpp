#include "tests/bench/memory_table.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/backend/engine_model.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::bench {
namespace {

using model::FieldKind;

constexpr FieldKind kKinds[] = {FieldKind::kState,  FieldKind::kParameter,   FieldKind::kScratch,
                                FieldKind::kSweeps, FieldKind::kLinearSolve, FieldKind::kEndOfStep};
constexpr const char* kKindNames[] = {"state", "parameters", "step", "sweeps", "linear_solve", "end_of_step"};

const char* name_of(FieldKind kind) { return kKindNames[static_cast<int>(kind)]; }

template <typename Real>
MemoryTable table_of(const backend::EngineModel& model, const model::SolverOptions& options) {
  const model::ModelView<Real> m = model::batch_view(model.arrays<Real>().view(), options);
  MemoryTable table;
  model::for_each_owner<Real>([&](const char* owner, const auto& arrays) {
    for (const auto& array : arrays)
      table.arrays.push_back({owner, array.name, array.kind, world::field_bytes(array, m)});
  });
  const world::WorldBytes bytes = world::world_bytes(m);
  table.world = bytes.world, table.scratch = bytes.scratch;
  return table;
}

// Sum over the arrays for which keep(array) holds.
template <typename Keep>
std::size_t sum(const MemoryTable& table, Keep&& keep) {
  std::size_t bytes = 0;
  for (const ArrayBytes& array : table.arrays) bytes += keep(array) ? array.bytes : 0;
  return bytes;
}

std::vector<std::string> owners(const MemoryTable& table) {
  std::vector<std::string> names;
  for (const ArrayBytes& array : table.arrays) {
    if (names.empty() || names.back() != array.owner) names.push_back(array.owner);
  }
  return names;
}

void print_json(const MemoryTable& table, const std::string& model, const std::string& precision) {
  std::printf("{\"model\": \"%s\", \"precision\": \"%s\", \"world_bytes\": %zu, \"scratch_bytes\": %zu", model.c_str(),
              precision.c_str(), table.world, table.scratch);
  std::printf(", \"arrays\": [");
  const char* separator = "";
  for (const ArrayBytes& a : table.arrays) {
    std::printf("%s{\"owner\": \"%s\", \"array\": \"%s\", \"needed\": \"%s\", \"bytes\": %zu}", separator,
                a.owner.c_str(), a.name.c_str(), name_of(a.kind), a.bytes);
    separator = ", ";
  }
  std::printf("]}\n");
}

}  // namespace

MemoryTable memory_table(const BatchSpec& spec) {
  const auto& model = static_cast<const backend::EngineModel&>(*spec.model);
  return spec.options.precision == model::Precision::kFloat64 ? table_of<double>(model, spec.options)
                                                              : table_of<float>(model, spec.options);
}

void print_memory(const MemoryTable& table, const std::string& model, const std::string& precision, bool json) {
  if (json) return print_json(table, model, precision);
  std::printf("%-14s %-24s %-14s %10s\n", "owner", "array", "needed for", "bytes");
  for (const std::string& owner : owners(table)) {
    std::vector<ArrayBytes> own;
    for (const ArrayBytes& a : table.arrays) {
      if (a.owner == owner && a.bytes > 0) own.push_back(a);
    }
    std::stable_sort(own.begin(), own.end(),
                     [](const ArrayBytes& a, const ArrayBytes& b) { return a.bytes > b.bytes; });
    for (const ArrayBytes& a : own) {
      std::printf("%-14s %-24s %-14s %10zu\n", owner.c_str(), a.name.c_str(), name_of(a.kind), a.bytes);
    }
    std::printf("%-14s %-24s %-14s %10zu\n\n", owner.c_str(), "all", "",
                sum(table, [&](const ArrayBytes& a) { return a.owner == owner; }));
  }
  for (const FieldKind kind : kKinds) {
    std::printf("%-14s %-24s %-14s %10zu\n", "", "all", name_of(kind),
                sum(table, [&](const ArrayBytes& a) { return a.kind == kind; }));
  }
  std::printf("\n%s in %s: %zu bytes a world, %zu bytes of scratch a thread or block.\n", model.c_str(),
              precision.c_str(), table.world, table.scratch);
  std::printf(
      "Arrays needed for sweeps, linear_solve and end_of_step lie in the same bytes; the largest of them counts.\n");
}

}  // namespace axion::bench
