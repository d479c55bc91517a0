#include "engine/model/mobilities.hpp"

#include "engine/math/small_matrix.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;
using Spatial = Mobilities::Spatial;
using Spatial6 = Mobilities::Spatial6;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Spatial spatial(const Vec& angular, const Vec& linear) {
  return {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z};
}

double dot(const Spatial& a, const Spatial& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) sum += a[i] * b[i];
  return sum;
}

Spatial times(const Spatial6& A, const Spatial& x) {
  Spatial y{};
  for (std::size_t i = 0; i < 6; ++i) y[i] = dot(A[i], x);
  return y;
}

}  // namespace

Mobilities::Mobilities(const CompiledModel& model) : model_(model), axis_(model.arrays.axes.size(), 0.0) {
  const std::size_t count = model.arrays.bodies.size();
  freedoms_.resize(count), weights_.resize(count), gains_.resize(count);
  inertia_.resize(count, Spatial6{}), mobility_.resize(count, Spatial6{});
  list_freedoms();
  for (std::size_t b = count; b-- > 0;) gather(b);
  for (std::size_t b = 0; b < count; ++b) spread(b);
}

double Mobilities::of_point(int body, const Vec& p) const {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    Vec e{};
    e[i] = 1;
    const Spatial row = spatial(math::cross(p, e), e);
    sum += dot(row, times(mobility_[at(body)], row));
  }
  return sum / 3;
}

double Mobilities::of_turn(int body) const {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += mobility_[at(body)][i][i];
  return sum / 3;
}

Mobilities::Row Mobilities::empty_row() const {
  return {std::vector<double>(model_.arrays.axes.size(), 0.0), std::vector<Spatial>(freedoms_.size(), Spatial{})};
}

// What unit effort along the row accelerates it by, with tau and f its parts along axes and on bodies, from the leaves
// down and up again:
//
//   p = -f + Σ children (p + K u),  u = tau - S^T p;   q'' = D^-1 u - K^T a_p,  a = a_p + S q'',  Σ tau q'' + Σ f a
double Mobilities::of_row(const Row& J) const {
  std::vector<Spatial> p(freedoms_.size(), Spatial{}), a(freedoms_.size(), Spatial{});
  std::vector<std::array<double, 6>> u(freedoms_.size());
  const auto tau = [&](const Freedom& freedom) { return freedom.axis < 0 ? 0.0 : J.axis[at(freedom.axis)]; };
  for (std::size_t b = freedoms_.size(); b-- > 0;) {
    for (std::size_t r = 0; r < 6; ++r) p[b][r] -= J.body[b][r];
    Spatial passed = p[b];
    for (std::size_t f = 0; f < freedoms_[b].size(); ++f) {
      u[b][f] = tau(freedoms_[b][f]) - dot(freedoms_[b][f].motion, p[b]);
      for (std::size_t r = 0; r < 6; ++r) passed[r] += gains_[b][f][r] * u[b][f];
    }
    const int parent = model_.arrays.bodies[b].parent;
    for (std::size_t r = 0; r < 6 && parent >= 0; ++r) p[at(parent)][r] += passed[r];
  }
  double sum = 0;
  for (std::size_t b = 0; b < freedoms_.size(); ++b) {
    const int parent = model_.arrays.bodies[b].parent;
    const Spatial carried = parent < 0 ? Spatial{} : a[at(parent)];
    a[b] = carried;
    for (std::size_t f = 0; f < freedoms_[b].size(); ++f) {
      double acceleration = -dot(gains_[b][f], carried);
      for (std::size_t g = 0; g < freedoms_[b].size(); ++g) acceleration += weights_[b][6 * f + g] * u[b][g];
      for (std::size_t r = 0; r < 6; ++r) a[b][r] += freedoms_[b][f].motion[r] * acceleration;
      sum += tau(freedoms_[b][f]) * acceleration;
    }
    sum += dot(J.body[b], a[b]);
  }
  return sum;
}

void Mobilities::list_freedoms() {
  const SceneSpec& scene = model_.welded.scene;
  std::vector<char> jointed(freedoms_.size(), 0);
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    if (model_.closes_loop[j] || joint.kind == JointKind::kFree) continue;
    const std::size_t b = at(model_.internal_body[at(joint.child)]);
    jointed[b] = 1;
    const Pose X_WB = to_pose(scene.bodies[at(joint.child)].X_WB);
    const int first = model_.arrays.joints[at(model_.joint_of_scene[j])].axis_start;
    const auto turns = [&](const Vec& axis, const Vec& anchor) { return spatial(axis, math::cross(anchor, axis)); };
    if (joint.kind == JointKind::kBall) {
      for (int k = 0; k < 3; ++k) {
        Vec e{};
        e[k] = 1;
        freedoms_[b].push_back(
            {turns(e, X_WB * to_vec3(joint.anchor)), joint.ball_armature, joint.ball_limited ? first + k : -1});
      }
    }
    for (std::size_t k = 0; k < joint.axes.size(); ++k) {
      const AxisSpec& axis = joint.axes[k];
      const Vec along = math::normalized(math::rotate(X_WB.rotation, to_vec3(axis.axis)));
      const Spatial motion =
          axis.kind == AxisKind::kSlide ? spatial({}, along) : turns(along, X_WB * to_vec3(axis.anchor));
      freedoms_[b].push_back({motion, axis.armature, first + static_cast<int>(k)});
    }
  }
  for (std::size_t b = 0; b < freedoms_.size(); ++b) {
    for (std::size_t k = 0; k < 6 && jointed[b] == 0; ++k) {
      Spatial motion{};
      motion[k] = 1;
      freedoms_[b].push_back({motion, 0, -1});
    }
  }
}

Spatial6 Mobilities::own_inertia(std::size_t b) const {
  const BodyData<double>& body = model_.arrays.bodies[b];
  const math::Mat3<double> R = math::to_matrix(model_.q[b]);
  const Vec c = reference_centre(b);
  Spatial6 M{};
  for (int i = 0; i < 6; ++i) {
    Vec omega{}, v{};
    (i < 3 ? omega : v)[i % 3] = 1;
    const Vec momentum = body.mass * (v + math::cross(omega, c));
    const Vec local = math::transpose_times(R, omega);
    const Vec& I = body.inertia;
    const Vec spin = R * Vec{I.x * local.x, I.y * local.y, I.z * local.z} + math::cross(c, momentum);
    const Spatial column = spatial(spin, momentum);
    for (std::size_t k = 0; k < 6; ++k) M[k][at(i)] = column[k];
  }
  return M;
}

Vec Mobilities::reference_centre(std::size_t b) const {
  const BodySpec& body = model_.welded.scene.bodies[at(model_.external_body[b])];
  return to_pose(body.X_WB) * to_vec3(body.p_BoBcm);
}

void Mobilities::gather(std::size_t b) {
  const Spatial6 own = own_inertia(b);
  Spatial6& P = inertia_[b];
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < 6; ++k) P[i][k] += own[i][k];
  }
  const std::vector<Freedom>& S = freedoms_[b];
  const std::size_t n = S.size();
  std::vector<Spatial> U;
  U.reserve(n);
  for (const Freedom& f : S) U.push_back(times(P, f.motion));
  std::array<double, 36>& D = weights_[b];
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) D[6 * i + k] = dot(S[i].motion, U[k]) + (i == k ? S[i].armature : 0.0);
  }
  math::invert_positive(D.data(), static_cast<int>(n), 6);
  for (std::size_t k = 0; k < n; ++k) {
    Spatial K{};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t r = 0; r < 6; ++r) K[r] += U[i][r] * D[6 * i + k];
    }
    gains_[b].push_back(K);
  }
  const int parent = model_.arrays.bodies[b].parent;
  if (parent < 0) return;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < 6; ++k) {
      double held = P[i][k];
      for (std::size_t f = 0; f < n; ++f) held -= gains_[b][f][i] * U[f][k];
      inertia_[at(parent)][i][k] += held;
    }
  }
}

void Mobilities::spread(std::size_t b) {
  const std::vector<Freedom>& S = freedoms_[b];
  const std::size_t n = S.size();
  const int parent = model_.arrays.bodies[b].parent;
  const Spatial6 W = parent < 0 ? Spatial6{} : mobility_[at(parent)];
  const auto carried = [&](const Spatial& x) {  // (1 - S K^T)^T x
    Spatial y = x;
    for (std::size_t f = 0; f < n; ++f) {
      const double along = dot(S[f].motion, x);
      for (std::size_t r = 0; r < 6; ++r) y[r] -= gains_[b][f][r] * along;
    }
    return y;
  };
  std::array<Spatial, 6> basis;
  for (std::size_t i = 0; i < 6; ++i) {
    Spatial e{};
    e[i] = 1;
    basis[i] = carried(e);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const Spatial Wi = times(W, basis[i]);
    for (std::size_t k = 0; k < 6; ++k) {
      double sum = dot(Wi, basis[k]);
      for (std::size_t f = 0; f < n; ++f) {
        for (std::size_t g = 0; g < n; ++g) sum += S[f].motion[i] * weights_[b][6 * f + g] * S[g].motion[k];
      }
      mobility_[b][i][k] = sum;
    }
  }
  for (std::size_t f = 0; f < n; ++f) {
    if (S[f].axis < 0) continue;
    axis_[at(S[f].axis)] = weights_[b][7 * f] + dot(gains_[b][f], times(W, gains_[b][f]));
  }
}

}  // namespace axion::model
