#include "server/server.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "server/net/descriptors.hpp"
#include "server/net/listener.hpp"
#include "server/net/memory_share.hpp"
#include "server/observe/logging.hpp"
#include "server/rpc/call_counter.hpp"
#include "server/rpc/tls_credentials.hpp"
#include "server/schedule/steady_time.hpp"

namespace axion::server {
namespace {

constexpr const char* kServiceName = "axion.v1.Simulation";
// How long finished answers may take to reach their clients once all work is done.
constexpr absl::Duration kFlushTime = absl::Seconds(1);
// Bytes of a call that may be under way unread, and of one frame. With gRPC's own 64 KiB and 16 KiB the two ends of an
// answer of megabytes wake each other dozens of times before it is through.
constexpr int kStreamWindowBytes = 16 << 20;
constexpr int kFrameBytes = 1 << 20;
// Of one connection that are read at once. gRPC's own 4 MiB hold the headers of seventy thousand calls, all of which it
// opens before it looks at anything else.
constexpr int kReadBytes = 256 << 10;
// A connection that has not said a word of HTTP/2 by then is closed.
constexpr int kHandshakeMilliseconds = 20'000;
// Of the metrics page at once; fewer where descriptors are few.
constexpr std::size_t kMaxScrapers = 64;
// Of gRPC's for blocking services.
constexpr int kMaxBlockingThreads = 64;
// What a call takes while it is open and does nothing, in this process; calls may take the transport's share together.
constexpr std::size_t kCallBytes = 32 << 10;
// Scenes that may wait for the compiler.
constexpr std::size_t kCompileQueue = 64;
// Snapshots that may wait for the disk, which writes one after another; a second thread makes the next one ready.
constexpr std::size_t kDiskQueue = 64;
constexpr unsigned kDiskThreads = 2;

// host:port with the port that was taken.
std::string with_port(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

std::uint64_t random_key() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

schedule::StepBatcherOptions batcher_options(const Config& config) {
  schedule::StepBatcherOptions options;
  options.max_queue = static_cast<std::size_t>(config.limits.max_queue);
  options.max_batch_delay = config.max_batch_delay;
  return options;
}

// Reflection takes part in every server of the process as soon as its library is there, unless it is taken out.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) {
      return dynamic_cast<const grpc::reflection::ProtoServerReflectionPlugin*>(plugin.get()) != nullptr;
    });
  }
};

// What the process has before it does anything, and what the allocator keeps.
constexpr std::int64_t kOwnBytes = 64 << 20;

std::int64_t budget_of(std::int64_t memory, const schedule::Limits& limits) {
  const std::size_t transport =
      net::transport_share(static_cast<std::size_t>(memory), static_cast<std::size_t>(limits.max_message_bytes));
  return std::max<std::int64_t>(memory - static_cast<std::int64_t>(transport) - kOwnBytes, kOwnBytes);
}

int milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

// How long connections may be silent, how often they may ask, how much they may ask for at once, and how old they get.
void limit_connections(const AccessConfig& config, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, config.max_concurrent_calls);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(config.keepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(config.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             milliseconds(config.min_ping_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  if (config.max_connection_age == absl::ZeroDuration()) return;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, milliseconds(config.max_connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, milliseconds(config.max_connection_age_grace));
}

}  // namespace

std::int64_t memory_limit_of(const Config& config) {
  return config.memory_limit > 0 ? config.memory_limit : static_cast<std::int64_t>(net::process_memory());
}

int threads_of(const Config& config) {
  return config.threads > 0 ? config.threads : net::process_processors(available_processors());
}

observe::BuildInfo build_info() { return {AXION_VERSION, AXION_REVISION, compiled_backends()}; }

Server::Server(const Config& config, std::unique_ptr<Engine> engine, std::unique_ptr<store::Store> store)
    : metrics_(build_info(), engine->device().id),
      memory_limit_(memory_limit_of(config)),
      memory_(std::make_shared<schedule::MemoryBudget>(budget_of(memory_limit_, config.limits))),
      store_(std::move(store)),
      registry_(config.limits, metrics_, store_ == nullptr ? random_key() : store_->key(),
                schedule::first_sequence(store_ == nullptr ? 0 : store_->run())) {
  memory_->on_shortage(
      [this](const std::string* tenant, std::int64_t bytes) { return registry_.assets().reclaim(tenant, bytes); });
  schedule::StepBatcherOptions options = batcher_options(config);
  if (store_ != nullptr) {
    checkpoints_ = std::make_unique<rpc::Checkpoints>(*store_, registry_, metrics_, memory_);
    options.at_end = [this](auto batches) {
      no_more_models_.WaitForNotification();
      checkpoints_->save_at_end(batches);
    };
  }
  options.beside = [this](const schedule::Call& call, std::function<void(const absl::Status&)> task) {
    return preparer_->submit(call, std::move(task));
  };
  options.on_fault = [this](const std::string& what) { take_fault(what); };
  // One thread more than work at once for one caller.
  const auto threads = static_cast<unsigned>(std::max(2, net::process_processors(available_processors()) / 2) + 1);
  preparer_ = std::make_unique<schedule::Worker>(schedule::WorkerOptions{
      .max_queue = static_cast<std::size_t>(config.limits.max_queue), .threads = threads, .yields = true});
  batcher_ = std::make_unique<schedule::StepBatcher>(std::move(engine), registry_, metrics_, std::move(options));
  compiler_ = std::make_unique<schedule::Worker>(
      schedule::WorkerOptions{.max_queue = kCompileQueue, .threads = threads, .yields = true});
  disk_ = std::make_unique<schedule::Worker>(schedule::WorkerOptions{.max_queue = kDiskQueue, .threads = kDiskThreads});
}

absl::Status Server::check_access(const Config& config) {
  auto credentials = access::Credentials::open(
      {.tls = config.access.tls, .token_file = config.access.token_file}, [this](const access::Reload& reload) {
        metrics_.on_credentials_reload(reload.what, reload.status.ok());
        if (!reload.status.ok()) {
          spdlog::error("event=credentials_refused what={} reason={}", reload.what,
                        observe::log_text(std::string(reload.status.message())));
          return;
        }
        spdlog::info("event=credentials_loaded what={}", reload.what);
        if (reload.expires != absl::InfiniteFuture()) metrics_.on_certificate_expiry(reload.expires);
      });
  if (!credentials.ok()) return credentials.status();
  credentials_ = *std::move(credentials);
  if (const auto loaded = credentials_->certificates()) metrics_.on_certificate_expiry(loaded->expires);
  auto admission = rpc::Admission::create(*credentials_, config.access.disable_methods);
  if (!admission.ok()) return admission.status();
  admission_ = std::make_unique<rpc::Admission>(*std::move(admission));
  if (!config.trace_endpoint.empty()) {
    traces_ = std::make_unique<observe::TraceExporter>(config.trace_endpoint, AXION_VERSION, metrics_.trace_counters());
  }
  service_ = std::make_unique<rpc::SimulationService>(
      rpc::ServiceParts{registry_, *batcher_, *compiler_, metrics_, config.limits, build_info(), *admission_, memory_,
                        config.advertise_address, *disk_, store_.get(), checkpoints_.get(), traces_.get()});
  wire_ = std::make_unique<rpc::WireService>(*service_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::start(const Config& config, std::unique_ptr<Engine> engine,
                                                      std::function<void()> on_give_up) {
  std::unique_ptr<store::Store> store;
  if (!config.state_dir.empty()) {
    auto opened = store::Store::open(config.state_dir);
    if (!opened.ok()) return opened.status();
    store = *std::move(opened);
  }
  std::unique_ptr<Server> server(new Server(config, std::move(engine), std::move(store)));
  server->on_give_up_ = std::move(on_give_up);
  if (absl::Status status = server->check_access(config); !status.ok()) return status;
  // Before anybody can call: who is let in finds everything in its place.
  if (server->checkpoints_ != nullptr) server->checkpoints_->restore_all(*server->batcher_);
  if (server->store_ != nullptr) {
    if (absl::Status status = server->store_->begin(); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("--state_dir=", config.state_dir, ": ", status.message()));
    }
  }
  if (absl::Status status = server->listen(config); !status.ok()) return status;
  if (config.checkpoint_interval > absl::ZeroDuration()) {
    server->checkpoint_ticker_ = std::make_unique<schedule::Ticker>(
        config.checkpoint_interval, [self = server.get()] { self->checkpoints_->save_all(*self->batcher_); });
  }
  return server;
}

absl::Status Server::listen_for_scrapers(const std::string& address, std::size_t max_visitors) {
  auto listener = net::Listener::open(address);
  if (!listener.ok()) {
    return absl::UnavailableError(
        absl::StrCat("--metrics_listen=", address, ": cannot listen there: ", listener.status().message()));
  }
  metrics_address_ = with_port(address, listener->port());
  metrics_.serve(*std::move(listener), max_visitors);
  return absl::OkStatus();
}

absl::Status Server::listen(const Config& config) {
  auto listener = net::Listener::open(config.listen);
  if (!listener.ok()) {
    return absl::UnavailableError(
        absl::StrCat("--listen=", config.listen, ": cannot listen there: ", listener.status().message()));
  }
  if (absl::Status status = check_exposure(config.access, config.listen, listener->loopback()); !status.ok())
    return status;
  const int port = listener->port();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  transport_ = credentials_->has_tls() ? rpc::tls_credentials(*credentials_) : grpc::InsecureServerCredentials();
  grpc::ServerBuilder builder;
  entrance_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, transport_);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  // gRPC inflates a message before it looks at its length, and megabytes on the wire become gigabytes: none is
  // inflated, and a call that announces a compression ends with UNIMPLEMENTED. Tensors of floats compress badly anyway.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (int algorithm = GRPC_COMPRESS_NONE + 1; algorithm < GRPC_COMPRESS_ALGORITHMS_COUNT; ++algorithm) {
    builder.SetCompressionAlgorithmSupportStatus(static_cast<grpc_compression_algorithm>(algorithm), false);
  }
  limit_connections(config.access, builder);
  const std::string& reflection = config.access.reflection;
  if (reflection == "off" || (reflection == "auto" && !config.access.token_file.empty())) {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
  builder.SetMaxReceiveMessageSize(static_cast<int>(config.limits.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(config.limits.max_message_bytes));
  // gRPC buffers a message whole before it looks at its length, and a length goes up to 4 GB. The acceptor keeps what
  // is buffered within less than this. What passes it ends connections without calls, and then calls, of anybody.
  grpc::ResourceQuota quota("axiond");
  quota.Resize(net::transport_share(static_cast<std::size_t>(memory_limit_),
                                    static_cast<std::size_t>(config.limits.max_message_bytes)));
  // Each stream of reflection, a service of gRPC's own, has a thread for as long as it is open.
  quota.SetMaxThreads(kMaxBlockingThreads);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);  // not one for each processor, each with threads
  builder.SetResourceQuota(quota);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<rpc::CallCounter>(rpc::CallEvents{
      [this](const std::string& connection) { calls_.on_message(connection); },
      [this](const std::string& connection, std::size_t bytes) { calls_.on_bytes(connection, bytes); },
      [this](const std::string& connection, std::size_t bytes) { calls_.on_answer(connection, bytes); },
      [this](const std::string& connection, std::size_t bytes) { calls_.on_answered(connection, bytes); },
      [this](const std::string& connection) { calls_.on_taken_back(connection); },
      [this](const std::string& connection) { calls_.on_open(connection); },
      [this](const std::string& connection) { calls_.on_closed(connection); }}));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  builder.RegisterService(wire_.get());
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) return absl::InternalError("gRPC does not start");

  // With all of the server's own files open.
  const std::size_t limit = net::raise_descriptor_limit(), open = net::open_descriptors();
  const std::size_t share = net::connection_share(limit, open);
  const auto wanted = static_cast<std::size_t>(config.limits.max_connections);
  if (share == 0 || wanted > share) {
    return absl::ResourceExhaustedError(absl::StrCat("--max_connections=", wanted, ": the limit of open files, ", limit,
                                                     ", leaves ", share, " connections; raise it (ulimit -n)"));
  }
  metrics_.watch_memory(memory_);
  metrics_.on_limits(config.limits, wanted == 0 ? share : wanted);
  if (!config.metrics_listen.empty()) {
    const std::size_t scrapers = std::min<std::size_t>(kMaxScrapers, (limit - open - share) / 2);
    if (absl::Status status = listen_for_scrapers(config.metrics_listen, scrapers); !status.ok()) return status;
  }
  address_ = with_port(config.listen, port);
  set_accepting(true);
  accept_from(*std::move(listener), wanted == 0 ? share : wanted, config);
  return absl::OkStatus();
}

void Server::accept_from(net::Listener listener, std::size_t max_connections, const Config& config) {
  // A client of gRPC that is answered so in HTTP/1.1 gives up at once, with UNAVAILABLE and the status; a GOAWAY would
  // have it connect again dozens of times a second.
  const std::string text =
      absl::StrCat("max_connections: the server has ", max_connections, " connections, its limit\n");
  const std::size_t transport = net::unfinished_share(static_cast<std::size_t>(memory_limit_),
                                                      static_cast<std::size_t>(config.limits.max_message_bytes));
  const net::AcceptorOptions options{
      .max_connections = max_connections,
      .max_open_calls = transport / kCallBytes,
      // A client may take back all that it has open and call as often again, before the server is done with the first.
      .max_open_calls_of_one = 2 * static_cast<std::size_t>(config.access.max_concurrent_calls),
      // Each is counted twice in the budget, as a message and as its bytes: a quarter of it.
      .max_unread_bytes = static_cast<std::uint64_t>(memory_->limit()) / 8,
      .max_unfinished_bytes = transport,
      .farewell = absl::StrCat("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: ",
                               text.size(), "\r\nConnection: close\r\n\r\n", text)};
  net::AcceptorEvents events;
  events.take = [this](int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    entrance_->HandleNewConnection(&connection);
  };
  events.count = [this](std::size_t open, std::size_t turned_away) {
    metrics_.on_connections(open, turned_away);
    if (turned_away > 0) spdlog::warn("event=connections_refused count={} open={}", turned_away, open);
  };
  events.stalled = [this](const std::string& reason) {
    spdlog::error("event=accept_failed reason={}", observe::log_text(reason));
    set_accepting(false);
  };
  events.recovered = [this] {
    spdlog::warn("event=accept_recovered");
    set_accepting(true);
  };
  events.gave_up = [this] { give_up(); };
  // All that requests and worlds hold is in the budget, all of messages on their way in the transport's share.
  events.crowding = [this, transport, heap = net::HeapWatch()]() mutable {
    const std::size_t own = static_cast<std::size_t>(memory_->used() + kOwnBytes);
    const std::size_t in_use = heap.in_use(own + transport / 2, schedule::steady_now());
    if (in_use > own + kOwnBytes + transport) return net::Crowding::kOverfull;
    return in_use > 0 ? net::Crowding::kCrowded : net::Crowding::kNone;
  };
  events.calls = [this] { return calls_.take(); };
  events.waiting = [this] { return calls_.waiting(); };
  events.messages = [this] { return calls_.take_messages(); };
  events.cut = [this](const std::string& reason) {
    metrics_.on_connection_cut();
    spdlog::warn("event=connection_cut reason={}", observe::log_text(reason));
  };
  spdlog::debug("event=accepting max_connections={}", max_connections);
  acceptor_ = std::make_unique<net::Acceptor>(std::move(listener), options, std::move(events));
}

void Server::set_accepting(bool accepting) {
  absl::MutexLock lock(&health_mutex_);
  accepting_ = accepting;
  report_health();
}

void Server::take_fault(const std::string& what) {
  spdlog::critical("event=device_fault reason={}", observe::log_text(what));
  metrics_.on_device_fault();
  set_draining();
  give_up();
}

void Server::give_up() {
  {
    absl::MutexLock lock(&health_mutex_);
    if (std::exchange(gave_up_, true)) return;
  }
  if (on_give_up_) on_give_up_();
}

void Server::set_draining() {
  absl::MutexLock lock(&health_mutex_);
  draining_ = true;
  report_health();
}

void Server::report_health() {
  if (grpc_ == nullptr) return;
  const bool serving = accepting_ && !draining_;
  grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, serving);
  grpc_->GetHealthCheckService()->SetServingStatus(serving);
}

bool Server::drain(absl::Duration limit) {
  if (drained_) return true;
  drained_ = true;
  const absl::Time end = absl::Now() + limit;
  batcher_->close();  // before the health says so: a client that reads NOT_SERVING is refused work
  set_draining();
  if (service_ != nullptr) service_->begin_drain();
  if (checkpoint_ticker_ != nullptr) {
    checkpoints_->stop();
    checkpoint_ticker_->stop();
  }
  const bool compiled = compiler_->drain(limit);
  no_more_models_.Notify();  // the checkpoint at the end has them all
  const bool in_time = batcher_->drain(std::max(end - absl::Now(), absl::ZeroDuration())) && compiled;
  disk_->drain(absl::InfiniteDuration());
  // Up to here newcomers were let in to be told; a connection that gRPC does not take any more would stay open.
  if (acceptor_ != nullptr) acceptor_->stop();
  if (!compiled) {
    // gRPC would wait for the calls whose scenes compile on.
    absl::SleepFor(kFlushTime);
    compiles_on_ = true;
    return false;
  }
  if (grpc_ != nullptr) {
    grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kFlushTime));
    grpc_->Wait();
  }
  return in_time;
}

Server::~Server() {
  drain(absl::ZeroDuration());
  if (!compiles_on_) return;
  compiler_->drain(absl::InfiniteDuration());
  if (grpc_ == nullptr) return;
  grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kFlushTime));
  grpc_->Wait();
}

}  // namespace axion::server
