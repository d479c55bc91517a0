#include "tools/ptx/profile/field_traffic.hpp"

#include <algorithm>
#include <cstring>

#include "engine/backend/cuda/resident_block.hpp"

namespace axion::ptx {
namespace {}  // namespace

template <typename Real>
FieldTraffic<Real>::FieldTraffic(const model::ModelView<Real>& m) : sums_(backend::kWorldSlots + 2) {
  sums_[backend::kWorldSlots].name = "(else)", sums_.back().name = "(stacks)";
  model::WorldView<Real> view{};
  for_each_owner(view, [&](const char* owner, auto& arrays) {
    const bool is_shared = reinterpret_cast<std::byte*>(&arrays) < reinterpret_cast<std::byte*>(&view.constraints);
    for_each_field(m, arrays, [&](model::FieldKind, const char* name, auto*& array, std::size_t count) {
      const auto* slot = reinterpret_cast<const std::byte*>(&array);
      FieldSum& sum = sums_[(slot - reinterpret_cast<const std::byte*>(&view)) / sizeof(void*)];
      sum.name = is_shared ? name : std::string(owner) + "." + name;  // as step code writes it after "w."
      sum.bytes = count * sizeof(*array);
    });
  });
}

template <typename Real>
void FieldTraffic<Real>::read_view(const std::byte* view) {
  if (view_.size() != 0 && std::memcmp(view_.data(), view, view_.size()) == 0) return;
  view_.assign(view, view + sizeof(model::WorldView<Real>));
  starts_.clear();
  for (int slot = 0; slot < backend::kWorldSlots; ++slot) {
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
  FieldSum* sum = &sums_[backend::kWorldSlots];
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
