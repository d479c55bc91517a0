// Where the bytes of a world are: every array by its owner, as the lists of arrays have them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/model/world_state.hpp"

namespace axion::bench {

struct ArrayBytes {
  std::string owner, name;
  model::FieldKind kind;
  std::size_t bytes;  // with what aligns the next
};

struct MemoryTable {
  std::vector<ArrayBytes> arrays;
  std::size_t world, scratch;  // of the two blocks (world/world_layout.hpp)
};

// Of a world of the batch that `spec` asks for.
MemoryTable memory_table(const BatchSpec& spec);

// Prints it as a table, or as one JSON object.
void print_memory(const MemoryTable& table, const std::string& model, const std::string& precision, bool json);

}  // namespace axion::bench
