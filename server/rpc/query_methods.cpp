// CastRays, GetDistances, GetDynamics: queries of worlds between steps.
#include <algorithm>
#include <memory>
#include <utility>

#include "server/rpc/query_answer.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/scene_conversion.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

using schedule::BatchHandle;
using Shape = std::vector<std::int64_t>;

constexpr std::size_t kManyPieces = 256;
constexpr double kDefaultDistance = 10;  // m, GetDistancesRequest.max_distance

// [n, rays, 3], or [rays, 3], as doubles; `rays` is what it says, or has to be where it is not zero.
absl::StatusOr<std::vector<double>> take_vectors(absl::string_view field, const v1::Tensor& tensor, std::int64_t worlds,
                                                 std::int64_t& rays) {
  const int dimensions = tensor.shape_size();
  if (dimensions != 2 && dimensions != 3) {
    return schedule::invalid_field(absl::StrCat(field, ".shape"),
                                   absl::StrCat("is ", shape_text(Shape(tensor.shape().begin(), tensor.shape().end())),
                                                "; it must be [", worlds, ", rays, 3] or [rays, 3]"));
  }
  const std::int64_t said = tensor.shape(dimensions - 2);
  if (rays == 0) rays = std::max<std::int64_t>(said, 1);
  const Shape shape = dimensions == 3 ? Shape{worlds, rays, 3} : Shape{rays, 3};
  const auto view = real_input(field, tensor, shape);
  if (!view.ok()) return view.status();
  const std::size_t count = schedule::element_count(shape);
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = view->dtype == DType::kFloat64 ? reinterpret_cast<const double*>(view->data)[i]
                                                : double(reinterpret_cast<const float*>(view->data)[i]);
  }
  return numbers;
}

// The whole of a query, which needs no device: beside it where it is asked in many pieces.
template <typename Check>
schedule::Pass check_of(Check check, std::size_t pieces) {
  schedule::Pass pass = schedule::whole(std::move(check));
  pass.beside = pieces > kManyPieces;
  return pass;
}

// Questions of worlds, as many to each, in blocks that a piece of work is made of: whole worlds where they have few
// questions, else some questions of one world.
class Blocks {
 public:
  struct Part {
    std::size_t first_world, last_world;
    std::size_t first, count;  // questions of each
    std::size_t at;            // of the first among all, world after world
    std::size_t size() const { return (last_world - first_world) * count; }
  };

  Blocks(std::int64_t worlds, std::int64_t questions)
      : worlds_(static_cast<std::size_t>(worlds)),
        questions_(static_cast<std::size_t>(questions)),
        of_world_(std::max<std::size_t>((questions_ + kMost - 1) / kMost, 1)) {}
  std::size_t count() const { return worlds_ * of_world_; }

  template <typename Ask>
  absl::Status for_each(std::size_t first, std::size_t last, const Ask& ask) const {
    if (of_world_ == 1) return ask(Part{first, last, 0, questions_, first * questions_});
    for (std::size_t block = first; block < last; ++block) {
      const std::size_t world = block / of_world_, start = block % of_world_ * kMost;
      const std::size_t count = std::min(kMost, questions_ - start);
      absl::Status status = ask(Part{world, world + 1, start, count, world * questions_ + start});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::size_t worlds_, questions_, of_world_;
};

// What a request has of rays, kept while its pieces are done.
struct RaysAsked {
  std::vector<std::int32_t> worlds;
  std::vector<double> origins, directions;
};

// Of vectors of all questions, which each world has its own of or all the same.
std::span<const double> vectors_of(const std::vector<double>& all, bool of_worlds, const Blocks::Part& part) {
  return of_worlds ? std::span(all).subspan(3 * part.at, 3 * part.size())
                   : std::span(all).subspan(3 * part.first, 3 * part.count);
}

}  // namespace

void SimulationService::CastRays(UnaryCall* call, const v1::CastRaysRequest* request, v1::CastRaysResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const std::int64_t count = count_of(*worlds, *batch);
    std::int64_t rays = 0;
    auto origins = take_vectors("origin", request->origin(), count, rays);
    if (!origins.ok()) return origins.status();
    auto directions = take_vectors("direction", request->direction(), count, rays);
    if (!directions.ok()) return directions.status();
    if (directions->size() != origins->size()) {
      return schedule::invalid_field("direction.shape", "has another number of dimensions than that of origin");
    }
    const Shape shape{count, rays};
    const double bytes = bytes_of({shape, shape, {std::int64_t(origins->size())}, {std::int64_t(origins->size())}});
    if (absl::Status room = take_room(bytes, parts_.limits, call->memory()); !room.ok()) return room;
    RayQuery query;
    query.rays = static_cast<int>(rays);
    query.body = request->has_body() ? request->body() : -1;
    query.heading_only = request->heading_only();
    if (request->has_max_distance()) query.max_distance = request->max_distance();
    query.ignored_bodies.assign(request->ignored_bodies().begin(), request->ignored_bodies().end());
    auto* hit = reinterpret_cast<std::int32_t*>(make_tensor(DType::kInt32, shape, *response->mutable_shape()));
    const RayHits hits{make_doubles(shape, *response->mutable_distance()), {hit, schedule::element_count(shape)}};
    const Blocks blocks(count, rays);
    const bool of_worlds = request->origin().shape_size() == 3;
    const auto asked =
        std::make_shared<const RaysAsked>(RaysAsked{*std::move(worlds), *std::move(origins), *std::move(directions)});
    query.origins = asked->origins, query.directions = asked->directions;
    const auto check = [batch, asked, query](Engine&) {
      return from_query(batch->engine->check(asked->worlds, query));
    };
    const auto cast = [batch, asked, query, blocks, hits, of_worlds](Engine&, std::size_t first, std::size_t last) {
      return blocks.for_each(first, last, [&](const Blocks::Part& part) {
        RayQuery some = query;
        some.origins = vectors_of(asked->origins, of_worlds, part);
        some.directions = vectors_of(asked->directions, of_worlds, part);
        some.rays = static_cast<int>(part.count);
        const RayHits to{hits.distance.subspan(part.at, part.size()), hits.shape.subspan(part.at, part.size())};
        const auto group = schedule::group_of(asked->worlds, part.first_world, part.last_world);
        return from_query(batch->engine->cast_rays(group, some, to));
      });
    };
    return Work{check_of(check, blocks.count()), {.count = blocks.count(), .run = cast}};
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

void SimulationService::GetDistances(UnaryCall* call, const v1::GetDistancesRequest* request,
                                     v1::GetDistancesResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const Shape shape{count_of(*worlds, *batch), request->pairs_size()}, points{shape[0], shape[1], 3};
    if (absl::Status room = take_room(bytes_of({shape, points, points}), parts_.limits, call->memory()); !room.ok())
      return room;
    std::vector<ShapePairQuery> pairs;
    for (const v1::ShapePair& pair : request->pairs()) pairs.push_back({pair.shape_a(), pair.shape_b()});
    const PairDistances out{make_doubles(shape, *response->mutable_distance()),
                            make_doubles(points, *response->mutable_point_a()),
                            make_doubles(points, *response->mutable_point_b())};
    const double most = request->has_max_distance() ? request->max_distance() : kDefaultDistance;
    const Blocks blocks(shape[0], shape[1]);
    const auto check = [batch, worlds = *worlds, pairs, most](Engine&) {
      return from_query(batch->engine->check(worlds, pairs, most));
    };
    const auto measure = [batch, blocks, pairs = std::move(pairs), out, most, worlds = *std::move(worlds)](
                             Engine&, std::size_t first, std::size_t last) {
      return blocks.for_each(first, last, [&](const Blocks::Part& part) {
        const PairDistances to{out.distance.subspan(part.at, part.size()),
                               out.point_a.subspan(3 * part.at, 3 * part.size()),
                               out.point_b.subspan(3 * part.at, 3 * part.size())};
        return from_query(batch->engine->distances(schedule::group_of(worlds, part.first_world, part.last_world),
                                                   std::span(pairs).subspan(part.first, part.count), most, to));
      });
    };
    return Work{check_of(check, blocks.count()), {.count = blocks.count(), .run = measure}};
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

void SimulationService::GetDynamics(UnaryCall* call, const v1::GetDynamicsRequest* request,
                                    v1::GetDynamicsResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const std::int64_t n = count_of(*worlds, *batch), nv = batch->info.model->info().joint_velocity_count;
    const std::int64_t frames = request->frames_size();
    const Shape pose{n, frames, 7}, jacobian{n, frames, 6, nv};
    const Shape mass{request->mass_matrix() ? n : 0, nv, nv}, bias{request->bias_force() ? n : 0, nv};
    if (absl::Status room = take_room(bytes_of({pose, jacobian, mass, bias}), parts_.limits, call->memory());
        !room.ok())
      return room;
    DynamicsQuery query;
    for (const v1::FrameSpec& frame : request->frames()) query.frames.push_back(frame_of(frame));
    query.mass_matrix = request->mass_matrix(), query.bias_force = request->bias_force();
    Dynamics out{make_doubles(pose, *response->mutable_frame_pose()),
                 make_doubles(jacobian, *response->mutable_jacobian()),
                 {},
                 {}};
    if (query.mass_matrix) out.mass_matrix = make_doubles(mass, *response->mutable_mass_matrix());
    if (query.bias_force) out.bias_force = make_doubles(bias, *response->mutable_bias_force());
    const auto check = [batch, worlds = *worlds, query](Engine&) {
      return from_query(batch->engine->check(worlds, query));
    };
    const auto work_out = [batch, query, out, n = static_cast<std::size_t>(n), worlds = *std::move(worlds)](
                              Engine&, std::size_t first, std::size_t last) {
      const auto of_worlds = [&](std::span<double> all) {
        const std::size_t size = all.size() / n;
        return all.subspan(first * size, (last - first) * size);
      };
      const Dynamics to{of_worlds(out.frame_pose), of_worlds(out.jacobian), of_worlds(out.mass_matrix),
                        of_worlds(out.bias_force)};
      return from_query(batch->engine->dynamics(schedule::group_of(worlds, first, last), query, to));
    };
    return Work{check_of(check, static_cast<std::size_t>(n)), {.count = static_cast<std::size_t>(n), .run = work_out}};
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

}  // namespace axion::server::rpc
