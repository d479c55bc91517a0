#include "server/rpc/part_limits.hpp"

#include <initializer_list>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "engine/engine.hpp"

#include "axion/v1/simulation.pb.h"
#include "server/task/task_parts.hpp"

namespace axion::server::rpc {
namespace {

using Limits = absl::flat_hash_map<const google::protobuf::FieldDescriptor*, int>;

void add(Limits& limits, const google::protobuf::Descriptor& type,
         std::initializer_list<std::pair<const char*, int>> of_fields) {
  for (const auto& [name, limit] : of_fields) limits[type.FindFieldByName(name)] = limit;
}

Limits make_limits() {
  Limits limits;
  add(limits, *v1::SceneSpec::descriptor(),
      {{"bodies", model::kMaxSceneBodies},
       {"joints", model::kMaxSceneJoints},
       {"shapes", model::kMaxSceneShapes},
       {"actuators", model::kMaxSceneActuators},
       {"excludes", model::kMaxSceneExcludes},
       {"keyframes", model::kMaxSceneKeyframes},
       {"meshes", model::kMaxSceneMeshes},
       {"height_fields", model::kMaxSceneHeightFields},
       {"contact_pairs", model::kMaxSceneContactPairs},
       {"tendons", model::kMaxSceneTendons},
       {"equalities", model::kMaxSceneEqualities},
       {"sensors", model::kMaxSceneSensors}});
  add(limits, *v1::BodySpec::descriptor(), {{"fluid_ellipsoids", model::kMaxFluidEllipsoids}});
  add(limits, *v1::JointSpec::descriptor(), {{"axes", model::kMaxAxesPerJoint}});
  add(limits, *v1::MeshSpec::descriptor(), {{"vertices", model::kMaxMeshVertices}});
  add(limits, *v1::TendonSpec::descriptor(), {{"terms", model::kMaxTendonTerms}, {"path", model::kMaxTendonPoints}});
  add(limits, *v1::CreateModelRequest::descriptor(),
      {{"shape_overrides", model::kMaxSceneShapes}, {"joint_overrides", model::kMaxSceneJoints}});
  add(limits, *v1::TaskSpec::descriptor(),
      {{"observation", task::kMaxTerms},
       {"reward", task::kMaxTerms},
       {"termination", task::kMaxTerms},
       {"truncation", task::kMaxTerms},
       {"start", task::kMaxTerms},
       {"command", task::kMaxTerms},
       {"push", task::kMaxTerms},
       {"draw", task::kMaxTerms},
       {"privileged_observation", task::kMaxTerms},
       {"phase", task::kMaxTerms},
       {"curriculum", task::kMaxTerms}});
  add(limits, *v1::RewardTerm::descriptor(), {{"factor", task::kMaxFactors}});
  add(limits, *v1::ActionSpec::descriptor(), {{"group", task::kMaxTerms}});
  return limits;
}

}  // namespace

int part_limit(const google::protobuf::FieldDescriptor& field) {
  static const Limits* const limits = new Limits(make_limits());
  const auto found = limits->find(&field);
  return found == limits->end() ? kNoPartLimit : found->second;
}

}  // namespace axion::server::rpc
