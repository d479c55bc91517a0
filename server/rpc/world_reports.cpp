#include "server/rpc/world_reports.hpp"

#include <array>

#include "server/rpc/options_conversion.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

template <typename T>
void append(const std::array<T, 3>& values, std::vector<double>& out) {
  out.insert(out.end(), values.begin(), values.end());
}

}  // namespace

absl::Status ContactReading::add(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const std::int32_t world = schedule::world_at(worlds_, i);
    const auto contacts = batch_.engine->contacts(world);
    if (!contacts.ok()) return schedule::from_engine(contacts.error());
    response_.add_world_indices(world);
    response_.add_contact_count(static_cast<int>(contacts.value().size()));
    for (const ContactInfo& contact : contacts.value()) {
      response_.add_shape_a(contact.shape_a);
      response_.add_shape_b(contact.shape_b);
      response_.add_body_a(contact.body_a);
      response_.add_body_b(contact.body_b);
      response_.add_gap(contact.gap);
      response_.add_normal_impulse(contact.normal_impulse);
      append(contact.point, point_);
      append(contact.normal, normal_);
      append(contact.friction_impulse, friction_);
      append(contact.moment_impulse, moment_);
    }
  }
  return absl::OkStatus();
}

absl::Status ContactReading::finish(const schedule::Limits& limits) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(point_.size() / 3), 3};
  fill_tensor(point_, shape, *response_.mutable_point());
  fill_tensor(normal_, shape, *response_.mutable_normal());
  fill_tensor(friction_, shape, *response_.mutable_friction_impulse());
  fill_tensor(moment_, shape, *response_.mutable_moment_impulse());
  return check_answer_bytes(static_cast<double>(response_.ByteSizeLong()), limits);
}

absl::Status StatisticsReading::add(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const std::int32_t world = schedule::world_at(worlds_, i);
    const auto result = batch_.engine->statistics(world);
    if (!result.ok()) return schedule::from_engine(result.error());
    const WorldStatistics& s = result.value();
    message_.add_world_indices(world);
    message_.add_newton_iterations(s.newton_iterations);
    message_.add_linear_iterations(s.linear_iterations);
    message_.add_line_search_steps(s.line_search_steps);
    message_.add_sweep_rounds(s.sweep_rounds);
    message_.add_contact_sweeps(s.contact_sweeps);
    message_.add_contact_count(s.contact_count);
    message_.add_joint_mode(s.outcome == 0 ? v1::JOINT_MODE_UNSPECIFIED : to_wire(s.joint_mode));
    message_.add_outcome(s.outcome);
    message_.add_max_penetration_meters(s.max_penetration);
    message_.add_max_joint_error_meters(s.max_joint_error);
    message_.add_max_equality_error(s.max_equality_error);
    residual_.insert(residual_.end(), s.residual.begin(), s.residual.end());
    normalised_.insert(normalised_.end(), s.residual_normalised.begin(), s.residual_normalised.end());
  }
  return absl::OkStatus();
}

void StatisticsReading::finish() {
  const std::vector<std::int64_t> shape{message_.world_indices_size(), kResidualBlockCount};
  fill_tensor(residual_, shape, *message_.mutable_residual());
  fill_tensor(normalised_, shape, *message_.mutable_residual_normalised());
  for (int block = 0; block < kResidualBlockCount; ++block) message_.add_residual_blocks(residual_block_name(block));
}

}  // namespace axion::server::rpc
