// Machine: launches entries of one module, block after block.
#pragma once

#include <string>
#include <string_view>

#include "tools/ptx/interpreter/block.hpp"
#include "tools/ptx/interpreter/module.hpp"

namespace axion::ptx {

class Machine {
 public:
  // Throws ParseError.
  Machine(std::string_view text, const Options& options);

  // Arguments: for each parameter of the entry its bytes. Throws DeviceError; memory is then as the error left it.
  void launch(const Function& entry, Dim grid, Dim threads, U32 dynamic_shared, const void* const* arguments);

  Memory& memory() { return memory_; }
  const Module& module() const { return module_; }
  const std::vector<Races::Race>& races() const { return block_.races.found(); }
  std::string describe(const Races::Race& race) const;
  U64 longest() const { return block_.longest; }
  void clear_counts();

 private:
  void forget_places(U64 shared_end);
  std::string place_of(U32 line) const;

  const Options options_;
  Memory memory_;
  Module module_;
  Block block_;
  U64 places_version_ = 0, places_end_ = 0;
};

}  // namespace axion::ptx
