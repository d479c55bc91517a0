#include "tools/ptx/profile/field_traffic.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <type_traits>

#include "engine/backend/cuda/resident_block.hpp"

namespace axion::ptx {
namespace {

// As the list of fields has them.
std::vector<std::string> field_names() {
  std::ifstream file(AXION_SOURCE_DIR "/engine/model/world_view.hpp");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(0, text.find("inline void for_each_field"));
  const std::regex field("f\\(k(?:State|Parameter|Scratch), &W::(\\w+)");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), field), end; at != end; ++at) names.push_back((*at)[1]);
  return names;
}

}  // namespace

template <typename Real>
FieldTraffic<Real>::FieldTraffic(const model::ModelView<Real>& m) : sums_(model::kWorldSlots + 2) {
  sums_[model::kWorldSlots].name = "(else)", sums_.back().name = "(stacks)";
  const std::vector<std::string> names = field_names();
  std::size_t next = 0;
  static const model::WorldView<Real> view{};
  model::for_each_field(m, [&](model::FieldKind, auto member, std::size_t count) {
    const auto* slot = reinterpret_cast<const std::byte*>(&(view.*member));
    FieldSum& sum = sums_[(slot - reinterpret_cast<const std::byte*>(&view)) / sizeof(void*)];
    if (next < names.size()) sum.name = names[next++];
    sum.bytes = count * sizeof(*(view.*member));
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
