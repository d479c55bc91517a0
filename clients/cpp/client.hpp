// The connection to a server: models and batches.
//
//   auto client = axion::client::Client::connect("127.0.0.1:8470");
//   auto model = client.create_model(mjcf_text);            // absl::StatusOr<v1::Model>
//   auto batch = client.create_batch(model->name(), 256);   // absl::StatusOr<Batch>: deleted when it goes out of scope
//   auto result = batch->step({.control = control, .step_count = 200, .outputs = {"body_pose"}});
//
// Messages are as in proto/axion/v1. SI units and radians; quaternions are (w, x, y, z); world frame.
// Thread-safe and cheap to copy (copies share the connection). Calls block; errors are absl::Status (see status.hpp).
// UNAVAILABLE: no server at this address, or it is shutting down; CANCELLED: it did so as the call came.
// DEADLINE_EXCEEDED: a call took longer than `timeout`.
#pragma once

#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "clients/cpp/batch.hpp"

namespace axion::client {

inline constexpr int kDefaultPort = 8470;
inline constexpr char kDefaultTarget[] = "127.0.0.1:8470";

// Empty strings are taken from the environment: AXION_TOKEN, AXION_TLS_CA, AXION_TLS_CERT, AXION_TLS_KEY,
// AXION_TLS_SERVER_NAME; and TLS is used where AXION_TLS is 1.
struct ConnectOptions {
  std::shared_ptr<grpc::ChannelCredentials> credentials;  // made by hand, in the place of all of tls
  std::string token = {};                                 // of the tenant, sent with every call
  std::optional<bool> tls = {};                           // absent: where there is a tls_ca or tls_cert
  std::string tls_ca = {};            // file of the authorities, PEM, of the server's certificate; none: the system's
  std::string tls_cert = {};          // file of this client's own certificate, for servers that want one
  std::string tls_key = {};           // and its key
  std::string tls_server_name = {};   // what the server's certificate is for, where that is not the target's name
  bool insecure_token = false;        // send the token to another machine without TLS
  int max_message_bytes = 256 << 20;  // either direction; the server has its own limit
  absl::Duration timeout = absl::InfiniteDuration();  // of each call, streams excepted
  // For which a call, streams excepted, is made again while the server is UNAVAILABLE, as when it is started again; not
  // before it was there once. Steps carry a request_id and the batch's incarnation, so none is made twice; of a batch
  // that has lost steps they are ABORTED. 0: never.
  absl::Duration retry = absl::Seconds(30);
};

struct CreateModelOptions {
  // Files that the MJCF includes, and meshes, by name: bytes. Beyond half a megabyte they go by their digests, and in
  // pieces what the server lacks of what it needs.
  std::map<std::string, std::string> assets;
  bool allow_unsupported = false;                       // elements that are not supported become warnings
  std::vector<v1::ShapeOverride> shape_overrides = {};  // what MJCF has no words for: restitution, soft contacts
  std::vector<v1::JointOverride> joint_overrides = {};  // soft joints
  v1::UrdfOptions urdf = {};                            // of URDF only: base, ground, motors
};

class Client {
 public:
  // Connects at the first call. Credentials that cannot be used (a file that is absent, a token that anybody could read
  // on its way) make every call end with INVALID_ARGUMENT, which says why.
  // `address` is host:port, or host where the server listens on kDefaultPort.
  static Client connect(const std::string& address = kDefaultTarget, const ConnectOptions& options = {});

  absl::StatusOr<v1::ServerInfo> server_info() const;

  // Compiles MJCF text; the same content gives the same model. Model.warnings lists what was understood in part.
  absl::StatusOr<v1::Model> create_model(const std::string& mjcf, const CreateModelOptions& options = {}) const;
  // Likewise, of URDF text.
  absl::StatusOr<v1::Model> create_model_of_urdf(const std::string& urdf, const CreateModelOptions& options = {}) const;
  absl::StatusOr<v1::Model> create_model(const v1::CreateModelRequest& request) const;
  // FULL has the scene that the model was compiled from; create_model of it makes one that moves with the same bits and
  // has no visuals.
  absl::StatusOr<v1::Model> get_model(const std::string& name, v1::ModelView view = v1::MODEL_VIEW_BASIC) const;
  absl::StatusOr<std::vector<v1::Model>> list_models() const;
  absl::Status delete_model(const std::string& name) const;  // FAILED_PRECONDITION while a batch uses it

  // Makes worlds of a model, with the model's timestep and the default solver options.
  absl::StatusOr<Batch> create_batch(const std::string& model, int world_count) const;
  absl::StatusOr<Batch> create_batch(const v1::CreateBatchRequest& request) const;
  // A batch that stays when the handle goes out of scope.
  absl::StatusOr<Batch> get_batch(const std::string& name) const;
  absl::StatusOr<std::vector<v1::Batch>> list_batches() const;
  absl::Status delete_batch(const std::string& name) const;

  // A new batch of a snapshot, which stays when the handle goes out of scope. Batch::save_snapshot makes snapshots.
  absl::StatusOr<Batch> restore_snapshot(const v1::RestoreSnapshotRequest& request) const;
  absl::StatusOr<std::vector<v1::Snapshot>> list_snapshots() const;
  absl::Status delete_snapshot(const std::string& name) const;

 private:
  explicit Client(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  std::shared_ptr<Connection> connection_;
};

// Where a sensor's readings are in a row of the field sensor_data. NOT_FOUND if the model has no such sensor.
absl::StatusOr<v1::SensorInfo> find_sensor(const v1::Model& model, const std::string& name);

// Joint positions that a keyframe gives the actuators' joints, as a row of controls [nu]: with it, position actuators
// hold the keyframe; motors and velocity actuators get zero. NOT_FOUND if the model has no such keyframe.
absl::StatusOr<std::vector<double>> hold_control(const v1::Model& model, const std::string& keyframe);

}  // namespace axion::client
