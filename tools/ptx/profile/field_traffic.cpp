#include "tools/ptx/profile/field_traffic.hpp"

#include <algorithm>
#include <cstring>

#include "engine/backend/cuda/resident_block.hpp"

namespace axion::ptx {
template <typename Real>
FieldTraffic<Real>::FieldTraffic(const model::ModelView<Real>& m) : sums_(model::kWorldSlots + 2) {
  sums_[model::kWorldSlots].name = "(else)", sums_.back().name = "(stacks)";
  const int own = offsetof(model::WorldView<Real>, constraints) / sizeof(ArraySlot);  // the first of a room's own
  int slot = 0;
  model::for_each_owner<Real>([&](const char* owner, const auto& arrays) {
    for (const auto& array : arrays) {
      sums_[slot].name = slot < own ? array.name : std::string(owner) + "." + array.name;  // as it stands after "w."
      sums_[slot++].bytes = array.bytes(m);
    }
  });
}

template <typename Real>
void FieldTraffic<Real>::read_view(const std::byte* view) {
  if (view_.size() != 0 && std::memcmp(view_.data(), view, view_.size()) == 0) return;
  view_.assign(view, view + sizeof(model::WorldView<Real>));
  starts_.clear();
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    U64 address;
    std::memcpy(&address, view + slot * sizeof(address), sizeof(address));
    if (sums_[slot].bytes > 0) starts_.push_back({address, slot});
  }
  std::sort(starts_.begin(), starts_.end(), [](const Start& a, const Start& b) { return a.address < b.address; });
}

template <typename Real>
void FieldTraffic<Real>::add(const Block& block, const Traffic& traffic, U64 passed) {
  if (traffic.place == Place::kLocal) {
    sums_.back().sectors += traffic.units, sums_.back().passed += passed;
    ++sums_.back().accesses, sums_.back().moved += traffic.bytes;
    return;
  }
  const auto* state = reinterpret_cast<const backend::ResidentState<Real>*>(block.memory.shared());
  read_view(reinterpret_cast<const std::byte*>(state->view));
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), traffic.address,
                                      [](U64 address, const Start& start) { return address < start.address; });
  FieldSum* sum = &sums_[model::kWorldSlots];
  if (after != starts_.begin()) {
    const Start& at = *(after - 1);
    if (traffic.address < at.address + sums_[at.slot].bytes) sum = &sums_[at.slot];
  }
  (traffic.place == Place::kFar ? sum->sectors : sum->wavefronts) += traffic.units;
  sum->passed += passed;
  ++sum->accesses;
  sum->moved += traffic.bytes;
}

template <typename Real>
void FieldTraffic<Real>::clear() {
  for (FieldSum& sum : sums_) sum.sectors = sum.passed = sum.wavefronts = sum.accesses = sum.moved = 0;
}

template class FieldTraffic<float>;
template class FieldTraffic<double>;

}  // namespace axion::ptx
