#include "engine/backend/queries.hpp"

#include <algorithm>
#include <cmath>

#include "engine/collide/find_contacts.hpp"
#include "engine/collide/nearest_points.hpp"
#include "engine/collide/ray_shapes.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::backend {
namespace {

using Vec = math::Vec3<double>;
using Quat = math::Quat<double>;

template <typename Real>
struct PoseOfShape {
  math::Vec3<Real> p;
  math::Quat<Real> q;
};

template <typename Real>
PoseOfShape<Real> pose_of_shape(const model::WorldView<Real>& w, const model::ShapeData<Real>& shape) {
  if (shape.body < 0) return {shape.p_CS, shape.q_CS};
  return {w.x[shape.body] + math::rotate(w.q[shape.body], shape.p_CS), w.q[shape.body] * shape.q_CS};
}

template <typename Real>
collide::ShapePose<Real> collision_pose(const model::WorldView<Real>& w, const model::ShapeData<Real>& shape) {
  const PoseOfShape<Real> pose = pose_of_shape(w, shape);
  return {pose.p, math::to_matrix(pose.q)};
}

// The frame that rays are given in.
template <typename Real>
model::Pose frame_of_rays(const WorldModel<Real>& model, const model::WorldView<Real>& w, const RayQuery& query) {
  if (query.body < 0) return {};
  const int b = model.compiled().internal_body[static_cast<std::size_t>(query.body)];
  const Quat q_WB =
      math::normalized(math::cast<double>(w.q[b]) * math::conjugate(math::cast<double>(model.user.q_BC[b])));
  model::Pose frame{q_WB, math::cast<double>(w.x[b]) - math::rotate(q_WB, math::cast<double>(model.user.p_BC[b]))};
  if (!query.heading_only) return frame;
  const Vec ahead = math::rotate(q_WB, Vec{1, 0, 0});
  const double half = 0.5 * std::atan2(ahead.y, ahead.x);
  frame.rotation = {std::cos(half), 0, 0, std::sin(half)};
  return frame;
}

Vec vector_at(std::span<const double> numbers, std::size_t i) { return {numbers[i], numbers[i + 1], numbers[i + 2]}; }

void put(std::span<double> out, std::size_t i, const Vec& a) { out[i] = a.x, out[i + 1] = a.y, out[i + 2] = a.z; }

// Velocities and turning of all bodies for one motion of the joints.
struct Column {
  std::vector<Vec> v, omega;
};

class DynamicsOfWorld {
 public:
  DynamicsOfWorld(const model::CompiledModel& model, const UserArrays<double>& user, const BodyStates& bodies,
                  const std::vector<double>& position, const std::vector<double>& velocity,
                  const std::vector<double>& mass_scale)
      : model_(model),
        user_(user),
        bodies_(bodies),
        position_(position),
        velocity_(velocity),
        mass_scale_(mass_scale),
        nv_(static_cast<std::size_t>(user.velocity_count)) {
    std::vector<double> rate(nv_, 0.0);
    for (std::size_t k = 0; k < nv_; ++k) {
      rate[k] = 1;
      columns_.push_back(velocities(position_, bodies_, rate));
      rate[k] = 0;
    }
  }

  void write(const DynamicsQuery& query, int row, const Dynamics& out) const {
    const auto r = static_cast<std::size_t>(row);
    for (std::size_t f = 0; f < query.frames.size(); ++f) {
      const std::size_t i = r * query.frames.size() + f;
      write_frame(query.frames[f], out.frame_pose.subspan(7 * i, 7), out.jacobian.subspan(6 * nv_ * i, 6 * nv_));
    }
    if (query.mass_matrix) write_mass_matrix(out.mass_matrix.subspan(nv_ * nv_ * r, nv_ * nv_));
    if (query.bias_force) write_bias(out.bias_force.subspan(nv_ * r, nv_));
  }

 private:
  Column velocities(const std::vector<double>& position, const BodyStates& at, const std::vector<double>& rate) const {
    BodyStates moved = at;
    std::fill(moved.v.begin(), moved.v.end(), Vec{}), std::fill(moved.omega.begin(), moved.omega.end(), Vec{});
    place_velocities(model_, user_, position.data(), rate.data(), moved);
    return {std::move(moved.v), std::move(moved.omega)};
  }

  void write_frame(const model::FrameSpec& frame, std::span<double> pose, std::span<double> jacobian) const {
    std::fill(jacobian.begin(), jacobian.end(), 0.0);
    model::Pose X = model::to_pose(frame.X_BF);
    const int b = frame.body < 0 ? -1 : model_.internal_body[static_cast<std::size_t>(frame.body)];
    if (b >= 0) {
      const Quat q_WB = math::normalized(bodies_.q[at(b)] * math::conjugate(model_.q_BC[at(b)]));
      X = model::Pose{q_WB, bodies_.x[at(b)] - math::rotate(q_WB, model_.p_BC[at(b)])} * X;
      const Vec arm = X.position - bodies_.x[at(b)];
      for (std::size_t k = 0; k < nv_; ++k) {
        const Vec omega = columns_[k].omega[at(b)], v = columns_[k].v[at(b)] + math::cross(omega, arm);
        for (int i = 0; i < 3; ++i) jacobian[at(i) * nv_ + k] = v[i], jacobian[at(3 + i) * nv_ + k] = omega[i];
      }
    }
    put(pose, 0, X.position);
    pose[3] = X.rotation.w;
    put(pose, 4, X.rotation.vec());
  }

  // I a, world axes.
  Vec inertia_times(std::size_t b, const Vec& a) const {
    const Vec local = math::rotate_inverse(bodies_.q[b], a);
    const Vec& I = model_.arrays.bodies[b].inertia;
    return mass_scale_[b] * math::rotate(bodies_.q[b], Vec{I.x * local.x, I.y * local.y, I.z * local.z});
  }

  void write_mass_matrix(std::span<double> out) const {
    for (std::size_t i = 0; i < nv_; ++i) {
      std::vector<Vec> p, l;
      for (std::size_t b = 0; b < bodies_.x.size(); ++b) {
        p.push_back(mass_scale_[b] * model_.arrays.bodies[b].mass * columns_[i].v[b]);
        l.push_back(inertia_times(b, columns_[i].omega[b]));
      }
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::size_t b = 0; b < bodies_.x.size(); ++b) {
          sum += math::dot(columns_[j].v[b], p[b]) + math::dot(columns_[j].omega[b], l[b]);
        }
        out[i * nv_ + j] = out[j * nv_ + i] = sum;
      }
    }
    for (const model::UserJoint& joint : user_.joints) {
      if (joint.kind == model::JointKind::kFree || !joint.has_coordinates) continue;
      const model::JointData<double>& data = model_.arrays.joints[at(joint.joint)];
      for (int k = 0; k < data.axis_count; ++k) {
        const std::size_t i = at(joint.velocity_start + k);
        out[i * nv_ + i] += model_.arrays.axes[at(data.axis_start + k)].armature;
      }
    }
  }

  Column velocities_later(double h) const {
    std::vector<double> by = velocity_;
    for (double& rate : by) rate *= h;
    const std::vector<double> q = displaced(model_, user_, position_, by);
    BodyStates later = bodies_;
    model::forward_kinematics(model_, q.data(), later.x, later.q);
    return velocities(q, later, velocity_);
  }

  void write_bias(std::span<double> out) const {
    double fastest = 1;
    for (const double rate : velocity_) fastest = std::max(fastest, std::abs(rate));
    const double h = 1e-5 / fastest;
    const Column now = velocities(position_, bodies_, velocity_), before = velocities_later(-h),
                 after = velocities_later(h);
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t b = 0; b < bodies_.x.size(); ++b) {
      const Vec a = (0.5 / h) * (after.v[b] - before.v[b]), alpha = (0.5 / h) * (after.omega[b] - before.omega[b]);
      const Vec force = mass_scale_[b] * model_.arrays.bodies[b].mass * (a - model_.arrays.gravity);
      const Vec torque = inertia_times(b, alpha) + math::cross(now.omega[b], inertia_times(b, now.omega[b]));
      for (std::size_t k = 0; k < nv_; ++k) {
        out[k] += math::dot(columns_[k].v[b], force) + math::dot(columns_[k].omega[b], torque);
      }
    }
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const model::CompiledModel& model_;
  const UserArrays<double>& user_;
  const BodyStates& bodies_;
  const std::vector<double>&position_, &velocity_, &mass_scale_;
  const std::size_t nv_;
  std::vector<Column> columns_;
};

}  // namespace

template <typename Real>
void cast_rays(const WorldModel<Real>& model, const model::WorldView<Real>& w, const RayQuery& query, int row,
               const RayHits& hits) {
  const model::Pose X_WF = frame_of_rays(model, w, query);
  std::vector<int> ignored;
  for (const int body : query.ignored_bodies) {
    ignored.push_back(body < 0 ? -1 : model.compiled().internal_body[static_cast<std::size_t>(body)]);
  }
  struct Target {
    collide::Shape<Real> shape;
    PoseOfShape<Real> X_WS;
    double radius;
    int index;
  };
  std::vector<Target> targets;
  for (int s = 0; s < model.m.shape_count; ++s) {
    const model::ShapeData<Real>& shape = model.m.shapes[s];
    if (std::find(ignored.begin(), ignored.end(), shape.body) != ignored.end()) continue;
    targets.push_back({collide::shape_of(model.m, shape), pose_of_shape(w, shape), double(shape.bounding_radius), s});
  }
  const auto rays = static_cast<std::size_t>(query.rays);
  const bool shared = query.origins.size() == 3 * rays;
  for (std::size_t i = 0; i < rays; ++i) {
    const std::size_t from = 3 * (shared ? i : static_cast<std::size_t>(row) * rays + i);
    const Vec origin = X_WF * vector_at(query.origins, from);
    const Vec direction = math::normalized(math::rotate(X_WF.rotation, vector_at(query.directions, from)));
    double nearest = collide::kNoHit;
    int shape = -1;
    for (const Target& target : targets) {
      const Vec to = math::cast<double>(target.X_WS.p) - origin;
      const double along = math::dot(to, direction);
      // A sphere about the shape that the ray does not meet, or not before what it has met.
      const double off = math::dot(to, to) - along * along, reach = target.radius * target.radius * (1 + 1e-6);
      if (off > reach + 1e-12 || along + target.radius < 0) continue;
      if (shape >= 0 && along - target.radius > nearest) continue;
      const math::Vec3<Real> p = math::cast<Real>(origin) - target.X_WS.p;
      const Real hit =
          collide::cast_ray(target.shape, math::rotate_inverse(target.X_WS.q, p),
                            math::normalized(math::rotate_inverse(target.X_WS.q, math::cast<Real>(direction))));
      if (hit < 0 || double(hit) > query.max_distance || (shape >= 0 && double(hit) >= nearest)) continue;
      nearest = double(hit), shape = target.index;
    }
    const std::size_t to = static_cast<std::size_t>(row) * rays + i;
    hits.distance[to] = nearest, hits.shape[to] = shape;
  }
}

template <typename Real>
void measure_distances(const WorldModel<Real>& model, const model::WorldView<Real>& w,
                       std::span<const ShapePairQuery> pairs, double max_distance, int row, const PairDistances& out) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const model::ShapeData<Real>&a = model.m.shapes[pairs[i].shape_a], &b = model.m.shapes[pairs[i].shape_b];
    const collide::NearestPoints<Real> nearest =
        collide::nearest_points(collide::shape_of(model.m, a), collision_pose(w, a), collide::shape_of(model.m, b),
                                collision_pose(w, b), static_cast<Real>(max_distance));
    const std::size_t to = static_cast<std::size_t>(row) * pairs.size() + i;
    const bool near = nearest.is_near && double(nearest.distance) < max_distance;
    out.distance[to] = near ? double(nearest.distance) : max_distance;
    put(out.point_a, 3 * to, near ? math::cast<double>(nearest.p_WA) : Vec{});
    put(out.point_b, 3 * to, near ? math::cast<double>(nearest.p_WB) : Vec{});
  }
}

void work_out_dynamics(const model::CompiledModel& model, const UserArrays<double>& user, const BodyStates& bodies,
                       const std::vector<double>& position, const std::vector<double>& velocity,
                       const std::vector<double>& mass_scale, const DynamicsQuery& query, int row,
                       const Dynamics& out) {
  DynamicsOfWorld(model, user, bodies, position, velocity, mass_scale).write(query, row, out);
}

#define AXION_QUERIES(Real)                                                                             \
  template void cast_rays(const WorldModel<Real>&, const model::WorldView<Real>&, const RayQuery&, int, \
                          const RayHits&);                                                              \
  template void measure_distances(const WorldModel<Real>&, const model::WorldView<Real>&,               \
                                  std::span<const ShapePairQuery>, double, int, const PairDistances&)
AXION_QUERIES(float);
AXION_QUERIES(double);
#undef AXION_QUERIES

}  // namespace axion::backend
