// DeviceModel: a model's arrays in device memory, uploaded once for all batches of that model and precision.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "engine/backend/cuda/buffers.hpp"
#include "engine/backend/engine_model.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::backend {

template <typename Real>
class DeviceModel {
 public:
  static Result<std::shared_ptr<const DeviceModel>> upload(const std::shared_ptr<const EngineModel>& model) {
    auto device = std::make_shared<DeviceModel>();
    device->host_ = model;
    std::vector<std::byte> image;
    // First the places of all arrays, then, when the buffer is there, the addresses.
    for (int pass = 0; pass < 2; ++pass) {
      image.clear();
      device->place(*model, image);
      if (Status status = device->buffer_.reserve(image.size()); !status.ok()) return status.error();
    }
    const cudaError_t error = cudaMemcpy(device->buffer_.data(), image.data(), image.size(), cudaMemcpyHostToDevice);
    if (Status status = cuda_status(error, "upload a model"); !status.ok()) return status.error();
    return std::shared_ptr<const DeviceModel>(std::move(device));
  }

  const model::ModelView<Real>& model() const { return m_; }
  const model::UserLayout<Real>& user() const { return user_; }

 private:
  void place(const EngineModel& model, std::vector<std::byte>& image) {
    const auto& arrays = model.arrays<Real>();
    const auto& user = model.user<Real>();
    m_ = arrays.view();
    user_ = user.view();
    m_.bodies = append(image, arrays.bodies);
    m_.child_joints = append(image, arrays.child_joints);
    m_.body_loops = append(image, arrays.body_loops);
    m_.joints = append(image, arrays.joints);
    m_.axes = append(image, arrays.axes);
    m_.actuators = append(image, arrays.actuators);
    m_.activations = append(image, arrays.activations);
    m_.actuator_curves = append(image, arrays.actuator_curves);
    m_.limit_axis = append(image, arrays.limit_axis);
    m_.efforts = append(image, arrays.efforts);
    m_.tendons = append(image, arrays.tendons);
    m_.node_tendons = append(image, arrays.node_tendons);
    m_.condensed_start = append(image, arrays.condensed_start);
    m_.condensed_tendons = append(image, arrays.condensed_tendons);
    m_.condensed_pairs = append(image, arrays.condensed_pairs);
    m_.tendon_terms = append(image, arrays.tendon_terms);
    m_.axis_term_start = append(image, arrays.axis_term_start);
    m_.axis_terms = append(image, arrays.axis_terms);
    m_.tendon_spans = append(image, arrays.tendon_spans);
    m_.tendon_sides = append(image, arrays.tendon_sides);
    m_.body_side_start = append(image, arrays.body_side_start);
    m_.body_sides = append(image, arrays.body_sides);
    m_.lock_joint = append(image, arrays.lock_joint);
    m_.shapes = append(image, arrays.shapes);
    m_.hull_vertices = append(image, arrays.hull_vertices);
    m_.body_forces = append(image, arrays.body_forces);
    m_.fluid_parts = arrays.fluid_parts.empty() ? nullptr : append(image, arrays.fluid_parts);
    m_.breaks = append(image, arrays.breaks);
    m_.adhesions = append(image, arrays.adhesions);
    m_.site_motors = append(image, arrays.site_motors);
    m_.site_uses = arrays.site_uses.empty() ? nullptr : append(image, arrays.site_uses);
    m_.pairs = append(image, arrays.pairs);
    m_.shape_contacts = append(image, arrays.shape_contacts);
    m_.shape_moments = append(image, arrays.shape_moments);
    m_.pair_moments = append(image, arrays.pair_moments);
    m_.surface_motions = arrays.surface_motions.empty() ? nullptr : append(image, arrays.surface_motions);
    m_.shape_softness = append(image, arrays.shape_softness);
    m_.pair_impedances = append(image, arrays.pair_impedances);
    m_.limit_impedance = append(image, arrays.limit_impedance);
    m_.lock_softness = append(image, arrays.lock_softness);
    m_.neighbour_start = append(image, arrays.neighbour_start);
    m_.neighbours = append(image, arrays.neighbours);
    m_.exclude_start = append(image, arrays.exclude_start);
    m_.excludes = append(image, arrays.excludes);
    m_.sensors.list = append(image, arrays.sensors.list);
    m_.sensors.parts = append(image, arrays.sensors.parts);
    m_.sensors.part_list = append(image, arrays.sensors.part_list);
    m_.sensors.loops = append(image, arrays.sensors.loops);
    m_.mocaps = append(image, arrays.mocaps);
    m_.mocap_uses = append(image, arrays.mocap_uses);
    user_.external_body = append(image, user.external_body);
    user_.p_BC = append(image, user.p_BC);
    user_.q_BC = append(image, user.q_BC);
    user_.joints = append(image, user.joints);
  }

  // Copies an array to the end of the image; returns where it will be on the device.
  template <typename T>
  const T* append(std::vector<std::byte>& image, const std::vector<T>& array) const {
    const std::size_t offset = world::align_up(image.size(), world::kFieldAlignment);
    image.resize(offset + array.size() * sizeof(T));
    if (!array.empty()) std::memcpy(image.data() + offset, array.data(), array.size() * sizeof(T));
    return reinterpret_cast<const T*>(buffer_.data() + offset);
  }

  std::shared_ptr<const EngineModel> host_;  // keeps the key of the engine's table alive
  DeviceBuffer buffer_;
  model::ModelView<Real> m_{};
  model::UserLayout<Real> user_{};
};

}  // namespace axion::backend
