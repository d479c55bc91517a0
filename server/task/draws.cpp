// Numbers that worlds have in place of the model's for an episode: which they are, and how they are drawn.
#include <algorithm>
#include <utility>

#include "server/task/episodes.hpp"
#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

std::size_t numbers_of(const ModelInfo& info, Parameter parameter) {
  std::size_t count = 1;
  for (const std::int64_t extent : parameter_shape(info, parameter)) count *= static_cast<std::size_t>(extent);
  return count;
}

bool has_use(const model::AxisSpec& axis, Parameter parameter) {
  if (parameter == Parameter::kAxisLower || parameter == Parameter::kAxisUpper) return axis.limited;
  if (parameter == Parameter::kAxisFrictionLoss) return axis.friction_loss > 0;
  return parameter != Parameter::kAxisAnchor || axis.kind == model::AxisKind::kHinge;
}
bool has_use(const model::ShapeSpec& shape, Parameter parameter) {
  return parameter != Parameter::kShapeSize ||
         (shape.kind != model::ShapeKind::kPlane && shape.kind < model::ShapeKind::kMesh);
}
bool has_use(const model::ActuatorSpec& actuator, Parameter parameter) {
  if (parameter == Parameter::kActuatorKp) return actuator.kind == model::ActuatorKind::kPosition;
  return parameter != Parameter::kActuatorKd || actuator.kind == model::ActuatorKind::kPosition ||
         actuator.kind == model::ActuatorKind::kVelocity;
}

// What parameters have their numbers for, each with the names that stand for it.
struct Items {
  const char* what = "";
  std::vector<std::string> names, other_names;
  std::vector<bool> used;
};

Items items_of(const ModelInfo& info, Parameter parameter) {
  Items items;
  const auto add = [&](const std::string& name, const std::string& other, bool used) {
    items.names.push_back(name), items.other_names.push_back(other), items.used.push_back(used);
  };
  switch (description_of(parameter).of) {
    case ParameterOf::kWorld:
      items.what = "part of the world";
      add("", "", true);
      break;
    case ParameterOf::kBodies:
      items.what = "body";
      for (const BodyInfo& body : info.bodies) add(body.name, "", true);
      break;
    case ParameterOf::kAxes:
      items.what = "joint";
      for (const JointInfo& joint : info.joints) {
        if (joint.kind != model::JointKind::kAxes || joint.closes_loop) continue;
        for (const model::AxisSpec& axis : joint.axes) add(axis.name, joint.name, has_use(axis, parameter));
      }
      break;
    case ParameterOf::kShapes:
      items.what = "shape";
      for (const model::ShapeSpec& shape : info.shapes) {
        const bool of_world = shape.body < 0;
        add(shape.name, of_world ? "world" : info.bodies[static_cast<std::size_t>(shape.body)].name,
            has_use(shape, parameter));
      }
      break;
    case ParameterOf::kActuators:
      items.what = "actuator";
      for (const model::ActuatorSpec& actuator : info.actuators) add(actuator.name, "", has_use(actuator, parameter));
      break;
  }
  return items;
}

double drawn(const DrawSpec& spec, const Random& random, std::uint64_t index) {
  if (!spec.is_log_uniform) return random.uniform(index, spec.lower, spec.upper);
  const double lower = logarithm(spec.lower), upper = logarithm(spec.upper);
  return std::clamp(exponential(random.uniform(index, lower, upper)), spec.lower, spec.upper);
}

// Applies what a term has drawn to numbers of parameters: one row for each of `parameters`.
void apply(const DrawTerm& term, const double* values, const std::vector<Parameter>& parameters,
           std::vector<std::vector<double>>& rows) {
  const auto row_of = [&](Parameter parameter) -> std::vector<double>& {
    return rows[static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), parameter) -
                                         parameters.begin())];
  };
  std::vector<double>& row = row_of(term.parameter);
  for (std::size_t i = 0; i < term.numbers.size(); ++i) {
    const auto at = static_cast<std::size_t>(term.numbers[i]);
    const double value = values[term.spec.together ? 0 : i], before = row[at];
    row[at] = term.spec.operation == DrawOperation::kAbsolute ? value
              : term.spec.operation == DrawOperation::kScale  ? before * value
                                                              : before + value;
    if (term.parameter != Parameter::kBodyMass || row[at] == before) continue;
    std::vector<double>& inertia = row_of(Parameter::kBodyInertia);
    for (std::size_t k = 6 * at; k < 6 * at + 6; ++k) inertia[k] *= row[at] / before;
  }
}

}  // namespace

Result<DrawTerm> PartCompiler::draw(const std::string& path, const DrawSpec& spec) {
  if (spec.name.empty()) return invalid_argument(path + ".name", "is empty");
  for (const DrawTerm& other : task_.draw) {
    if (other.spec.name == spec.name) return invalid_argument(path + ".name", "is " + shown(spec.name) + " again");
  }
  const Result<Parameter> parameter = parameter_from_name(spec.parameter);
  if (!parameter.ok()) return invalid_argument(path + ".parameter", parameter.error().message);
  DrawTerm term{.spec = spec, .parameter = parameter.value(), .numbers = {}, .start = task_.draw_size};
  const int width = description_of(term.parameter).width;
  int size = 0;
  if (Status s = take_piece(path, spec.start, spec.count, width, size); !s.ok()) return s.error();
  const Items items = items_of(info_, term.parameter);
  if (!spec.of.empty() && description_of(term.parameter).of == ParameterOf::kWorld) {
    return invalid_argument(path + ".of", "is given, but " + spec.parameter + " is of the world");
  }
  // Names of both kinds in one list: an item is taken by either.
  std::vector<std::string> known = items.names;
  known.insert(known.end(), items.other_names.begin(), items.other_names.end());
  std::vector<bool> taken(items.names.size(), spec.of.empty());
  for (std::size_t i = 0; i < spec.of.size(); ++i) {
    bool matched = false;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      const bool own = !spec.of[i].empty() && (items.names[k] == spec.of[i] || items.other_names[k] == spec.of[i]);
      taken[k] = taken[k] || own, matched = matched || own;
    }
    if (matched) continue;
    auto found = names_.find(path + ".of", items.what, {spec.of[i]}, known);
    if (!found.ok()) return invalid_argument(element(path, ".of", i), found.error().message);
    for (const int index : found.value()) taken[static_cast<std::size_t>(index) % taken.size()] = true;
  }
  for (std::size_t k = 0; k < taken.size(); ++k) {
    if (!taken[k] || !items.used[k]) continue;
    for (int i = 0; i < size; ++i) term.numbers.push_back(static_cast<int>(k) * width + spec.start + i);
  }
  if (term.numbers.empty()) return invalid_argument(path + ".of", "has nothing with a use for " + spec.parameter);
  if (term.numbers.size() > static_cast<std::size_t>(kMaxNumbers)) {
    return invalid_argument(path + ".of", "is beyond 65536 numbers that are drawn");
  }
  term.size = spec.together ? 1 : static_cast<int>(term.numbers.size());
  const double least = spec.is_log_uniform ? 1e-12 : -kMaxNumber;
  if (Status s = check_number(path + ".lower", spec.lower, least); !s.ok()) return s.error();
  if (Status s = check_number(path + ".upper", spec.upper, spec.lower); !s.ok()) return s.error();
  return term;
}

Status Episodes::take_model(const Batch& batch) {
  const ModelInfo& info = batch.spec().model->info();
  for (const DrawTerm& term : task_->draw) {
    for (const Parameter parameter : {term.parameter, Parameter::kBodyInertia}) {
      const bool follows = parameter == term.parameter || term.parameter == Parameter::kBodyMass;
      if (!follows || std::find(drawn_.begin(), drawn_.end(), parameter) != drawn_.end()) continue;
      drawn_.push_back(parameter);
      models_.emplace_back(numbers_of(info, parameter));
      const std::int32_t first = 0;
      if (Status s = batch.parameters({&first, 1}, parameter, models_.back()); !s.ok()) return s;
    }
  }
  return {};
}

StateUpdate Episodes::drawn_update(const std::vector<std::vector<std::vector<double>>>& rows,
                                   std::vector<std::vector<double>>& places) const {
  StateUpdate update;
  places.assign(drawn_.size(), {});
  for (std::size_t p = 0; p < drawn_.size(); ++p) {
    for (const auto& row : rows) places[p].insert(places[p].end(), row[p].begin(), row[p].end());
    update.parameters.push_back({.parameter = drawn_[p],
                                 .values = {.data = reinterpret_cast<const std::byte*>(places[p].data()),
                                            .dtype = DType::kFloat64,
                                            .world_stride = models_[p].size() * sizeof(double)}});
  }
  return update;
}

Status Episodes::check_draws(const Batch& batch) const {
  const std::int32_t first = 0;
  std::vector<std::vector<double>> places;
  for (std::size_t t = 0; t < task_->draw.size(); ++t) {
    const DrawTerm& term = task_->draw[t];
    for (const bool upper : {false, true}) {
      auto rows = models_;
      const std::vector<double> values(static_cast<std::size_t>(term.size), upper ? term.spec.upper : term.spec.lower);
      apply(term, values.data(), drawn_, rows);
      const auto change = batch.prepare({&first, 1}, drawn_update({rows}, places), std::nullopt);
      if (change.ok()) continue;
      return invalid_argument("draw[" + std::to_string(t) + (upper ? "].upper" : "].lower"),
                              "makes no model: " + change.error().field + ": " + change.error().message);
    }
  }
  return {};
}

Status Episodes::draw_numbers(Batch& batch, std::span<const std::int32_t> worlds) {
  if (task_->draw.empty()) return {};
  std::vector<std::vector<std::vector<double>>> rows;
  for (const std::int32_t index : worlds) {
    World& w = world(index);
    const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kDraw);
    rows.push_back(models_);
    for (std::size_t t = 0; t < task_->draw.size(); ++t) {
      const DrawTerm& term = task_->draw[t];
      double* values = w.memory.data() + layout_.draw + term.start;
      for (int i = 0; i < term.size; ++i) {
        values[i] = drawn(term.spec, random, (static_cast<std::uint64_t>(t) << 32) + static_cast<std::uint64_t>(i));
      }
      apply(term, values, drawn_, rows.back());
    }
  }
  std::vector<std::vector<double>> places;
  if (batch.set_state(worlds, drawn_update(rows, places)).ok()) return {};
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const auto one = worlds.subspan(i, 1);
    if (batch.set_state(one, drawn_update({rows[i]}, places)).ok()) continue;
    // Together the numbers make no model: the world has the model's own, and what it has drawn says so.
    for (const DrawTerm& term : task_->draw) {
      const auto p = static_cast<std::size_t>(std::find(drawn_.begin(), drawn_.end(), term.parameter) - drawn_.begin());
      double* values = world(worlds[i]).memory.data() + layout_.draw + term.start;
      for (int k = 0; k < term.size; ++k) {
        const double own = models_[p][static_cast<std::size_t>(term.numbers[static_cast<std::size_t>(k)])];
        values[k] = term.spec.operation == DrawOperation::kAbsolute ? own
                    : term.spec.operation == DrawOperation::kScale  ? 1
                                                                    : 0;
      }
    }
    if (Status s = batch.set_state(one, drawn_update({models_}, places)); !s.ok()) return s;
  }
  return {};
}

}  // namespace axion::server::task
