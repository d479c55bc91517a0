#include "tools/ptx/interpreter/machine.hpp"

#include <cstring>

namespace axion::ptx {

Machine::Machine(std::string_view text, const Options& options)
    : options_(options),
      module_(parse_module(text, memory_.shared(), memory_.dynamic_shared())),
      block_(memory_, module_, options_) {
  if (module_.static_shared > Memory::kStaticShared) throw ParseError("too many static shared variables");
  for (std::size_t k = 0; k < module_.storage.size(); ++k) {
    const U64 begin = reinterpret_cast<U64>(module_.storage[k]->data());
    memory_.add({begin, begin + module_.storage[k]->size(), module_.storage_names[k]});
  }
  block_.open(module_.static_shared);
}

void Machine::launch(const Function& entry, Dim grid, Dim threads, U32 dynamic_shared, const void* const* arguments) {
  AlignedBytes parameters;
  for (std::size_t k = 0; k < entry.parameters.size(); ++k) {
    const Slot& slot = entry.parameters[k];
    parameters.resize(slot.offset + slot.bytes);
    std::memcpy(parameters.data() + slot.offset, arguments[k], slot.bytes);
  }
  forget_places(dynamic_shared);
  for (U32 z = 0; z < grid.z; ++z) {
    for (U32 y = 0; y < grid.y; ++y) {
      for (U32 x = 0; x < grid.x; ++x) {
        block_.run(entry, grid, threads, {x, y, z}, dynamic_shared, parameters);
      }
    }
  }
}

// What instructions know of memory holds while no allocation comes or goes.
void Machine::forget_places(U64 shared_end) {
  if (places_version_ == memory_.version() && places_end_ == shared_end) return;
  places_version_ = memory_.version(), places_end_ = shared_end;
  for (const auto& entry : module_.functions) {
    std::fill(entry.second->last.begin(), entry.second->last.end(), LastPlace{});
  }
}

void Machine::clear_counts() {
  block_.longest = 0;
  for (const auto& entry : module_.functions) {
    std::fill(entry.second->counts.begin(), entry.second->counts.end(), Counts{});
  }
}

std::string Machine::place_of(U32 line) const {
  for (const auto& [name, f] : module_.functions) {
    if (f->code.empty() || line < f->code.front().line || f->code.back().line < line) continue;
    for (const Instruction& i : f->code) {
      if (i.line == line) return name + ", line " + std::to_string(line) + " " + module_.source(i);
    }
  }
  return "line " + std::to_string(line);
}

std::string Machine::describe(const Races::Race& race) const {
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(race.address));
  const auto who = [&](const Races::Access& a) {
    return "thread " + std::to_string(a.thread) + " in " + place_of(a.line);
  };
  return who(race.now) + " " + race.kind + " by " + who(race.before) + ", at " + address;
}

}  // namespace axion::ptx
