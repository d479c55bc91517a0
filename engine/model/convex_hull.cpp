#include "engine/model/convex_hull.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#ifdef AXION_QHULL
extern "C" {
#include <libqhull_r/qhull_ra.h>
}
#endif

#include "engine/base/stop.hpp"
#include "engine/math/vec3.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

using Vec = math::Vec3<double>;

#ifdef AXION_QHULL
constexpr bool kHasQhull = true;

// Triangles of the hull of points, by their indices; empty where qhull finds none.
class Triangulation {
 public:
  explicit Triangulation(const std::vector<Vec>& points) {
    for (const Vec& p : points) coordinates_.insert(coordinates_.end(), {p.x, p.y, p.z});
    qh_zero(&qh_, stderr);
    // qhull reports to a file of its own, which is thrown away: a failure here is an answer about the points. It
    // reports progress there, too, unbuffered, so that it is asked to stop from within, if no caller waits any more.
    FILE* file = fopencookie(&qh_, "w", {.read = nullptr, .write = &look_up, .seek = nullptr, .close = nullptr});
    if (file == nullptr) return;
    std::setvbuf(file, nullptr, _IONBF, 0);
    char command[] = "qhull Qt Pp TF1000";  // triangles; no word about precision; a word every thousand facets
    const int failed =
        qh_new_qhull(&qh_, 3, static_cast<int>(points.size()), coordinates_.data(), False, command, file, file);
    if (failed == 0) read();
    qh_.NOerrexit = True;
    qh_freeqhull(&qh_, !qh_ALL);
    int left_blocks = 0, left_bytes = 0;
    qh_memfreeshort(&qh_, &left_blocks, &left_bytes);
    std::fclose(file);
    stop_if_asked();
  }
  Triangulation(const Triangulation&) = delete;
  Triangulation& operator=(const Triangulation&) = delete;

  const std::vector<std::array<int, 3>>& faces() const { return faces_; }

 private:
  static ssize_t look_up(void* qh, const char*, std::size_t size) {
    if (StopScope::asked()) static_cast<qhT*>(qh)->STOPadd = 1;  // points, which it has added
    return static_cast<ssize_t>(size);
  }

  void read() {
    qhT* const qh = &qh_;  // the library's macros want a pointer of this name
    facetT* facet = nullptr;
    FORALLfacets {
      setT* corners = qh_facet3vertex(qh, facet);
      std::array<int, 3> face{};
      int count = 0;
      vertexT *vertex = nullptr, **vertexp = nullptr;
      FOREACHvertex_(corners) {
        if (count < 3) face[static_cast<std::size_t>(count)] = qh_pointid(qh, vertex->point);
        ++count;
      }
      qh_settempfree(qh, &corners);
      if (count == 3) faces_.push_back(face);
    }
  }

  qhT qh_{};
  std::vector<double> coordinates_;
  std::vector<std::array<int, 3>> faces_;
};
#else
constexpr bool kHasQhull = false;

struct Triangulation {
  explicit Triangulation(const std::vector<Vec>&) {}
  std::vector<std::array<int, 3>> faces() const { return {}; }
};
#endif

struct Plane {
  Vec n;
  double offset;
};

// Planes of triangles, outward from `inside`; those of slivers are left out.
std::vector<Plane> planes_of(const std::vector<Vec>& points, const std::vector<std::array<int, 3>>& faces,
                             const Vec& inside) {
  std::vector<Plane> planes;
  for (const auto& f : faces) {
    Vec n = math::cross(points[f[1]] - points[f[0]], points[f[2]] - points[f[0]]);
    const double length = math::norm(n);
    if (!(length > 1e-14)) continue;
    n *= 1 / length;
    if (math::dot(n, inside - points[f[0]]) > 0) n = -n;
    planes.push_back({n, math::dot(n, points[f[0]])});
  }
  return planes;
}

Vec mean_of(const std::vector<Vec>& points) {
  Vec sum{};
  for (const Vec& p : points) sum += p;
  return (1.0 / static_cast<double>(points.size())) * sum;
}

double distance_to_triangle(const Vec& p, const Vec& a, const Vec& b, const Vec& c) {
  const Vec n = math::cross(b - a, c - a);
  const bool over = math::dot(math::cross(b - a, p - a), n) >= 0 && math::dot(math::cross(c - b, p - b), n) >= 0 &&
                    math::dot(math::cross(a - c, p - c), n) >= 0 && math::norm(n) > 0;
  if (over) return std::abs(math::dot(n, p - a)) / math::norm(n);
  double least = std::numeric_limits<double>::infinity();
  const auto edge = [&](const Vec& q, const Vec& r) {
    const double length = math::dot(r - q, r - q);
    const double t = length > 0 ? std::clamp(math::dot(p - q, r - q) / length, 0.0, 1.0) : 0.0;
    least = std::min(least, math::norm(p - q - t * (r - q)));
  };
  edge(a, b), edge(b, c), edge(c, a);
  return least;
}

std::vector<Vec> chosen_of(const std::vector<Vec>& points, const std::vector<int>& chosen) {
  std::vector<Vec> part;
  part.reserve(chosen.size());
  for (int i : chosen) part.push_back(points[static_cast<std::size_t>(i)]);
  return part;
}

std::vector<int> extreme_points(const std::vector<Vec>& points) {
  std::vector<int> chosen;
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        stop_if_asked();
        const Vec d{double(x), double(y), double(z)};
        if (x == 0 && y == 0 && z == 0) continue;
        std::size_t best = 0;
        for (std::size_t i = 1; i < points.size(); ++i) {
          if (math::dot(d, points[i]) > math::dot(d, points[best])) best = i;
        }
        chosen.push_back(static_cast<int>(best));
      }
    }
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

// Indices of up to `most` of the vertices of a hull. Rounds: the points farthest beyond each face are candidates, and a
// quarter of what is still allowed of them is taken, the farthest first.
std::vector<int> simplify(const std::vector<Vec>& vertices, int most) {
  std::vector<int> chosen = extreme_points(vertices);
  if (static_cast<int>(chosen.size()) > most) chosen.resize(static_cast<std::size_t>(most));
  while (static_cast<int>(chosen.size()) < most) {
    const std::vector<Vec> part = chosen_of(vertices, chosen);
    const Triangulation hull(part);
    const std::vector<Plane> planes = planes_of(part, hull.faces(), mean_of(part));
    std::vector<std::pair<double, int>> candidates;
    if (planes.empty()) {  // the extreme points lie in a plane: what is farthest from it
      for (std::size_t i = 0; i < vertices.size() && chosen.size() < vertices.size(); ++i) {
        if (std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) == chosen.end()) {
          candidates.emplace_back(1.0, static_cast<int>(i));
        }
      }
    }
    for (const Plane& plane : planes) {
      stop_if_asked();
      std::pair<double, int> farthest{1e-9, -1};
      for (std::size_t i = 0; i < vertices.size(); ++i) {
        const double beyond = math::dot(plane.n, vertices[i]) - plane.offset;
        if (beyond > farthest.first) farthest = {beyond, static_cast<int>(i)};
      }
      if (farthest.second >= 0) candidates.push_back(farthest);
    }
    if (candidates.empty()) break;
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    int room = std::max(1, (most - static_cast<int>(chosen.size())) / 4);
    for (const auto& [beyond, i] : candidates) {
      if (room == 0) break;
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      chosen.push_back(i), --room;
    }
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

// Volume and centroid by tetrahedra about a point inside.
void measure(ConvexHull& hull, const std::vector<Vec>& vertices) {
  const Vec inside = mean_of(vertices);
  double volume = 0;
  Vec moment{};
  for (auto& f : hull.faces) {
    const Vec a = vertices[f[0]] - inside, b = vertices[f[1]] - inside, c = vertices[f[2]] - inside;
    const double six = math::dot(a, math::cross(b, c));
    if (six < 0) std::swap(f[1], f[2]);
    volume += std::abs(six), moment += std::abs(six) * (a + b + c);
  }
  const Vec centroid = volume > 0 ? inside + (0.25 / volume) * moment : inside;
  hull.centroid = to_spec(centroid);
  hull.centroid_depth = std::numeric_limits<double>::infinity();
  for (const Plane& plane : planes_of(vertices, hull.faces, inside)) {
    hull.centroid_depth = std::min(hull.centroid_depth, plane.offset - math::dot(plane.n, centroid));
  }
  for (const Vec& v : vertices) hull.radius = std::max(hull.radius, math::norm(v - centroid));
}

Error flat() {
  return invalid_argument("vertices", "vertices must span a volume: they lie in a plane, a line or a point.");
}

// Indices of the vertices that a triangulation uses, in order.
std::vector<int> corners_of(const std::vector<std::array<int, 3>>& faces) {
  std::vector<int> corners;
  for (const auto& face : faces) corners.insert(corners.end(), face.begin(), face.end());
  std::sort(corners.begin(), corners.end());
  corners.erase(std::unique(corners.begin(), corners.end()), corners.end());
  return corners;
}

Status check(const std::vector<Vec3d>& points) {
  if (points.size() < 4 || points.size() > static_cast<std::size_t>(kMaxMeshVertices)) {
    return invalid_argument("vertices", "vertices must be 4 to " + std::to_string(kMaxMeshVertices) +
                                            " points; they are " + std::to_string(points.size()) + ".");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (double x : points[i]) {
      if (!std::isfinite(x) || std::abs(x) > 1e9) {
        const std::string item = "vertices[" + std::to_string(i) + "]";
        return invalid_argument(item, item + " must be finite and at most 1e+09 m in magnitude.");
      }
    }
  }
  return {};
}

}  // namespace

Result<ConvexHull> convex_hull(const std::vector<Vec3d>& points, int most_vertices) {
  if (!kHasQhull) return invalid_argument("vertices", "vertices need a hull, and this engine is built without qhull.");
  if (Status status = check(points); !status.ok()) return status.error();
  // About their middle and in units of their extent, so that what qhull takes for flat does not depend on either.
  Vec low = to_vec3(points.front()), high = low;
  for (const Vec3d& p : points) {
    for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], p[k]), high[k] = std::max(high[k], p[k]);
  }
  const Vec middle = 0.5 * (low + high);
  const double extent = std::max({high.x - low.x, high.y - low.y, high.z - low.z});
  if (!(extent > 1e-9)) return flat();
  std::vector<Vec> scaled;
  scaled.reserve(points.size());
  for (const Vec3d& p : points) scaled.push_back((1 / extent) * (to_vec3(p) - middle));

  const Triangulation full(scaled);
  const std::vector<int> corners = corners_of(full.faces());
  if (corners.size() < 4) return flat();
  std::vector<int> kept = corners;
  ConvexHull hull;
  hull.full_vertex_count = static_cast<int>(corners.size());
  if (hull.full_vertex_count > most_vertices) {
    kept.clear();
    for (int i : simplify(chosen_of(scaled, corners), most_vertices))
      kept.push_back(corners[static_cast<std::size_t>(i)]);
  }
  std::vector<Vec> part = chosen_of(scaled, kept);
  hull.faces = Triangulation(part).faces();
  if (hull.faces.size() < 4) return flat();
  measure(hull, part);
  if (!(hull.centroid_depth > 1e-5)) return flat();
  if (kept.size() < corners.size()) {
    for (int i : corners) {
      stop_if_asked(static_cast<std::size_t>(i));
      double nearest = std::numeric_limits<double>::infinity();
      if (std::binary_search(kept.begin(), kept.end(), i)) continue;
      for (const auto& f : hull.faces) {
        nearest = std::min(
            nearest, distance_to_triangle(scaled[static_cast<std::size_t>(i)], part[f[0]], part[f[1]], part[f[2]]));
      }
      hull.loss = std::max(hull.loss, nearest);
    }
  }
  hull.loss *= extent, hull.centroid_depth *= extent, hull.radius *= extent;
  for (int k = 0; k < 3; ++k)
    hull.centroid[static_cast<std::size_t>(k)] = middle[k] + extent * hull.centroid[static_cast<std::size_t>(k)];
  for (int i : kept) hull.vertices.push_back(points[static_cast<std::size_t>(i)]);
  return hull;
}

std::string simplification_note(const ConvexHull& hull) {
  if (hull.full_vertex_count == static_cast<int>(hull.vertices.size())) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "its convex hull is simplified from %d to %d vertices and lies up to %.2g mm within it",
                hull.full_vertex_count, static_cast<int>(hull.vertices.size()), 1e3 * hull.loss);
  return text;
}

}  // namespace axion::model
