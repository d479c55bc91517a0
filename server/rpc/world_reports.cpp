#include "server/rpc/world_reports.hpp"

#include <array>

#include "server/rpc/options_conversion.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::BatchHandle;

template <typename T>
void append(const std::array<T, 3>& values, std::vector<double>& out) {
  out.insert(out.end(), values.begin(), values.end());
}

}  // namespace

absl::Status read_contacts(const BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                           const schedule::Limits& limits, v1::GetContactsResponse& response) {
  std::vector<double> point, normal, friction, moment;
  for (std::size_t i = 0; i < schedule::world_count_of(worlds, batch); ++i) {
    const std::int32_t world = schedule::world_at(worlds, i);
    const auto contacts = batch.engine->contacts(world);
    if (!contacts.ok()) return schedule::from_engine(contacts.error());
    response.add_world_indices(world);
    response.add_contact_count(static_cast<int>(contacts.value().size()));
    for (const ContactInfo& contact : contacts.value()) {
      response.add_shape_a(contact.shape_a);
      response.add_shape_b(contact.shape_b);
      response.add_body_a(contact.body_a);
      response.add_body_b(contact.body_b);
      response.add_gap(contact.gap);
      response.add_normal_impulse(contact.normal_impulse);
      append(contact.point, point);
      append(contact.normal, normal);
      append(contact.friction_impulse, friction);
      append(contact.moment_impulse, moment);
    }
  }
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(point.size() / 3), 3};
  fill_tensor(point, shape, *response.mutable_point());
  fill_tensor(normal, shape, *response.mutable_normal());
  fill_tensor(friction, shape, *response.mutable_friction_impulse());
  fill_tensor(moment, shape, *response.mutable_moment_impulse());
  return check_answer_bytes(static_cast<double>(response.ByteSizeLong()), limits);
}

absl::Status read_world_statistics(const BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                                   v1::WorldSolverStats& message) {
  std::vector<double> residual, normalised;
  for (std::size_t i = 0; i < schedule::world_count_of(worlds, batch); ++i) {
    const std::int32_t world = schedule::world_at(worlds, i);
    const auto result = batch.engine->statistics(world);
    if (!result.ok()) return schedule::from_engine(result.error());
    const WorldStatistics& s = result.value();
    message.add_world_indices(world);
    message.add_newton_iterations(s.newton_iterations);
    message.add_linear_iterations(s.linear_iterations);
    message.add_line_search_steps(s.line_search_steps);
    message.add_sweep_rounds(s.sweep_rounds);
    message.add_contact_sweeps(s.contact_sweeps);
    message.add_contact_count(s.contact_count);
    message.add_joint_mode(s.outcome == 0 ? v1::JOINT_MODE_UNSPECIFIED : to_wire(s.joint_mode));
    message.add_outcome(s.outcome);
    message.add_max_penetration_meters(s.max_penetration);
    message.add_max_joint_error_meters(s.max_joint_error);
    message.add_max_equality_error(s.max_equality_error);
    residual.insert(residual.end(), s.residual.begin(), s.residual.end());
    normalised.insert(normalised.end(), s.residual_normalised.begin(), s.residual_normalised.end());
  }
  const std::vector<std::int64_t> shape{message.world_indices_size(), kResidualBlockCount};
  fill_tensor(residual, shape, *message.mutable_residual());
  fill_tensor(normalised, shape, *message.mutable_residual_normalised());
  for (int block = 0; block < kResidualBlockCount; ++block) message.add_residual_blocks(residual_block_name(block));
  return absl::OkStatus();
}

}  // namespace axion::server::rpc
