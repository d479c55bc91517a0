#include "engine/import/mesh_mass.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "engine/base/stop.hpp"
#include "engine/model/principal_axes.hpp"

namespace axion::import {
namespace {

using Vec = math::Vec3<double>;

constexpr double kLeast = 1e-15;     // below it a volume or area is taken for nothing
constexpr double kMostFilled = 1.3;  // times a mesh's volume that its hull has without a word

struct Triangle {
  Vec p, q, r;
  double area;
  Vec normal;
};

Triangle triangle_of(const MeshData& mesh, const std::array<int, 3>& face, const Vec& origin) {
  const auto at = [&](std::size_t k) {
    return model::to_vec3(mesh.vertices[static_cast<std::size_t>(face[k])]) - origin;
  };
  Triangle t{at(0), at(1), at(2), 0, {}};
  const Vec n = math::cross(t.q - t.p, t.r - t.p);
  const double length = math::norm(n);
  t.area = length / 2;
  if (length > 0) t.normal = (1 / length) * n;
  return t;
}

Vec middle(const Triangle& t) { return (1.0 / 3.0) * (t.p + t.q + t.r); }

// What a triangle stands for: the tetrahedron that it makes with the origin, or itself.
double measure(const Triangle& t, MeshInertia kind) {
  if (kind == MeshInertia::kShell) return t.area;
  const double volume = math::dot(middle(t), t.normal) * t.area / 3;
  return kind == MeshInertia::kLegacy ? std::abs(volume) : volume;
}

// Each directed edge once, and its opposite too: the surface is closed and turned one way.
bool is_closed(const MeshData& mesh) {
  std::set<std::pair<int, int>> edges;
  for (const auto& f : mesh.faces) {
    stop_if_asked(edges.size());
    for (std::size_t k = 0; k < 3; ++k) {
      if (!edges.emplace(f[k], f[(k + 1) % 3]).second) return false;
    }
  }
  return std::all_of(edges.begin(), edges.end(), [&](const auto& e) { return edges.contains({e.second, e.first}); });
}

Vec centre_of_surface(const MeshData& mesh) {
  Vec sum{};
  double area = 0;
  for (const auto& face : mesh.faces) {
    const Triangle t = triangle_of(mesh, face, {});
    sum += t.area * middle(t), area += t.area;
  }
  return area > 0 ? (1 / area) * sum : Vec{};
}

double volume_of(const MeshData& mesh) {
  const Vec surface = centre_of_surface(mesh);
  double total = 0;
  for (const auto& face : mesh.faces) total += measure(triangle_of(mesh, face, surface), MeshInertia::kExact);
  return std::abs(total);
}

// Moments about the origin, of unit density: products of inertia of a tetrahedron with a corner there, or of a
// triangle.
math::Mat3<double> inertia_about(const MeshData& mesh, MeshInertia kind, const Vec& origin, double& total) {
  math::Mat3<double> products{};
  total = 0;
  for (const auto& face : mesh.faces) {
    const Triangle t = triangle_of(mesh, face, origin);
    const double size = measure(t, kind);
    total += size;
    const double share = size / (kind == MeshInertia::kShell ? 12 : 20);
    const Vec sum = t.p + t.q + t.r;
    products = products +
               share * (math::outer(t.p, t.p) + math::outer(t.q, t.q) + math::outer(t.r, t.r) + math::outer(sum, sum));
  }
  const double trace = products(0, 0) + products(1, 1) + products(2, 2);
  math::Mat3<double> I = math::Mat3<double>::diagonal(trace, trace, trace);
  return I + (-1.0) * products;
}

// With one vertex for all that lie at the same point, as where each face has its own.
MeshData welded(const MeshData& mesh) {
  MeshData made;
  std::map<model::Vec3d, int> index;
  for (const auto& face : mesh.faces) {
    std::array<int, 3> corners{};
    for (std::size_t k = 0; k < 3; ++k) {
      const model::Vec3d& at = mesh.vertices[static_cast<std::size_t>(face[k])];
      const auto [found, is_new] = index.emplace(at, static_cast<int>(made.vertices.size()));
      if (is_new) made.vertices.push_back(at);
      corners[k] = found->second;
    }
    made.faces.push_back(corners);
    stop_if_asked(made.faces.size());
  }
  return made;
}

// Principal axes, the greatest moment first, right-handed.
void sort_axes(const math::Mat3<double>& I, MeshMass& mass) {
  math::Mat3<double> V;
  Vec d;
  model::symmetric_eigen(I, V, d);
  int order[3] = {0, 1, 2};
  std::stable_sort(order, order + 3, [&](int a, int b) { return d[a] > d[b]; });
  const Vec x = V.column(order[0]), y = V.column(order[1]), z = math::cross(x, y);
  mass.moments = {d[order[0]], d[order[1]], d[order[2]]};
  mass.X_MC.rotation = model::to_quat(math::transpose(math::Mat3<double>{{x, y, z}}));
}

}  // namespace

Result<MeshMass> mesh_mass(const MeshData& mesh, MeshInertia kind) {
  const auto bad = [](const char* what) { return invalid_argument("inertia", what); };
  if (kind == MeshInertia::kExact && !is_closed(mesh)) {
    return bad("is exact, which needs a closed surface whose faces all look outwards");
  }
  const Vec surface = centre_of_surface(mesh);
  stop_if_asked();
  double total = 0;
  Vec moment{};
  for (const auto& face : mesh.faces) {
    const Triangle t = triangle_of(mesh, face, surface);
    const double size = measure(t, kind);
    total += size, moment += (kind == MeshInertia::kShell ? size : 0.75 * size) * middle(t);
  }
  stop_if_asked();
  if (total < 0) return bad("finds a negative volume: the mesh's faces look inwards");
  if (!(total > kLeast)) return bad("finds no volume in the mesh; inertia=\"shell\" takes its surface");
  MeshMass mass;
  mass.X_MC.position = surface + (1 / total) * moment;
  sort_axes(inertia_about(mesh, kind, mass.X_MC.position, mass.volume), mass);
  if (!(mass.volume > kLeast)) return bad("finds no volume in the mesh");
  return mass;
}

std::string hollow_note(const MeshData& mesh, const model::ConvexHull& hull) {
  const double volume = volume_of(mesh), filled = volume_of({hull.vertices, hull.faces});
  if (!(volume > kLeast) || filled <= kMostFilled * volume || !is_closed(welded(mesh))) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "its convex hull, which is what touches, has %.2g times its volume and fills its hollows; where these "
                "matter, give convex parts",
                filled / volume);
  return text;
}

}  // namespace axion::import
