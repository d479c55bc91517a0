#include "engine/backend/snapshot.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/backend/checks.hpp"
#include "engine/backend/text.hpp"
#include "engine/base/hash.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/vary.hpp"

namespace axion::backend {
namespace {

static_assert(std::endian::native == std::endian::little, "snapshots are the arrays as they lie in memory");

constexpr char kMagic[8] = {'A', 'X', 'I', 'O', 'N', 'S', 'N', 'P'};
constexpr std::size_t kTailBytes = sizeof(std::uint64_t) + 1;
constexpr std::uint32_t kKnownOutcomes =
    kConverged | kMaxIterations | kContactOverflow | kNonFinite | kFallback | kEased | kOverlap;
constexpr double kScaleSlack = 1 + 1e-6;                    // of kMaxScale, which is rounded to float32
constexpr std::int64_t kMostSteps = std::int64_t(1) << 62;  // so that counting on cannot overflow
constexpr double kUnitSlack = 1e-3;                         // |q|^2 - 1 of a rotation

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::uint64_t checksum(std::string_view bytes) {
  Hash hash;
  hash.add(as_bytes(bytes));
  return hash.value();
}

SnapshotHeader header_of(std::string_view bytes) {
  SnapshotHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

// Whether an array of a view is `other`.
bool is_array(const ArraySlot& array, const ArraySlot& other) { return &array == &other; }

// An array of state or parameters.
template <typename Real>
struct KeptArray {
  const model::ArrayDeclaration<Real>& said;
  ArraySlot& slot;
  std::size_t used, count;  // elements that a snapshot holds, and all

  std::byte* data() const { return static_cast<std::byte*>(slot.first()); }
  std::size_t used_bytes() const { return used * said.element_bytes; }
};

// Calls f(array) for each array of state and parameters. Contacts are kept in arrays for as many as a world can have.
template <typename Real, typename F>
void for_each_kept(const model::ModelView<Real>& m, model::WorldState<Real>& w, const SnapshotHeader& header, F&& f) {
  ArraySlot* slot = model::slots(w).data();
  for (const model::ArrayDeclaration<Real>& said : model::declarations<model::WorldState, Real>()) {
    ArraySlot& array = *slot++;
    const std::size_t count = said.length(m);
    std::size_t used = count;
    if (is_array(array, w.warm)) used = header.warm_count;
    if (is_array(array, w.contacts)) used = header.contact_count;
    if (is_array(array, w.lambda_contact)) used = 3 * std::size_t(header.contact_count);
    if (is_array(array, w.contact_gap)) used = header.contact_count;
    if (is_array(array, w.contact_moment)) used = count > 0 ? header.contact_count : 0;
    if (is_array(array, w.eased) && header.version == kOldestSnapshotVersion) used = 0;
    f(KeptArray<Real>{said, array, used, count});
  }
}

template <typename Real>
std::size_t snapshot_bytes(const model::ModelView<Real>& m, const SnapshotHeader& header) {
  std::size_t bytes = sizeof(SnapshotHeader) + kTailBytes + header.number_count * sizeof(double);
  model::WorldState<Real> none;
  for_each_kept(m, none, header, [&](const KeptArray<Real>& array) { bytes += array.used_bytes(); });
  return bytes;
}

template <typename Real>
std::uint64_t layout_of(const EngineModel& model) {
  Hash hash;
  model::WorldState<Real> none;
  for_each_kept(model.arrays<Real>().view(), none, {}, [&](const KeptArray<Real>& array) {
    // Snapshots of engines that did not have these arrays are still read, where they are empty.
    const bool is_newer = is_array(array.slot, none.sensed) || is_array(array.slot, none.break_ratio) ||
                          is_array(array.slot, none.mocap_x) || is_array(array.slot, none.mocap_q) ||
                          is_array(array.slot, none.contact_moment);
    if ((is_newer && array.count == 0) || is_array(array.slot, none.eased)) return;  // the version says of eased
    hash.add(std::uint64_t(array.said.kind));
    hash.add(std::uint64_t(array.said.element_bytes));
    hash.add(std::uint64_t(array.count));
  });
  hash.add(model.pairs_hash());
  return hash.value();
}

bool finite(float value) { return std::isfinite(value); }
bool finite(double value) { return std::isfinite(value); }
template <typename Real>
bool finite(const math::Vec3<Real>& a) {
  return finite(a.x) && finite(a.y) && finite(a.z);
}
template <typename Real>
bool finite(const math::Quat<Real>& q) {
  const double square = double(q.w) * q.w + double(q.x) * q.x + double(q.y) * q.y + double(q.z) * q.z;
  return std::abs(square - 1) <= kUnitSlack;  // false for NaN: and a rotation
}
template <typename Real>
bool finite(const model::ContactWarmStart<Real>& c) {
  return finite(c.normal) && finite(c.approach) && finite(c.friction);
}

// Whether turning by `omega` for `dt` overflows, with a wide margin: the square of the angle is what does.
template <typename Real>
bool turns_too_far(const math::Vec3<Real>& omega, double dt) {
  constexpr double kMargin = 1e3;
  const double most = std::sqrt(double(std::numeric_limits<Real>::max()));
  const double fastest = std::max({std::abs(double(omega.x)), std::abs(double(omega.y)), std::abs(double(omega.z))});
  return !finite(omega) || fastest * dt * kMargin >= most;
}

// From which of its elements on `array`, of a view's arrays, is computed of a step's result after that was found finite
// (step/accept.hpp): what diverges may overflow there, and is then a world's state like any other, of which the
// next step says that it is not finite.
template <typename Real>
std::size_t first_overflowing(const model::ModelView<Real>& m, const model::WorldState<Real>& w,
                              const ArraySlot& array) {
  if (is_array(array, w.control) || is_array(array, w.control_before)) return m.control_count;  // activations
  const bool all = is_array(array, w.q) || is_array(array, w.omega) || is_array(array, w.omega_rest) ||
                   is_array(array, w.v_at_pose) || is_array(array, w.omega_at_pose) ||
                   is_array(array, w.axis_position) || is_array(array, w.axis_rate) ||
                   is_array(array, w.axis_row_rate) || is_array(array, w.warm) || is_array(array, w.contact_moment) ||
                   is_array(array, w.break_ratio);
  return all ? 0 : std::size_t(-1);
}

// What is wrong with the arrays of a world, in words with the array's name; empty if nothing is.
template <typename Real>
class Inspection {
 public:
  Inspection(const model::ModelView<Real>& m, const model::WorldState<Real>& w, const SnapshotHeader& header)
      : m_(m), w_(w), header_(header) {}

  std::string run() {
    for_each_kept(m_, w_, header_, [this](const KeptArray<Real>& array) {
      name_ = array.said.name;
      inspect<Real, math::Vec3<Real>, math::Quat<Real>, model::ContactWarmStart<Real>, model::Contact<Real>,
              model::StepRecord, double, std::int64_t, std::uint32_t, int>(array);
    });
    name_ = "its record";
    check(w_.warm_count[0] == static_cast<int>(header_.warm_count), "counts of contacts that differ from its header's");
    check(w_.record->contact_count == static_cast<int>(header_.contact_count),
          "counts of contacts that differ from its header's");
    name_ = "limit_side";
    for (int i = 0; i < m_.limit_count; ++i)
      check(w_.limit_side[i] >= -1 && w_.limit_side[i] <= 1, "a side of a limit that there is not");
    name_ = "its scales";
    for (int b = 0; b < m_.body_count; ++b) check_scale(w_.mass_scale[b], 1 / kMaxScale);
    check_scale(w_.friction_scale[0], 0);
    for (int i = 0; i < m_.control_count; ++i) check_scale(w_.gain_scale[i], 0);
    return wrong_;
  }

 private:
  void check(bool right, const char* wrong) {
    if (!right && wrong_.empty()) wrong_ = text(wrong, " (", name_, ")");
  }
  void check_scale(Real scale, double least) {
    check(scale >= least / kScaleSlack && scale <= kMaxScale * kScaleSlack,
          "a scale of mass, friction or gain out of range");
  }
  void check_pair(int pair) {
    const int n = m_.shape_count;
    const bool known = model::lists_pairs(m_) ? pair >= 0 && pair < m_.pair_count
                                              : pair >= 0 && pair < n * n && pair / n < pair % n &&
                                                    model::may_touch(m_, pair / n, pair % n);
    check(known, "a pair of shapes that the model has not");
  }

  // By the type of its elements, one of `Elements`.
  template <typename... Elements>
  void inspect(const KeptArray<Real>& array) {
    const bool known =
        (... || (array.said.template holds<Elements>() &&
                 (inspect_elements(array.slot, static_cast<const Elements*>(array.slot.first()), array.used), true)));
    check(known, "an array that this engine has no rule for");
  }

  // Every array of numbers must be finite but those that only tell what the last step did, which nothing reads back,
  // and those that overflow where a world diverges.
  template <typename Element>
  void inspect_elements(const ArraySlot& array, const Element* values, std::size_t used) {
    if constexpr (std::is_same_v<Element, model::StepRecord>) {
      const bool counts = values->newton_iterations >= 0 && values->linear_iterations >= 0 &&
                          values->line_search_steps >= 0 && values->sweep_rounds >= 0 && values->contact_sweeps >= 0;
      const int mode = static_cast<int>(values->joint_mode);
      check(counts && mode >= 0 && mode < kJointModeCount && (values->outcome & ~kKnownOutcomes) == 0,
            "a record of the last step that no step leaves");
    } else if constexpr (std::is_same_v<Element, model::Contact<Real>>) {
      for (std::size_t i = 0; i < used; ++i) {
        check_pair(values[i].pair);
        check(values[i].body_a >= 0 && values[i].body_a < m_.body_count && values[i].body_b >= -1 &&
                  values[i].body_b < m_.body_count,
              "a contact of a body that the model has not");
      }
    } else if constexpr (requires { finite(*values); } && !std::is_integral_v<Element>) {
      if (is_array(array, w_.lambda_contact) || is_array(array, w_.contact_gap)) return;
      if (is_array(array, w_.joint_impulse) || is_array(array, w_.joint_angular_impulse) ||
          is_array(array, w_.sensed)) {
        return;
      }
      if constexpr (std::is_same_v<Element, math::Quat<Real>>) {
        if (is_array(array, w_.q_rest)) return;  // what rounding left of rotations is none itself, and may overflow
      }
      const std::size_t overflowing = first_overflowing(m_, w_, array);
      for (std::size_t i = 0; i < used; ++i) {
        check(finite(values[i]) || (i >= overflowing && is_left_by_a_step(values[i], i)),
              "a number that is not finite or a rotation that is none");
        if constexpr (std::is_same_v<Element, model::ContactWarmStart<Real>>) check_pair(values[i].pair);
      }
    } else {
      inspect_whole_numbers(array, used);
    }
  }

  // Whether a value that is not finite is one that a step has left. Of a rotation that is the real part alone, of a
  // body that turns too fast: a step whose vector part is not finite is not taken (step/accept.hpp).
  template <typename Element>
  bool is_left_by_a_step(const Element& value, std::size_t i) const {
    if constexpr (std::is_same_v<Element, math::Quat<Real>>) {
      return !finite(value.w) && finite(value.vec()) && turns_too_far(w_.omega[i], header_.dt);
    }
    return true;
  }

  // Integers need a rule each. Without one no snapshot is taken, so that a new array is not forgotten here.
  void inspect_whole_numbers(const ArraySlot& array, std::size_t used) {
    if (is_array(array, w_.warm_count) || is_array(array, w_.limit_side)) return;  // in run()
    if (is_array(array, w_.state_is_new)) {
      return check(w_.state_is_new[0] == 0 || w_.state_is_new[0] == 1, "a mark that is neither 0 nor 1");
    }
    if (is_array(array, w_.step_index)) {
      return check(w_.step_index[0] >= 0 && w_.step_index[0] < kMostSteps, "a step index that no world reaches");
    }
    if (is_array(array, w_.outcome)) {
      return check((w_.outcome[0] & ~kKnownOutcomes) == 0, "an outcome that there is not");
    }
    check(used == 0, "an array that this engine has no rule for");
  }

  const model::ModelView<Real>& m_;
  model::WorldState<Real> w_;
  const SnapshotHeader& header_;
  const char* name_ = "";
  std::string wrong_;
};

Error refuse(const std::string& name, const std::string& why) { return invalid_argument(name, text(name, " ", why)); }

// Whole and undamaged, and of this format.
Status check_frame(std::string_view bytes, const std::string& name) {
  if (bytes.size() < sizeof(SnapshotHeader) + kTailBytes || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return refuse(name, text("has ", bytes.size(), " bytes that are no snapshot of a world."));
  }
  const SnapshotHeader header = header_of(bytes);
  if (header.version < kOldestSnapshotVersion || header.version > kSnapshotVersion) {
    return refuse(name, text("has version ", header.version, " of the format; this engine reads versions ",
                             kOldestSnapshotVersion, " to ", kSnapshotVersion, "."));
  }
  if (header.bytes != bytes.size()) {
    return refuse(name, text("has ", bytes.size(), " bytes of ", header.bytes, ": it is not whole."));
  }
  std::uint64_t sum = 0;
  const std::size_t end = bytes.size() - kTailBytes;
  std::memcpy(&sum, bytes.data() + end, sizeof(sum));
  if (sum != checksum(bytes.substr(0, end)) || bytes.back() != kSnapshotEnd) {
    return refuse(name, "is damaged: its checksum is not that of its bytes.");
  }
  return {};
}

// Taken of a world whose arrays mean the same.
Status check_origin(const SnapshotHeader& header, const SnapshotHeader& common, const std::string& name) {
  if (header.model[0] != common.model[0] || header.model[1] != common.model[1]) {
    return refuse(name, "was taken of a world of another model than the batch's.");
  }
  if (header.real_bytes != common.real_bytes) {
    return refuse(name, text("was taken in float", 8 * std::min(header.real_bytes, 8u),
                             "; the batch has precision float", 8 * common.real_bytes, "."));
  }
  if (header.layout != common.layout) {
    return refuse(name, "was taken by another version of the engine, whose worlds have other arrays.");
  }
  if (header.dt != common.dt) {
    return refuse(name, text("was taken at dt ", header.dt, "; the batch has dt ", common.dt, " s."));
  }
  const struct {
    const char* option;
    std::uint8_t taken, here;
  } choices[] = {{"constraint_level", header.constraint_level, common.constraint_level},
                 {"joint_mode", header.joint_mode, common.joint_mode},
                 {"gyroscopic_mode", header.gyroscopic_mode, common.gyroscopic_mode},
                 {"half_step_start", header.half_step_start, common.half_step_start}};
  for (const auto& choice : choices) {
    if (choice.taken != choice.here)
      return refuse(name, text("was taken with another ", choice.option, " than the batch's."));
  }
  return {};
}

}  // namespace

template <typename Real>
SnapshotHeader snapshot_header(const EngineModel& model, const BatchSpec& spec) {
  SnapshotHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kSnapshotVersion;
  header.real_bytes = sizeof(Real);
  header.model[0] = model.info().fingerprint[0], header.model[1] = model.info().fingerprint[1];
  header.layout = layout_of<Real>(model);
  header.dt = spec.dt;
  header.constraint_level = static_cast<std::uint8_t>(spec.options.constraint_level);
  header.joint_mode = static_cast<std::uint8_t>(spec.options.joint_mode);
  header.gyroscopic_mode = static_cast<std::uint8_t>(spec.options.gyroscopic_mode);
  header.half_step_start = spec.options.half_step_start ? 1 : 0;
  return header;
}

template <typename Real>
std::string write_snapshot(const SnapshotHeader& common, const EngineModel& model, std::byte* block,
                           const std::uint32_t* outcome, std::span<const double> numbers) {
  const model::ModelView<Real> m = model.arrays<Real>().view();
  model::WorldState<Real> w = world::bind_state(m, block);
  std::uint32_t said = outcome == nullptr ? *w.outcome : *outcome;
  w.outcome.place(&said, 1);
  SnapshotHeader header = common;
  header.warm_count = static_cast<std::uint32_t>(*w.warm_count);
  header.contact_count = static_cast<std::uint32_t>(w.record->contact_count);
  header.number_count = static_cast<std::uint32_t>(numbers.size());
  header.bytes = snapshot_bytes(m, header);
  std::string bytes;
  bytes.reserve(header.bytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  for_each_kept(m, w, header, [&](const KeptArray<Real>& array) {
    if (array.used > 0) bytes.append(reinterpret_cast<const char*>(array.data()), array.used_bytes());
  });
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  const std::uint64_t sum = checksum(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  bytes.push_back(kSnapshotEnd);
  return bytes;
}

std::vector<double> snapshot_numbers(std::string_view bytes) {
  std::vector<double> numbers(header_of(bytes).number_count);
  const std::size_t size = numbers.size() * sizeof(double);
  if (size > 0) std::memcpy(numbers.data(), bytes.data() + bytes.size() - kTailBytes - size, size);
  return numbers;
}

template <typename Real>
std::int64_t read_snapshot(const EngineModel& model, std::string_view bytes, std::byte* block) {
  const model::ModelView<Real> m = model.arrays<Real>().view();
  model::WorldState<Real> w = world::bind_state(m, block);
  const char* from = bytes.data() + sizeof(SnapshotHeader);
  for_each_kept(m, w, header_of(bytes), [&](const KeptArray<Real>& array) {
    if (array.count == 0) return;
    std::memcpy(array.data(), from, array.used_bytes());
    std::memset(array.data() + array.used_bytes(), 0, array.count * array.said.element_bytes - array.used_bytes());
    from += array.used_bytes();
  });
  return *w.step_index;
}

template <typename Real>
Status check_snapshot(const SnapshotHeader& common, const EngineModel& model, std::string_view bytes,
                      const std::string& name) {
  if (Status s = check_frame(bytes, name); !s.ok()) return s;
  const SnapshotHeader header = header_of(bytes);
  if (Status s = check_origin(header, common, name); !s.ok()) return s;
  const model::ModelView<Real> m = model.arrays<Real>().view();
  const auto capacity = static_cast<std::uint32_t>(m.contact_capacity);
  const auto numbers = static_cast<std::uint32_t>(model::parameter_count(model.compiled()));
  if (header.number_count != 0 && header.number_count != numbers) {
    return refuse(name, text("has ", header.number_count, " numbers of its own; the model has ", numbers, "."));
  }
  if (header.warm_count > capacity || header.contact_count > capacity || header.bytes != snapshot_bytes(m, header)) {
    return refuse(name, text("has ", header.contact_count, " and ", header.warm_count,
                             " contacts, which its bytes do not hold or a world cannot; at most ", capacity, "."));
  }
  for (const double number : snapshot_numbers(bytes)) {
    if (!std::isfinite(number)) return refuse(name, "holds a number that is not finite.");
  }
  std::vector<std::byte> block(world::world_bytes(m).world);
  read_snapshot<Real>(model, bytes, block.data());
  const model::WorldState<Real> w = world::bind_state(m, block.data());
  const std::string wrong = Inspection<Real>(m, w, header).run();
  return wrong.empty() ? Status{} : refuse(name, text("holds ", wrong, "."));
}

#define AXION_SNAPSHOT(Real)                                                                       \
  template SnapshotHeader snapshot_header<Real>(const EngineModel&, const BatchSpec&);             \
  template std::string write_snapshot<Real>(const SnapshotHeader&, const EngineModel&, std::byte*, \
                                            const std::uint32_t*, std::span<const double>);        \
  template std::int64_t read_snapshot<Real>(const EngineModel&, std::string_view, std::byte*);     \
  template Status check_snapshot<Real>(const SnapshotHeader&, const EngineModel&, std::string_view, const std::string&)
AXION_SNAPSHOT(float);
AXION_SNAPSHOT(double);
#undef AXION_SNAPSHOT

}  // namespace axion::backend

namespace axion {

bool has_own_numbers(std::string_view snapshot) {
  return snapshot.size() > sizeof(backend::SnapshotHeader) && backend::header_of(snapshot).number_count > 0;
}

}  // namespace axion
