#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

using Stream = ServerTest;

v1::StepRequest request_of(const std::string& batch, const std::string& id) {
  v1::StepRequest request;
  request.set_batch(batch);
  request.set_request_id(id);
  return request;
}

TEST_F(Stream, requests_sent_ahead_are_answered_in_order) {
  start();
  const v1::Model model = create_model();
  const std::string a = create_batch(model.name(), 1).name(), b = create_batch(model.name(), 2).name();
  grpc::ClientContext context;
  const auto stream = stub->StepStream(&context);
  constexpr int kCount = 200;  // more than a stream may have in flight
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(stream->Write(request_of(i % 3 == 0 ? b : a, std::to_string(i))));
  }
  ASSERT_TRUE(stream->WritesDone());
  v1::StepResponse response;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.request_id(), std::to_string(i));
    EXPECT_EQ(response.step_index_size(), i % 3 == 0 ? 2 : 1);
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(Stream, whose_client_waits_for_every_answer_has_its_steps_run_where_they_were_read) {
  absl::Mutex mutex;
  std::vector<std::thread::id> threads;
  start({}, [&] {
    absl::MutexLock lock(&mutex);
    threads.push_back(std::this_thread::get_id());
  });
  const std::string batch = create_batch(create_model().name(), 1).name();
  grpc::ClientContext context;
  const auto stream = stub->StepStream(&context);
  constexpr int kCount = 400;
  v1::StepResponse response;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(stream->Write(request_of(batch, "")));
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.step_index(0), i + 1);
  }
  ASSERT_TRUE(stream->WritesDone());
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  absl::MutexLock lock(&mutex);
  ASSERT_EQ(threads.size(), static_cast<std::size_t>(kCount));
  // A first step is the device's own thread's. How many others are depends on how often it has not gone to sleep yet.
  const auto by_device = std::count(threads.begin(), threads.end(), threads.front());
  EXPECT_LT(by_device, kCount / 2);
  // Some always are, to see whether the client has come to send ahead.
  EXPECT_GE(by_device, kCount / 50);
}

TEST_F(Stream, a_refused_request_ends_it_after_the_answers_before_and_nothing_after_runs) {
  start();
  const std::string batch = create_batch(create_model().name(), 1).name();
  for (const bool refused_by_device : {true, false}) {
    grpc::ClientContext context;
    const auto stream = stub->StepStream(&context);
    const std::string run = refused_by_device ? "x" : "y";
    stream->Write(request_of(batch, run + "0"));
    stream->Write(request_of(batch, run + "1"));
    v1::StepRequest bad = request_of(batch, run + "2");
    if (refused_by_device) {
      bad.set_expected_step(99);
    } else {
      bad.add_outputs("nothing");
    }
    stream->Write(bad);
    for (int i = 3; i < 10; ++i) stream->Write(request_of(batch, run + std::to_string(i)));
    v1::StepResponse response;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.request_id(), run + std::to_string(i));
    }
    EXPECT_FALSE(stream->Read(&response));
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), refused_by_device ? grpc::StatusCode::ABORTED : grpc::StatusCode::INVALID_ARGUMENT)
        << status.error_message();
    v1::StepResponse next;
    ASSERT_TRUE(step(request_of(batch, run + "next"), next).ok());
    EXPECT_EQ(next.step_index(0), refused_by_device ? 3 : 6);
  }
}

// Answers are written, and end their exchanges, while the refused request is still being read.
TEST_F(Stream, a_refused_request_among_many_is_the_last_whatever_the_timing) {
  start();
  const std::string batch = create_batch(create_model().name(), 1).name();
  std::int64_t steps = 0;
  for (int round = 0; round < 200; ++round) {
    const int before = 1 + round % 8;
    const auto id = [round](int i) { return std::to_string(round) + "." + std::to_string(i); };
    grpc::ClientContext context;
    const auto stream = stub->StepStream(&context);
    for (int i = 0; i < before; ++i) stream->Write(request_of(batch, id(i)));
    v1::StepRequest bad = request_of(batch, id(before));
    const bool refused_by_device = round % 16 >= 8;
    if (refused_by_device) {
      bad.set_expected_step(1'000'000);
    } else {
      bad.add_outputs("nothing");
    }
    stream->Write(bad);
    for (int i = 1; i < 9; ++i) stream->Write(request_of(batch, id(before + i)));
    v1::StepResponse response;
    for (int i = 0; i < before; ++i) {
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.request_id(), id(i));
    }
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(),
              refused_by_device ? grpc::StatusCode::ABORTED : grpc::StatusCode::INVALID_ARGUMENT);
    v1::StepResponse next;
    ASSERT_TRUE(step(request_of(batch, ""), next).ok());
    steps += before + 1;
    ASSERT_EQ(next.step_index(0), steps) << "round " << round << ": what followed the refused request ran";
  }
}

TEST_F(Stream, a_client_that_goes_away_leaves_the_server_and_the_batch_in_order) {
  start();
  const std::string batch = create_batch(create_model().name(), 1).name();
  {
    grpc::ClientContext context;
    const auto stream = stub->StepStream(&context);
    for (int i = 0; i < 20; ++i) stream->Write(request_of(batch, ""));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::StepResponse response;
  EXPECT_TRUE(step(request_of(batch, ""), response).ok());
}

TEST_F(Stream, a_drain_answers_what_waits_then_ends_with_unavailable) {
  LaunchGate gate;
  start({}, gate.hook());
  const v1::Model model = create_model();
  const std::string batch = create_batch(model.name(), 1).name();
  grpc::ClientContext context, idle_context;
  const auto stream = stub->StepStream(&context);
  const auto idle = stub->StepStream(&idle_context);
  stream->Write(request_of(batch, "a"));
  gate.held.WaitForNotification();
  std::thread drain([&] { EXPECT_TRUE(server->drain(absl::Seconds(60))); });
  while (health() != 2) {
  }
  v1::StepResponse refused;
  EXPECT_EQ(step(request_of(batch, "late"), refused).error_code(), grpc::StatusCode::UNAVAILABLE);
  gate.open.Notify();
  v1::StepResponse response;
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.request_id(), "a");
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(idle->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();
}

// Whether the batch is gone soon: its worlds are freed on the device's thread.
bool is_gone(v1::Simulation::Stub& stub, const std::string& batch) {
  for (int i = 0; i < 20'000; ++i) {
    grpc::ClientContext context;
    v1::ListBatchesResponse all;
    if (!stub.ListBatches(&context, {}, &all).ok()) return false;
    const auto& batches = all.batches();
    if (std::none_of(batches.begin(), batches.end(), [&](const v1::Batch& b) { return b.name() == batch; }))
      return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

TEST_F(Stream, a_batch_bound_to_its_streams_ends_with_the_last_of_them_however_it_ends) {
  start();
  const v1::Model model = create_model();
  for (const bool killed : {false, true}) {
    const v1::Batch bound =
        create_batch(model.name(), 1, [](v1::CreateBatchRequest& request) { request.mutable_stream_ttl(); });
    EXPECT_TRUE(bound.has_stream_ttl());
    const std::string free = create_batch(model.name(), 1).name();
    v1::StepResponse response;
    ASSERT_TRUE(step(request_of(bound.name(), ""), response).ok());  // a call is no stream: nothing is bound yet
    grpc::ClientContext first_context, last_context;
    const auto first = stub->StepStream(&first_context), last = stub->StepStream(&last_context);
    for (const auto* stream : {&first, &last}) {
      for (const std::string& batch : {bound.name(), free, bound.name()}) {
        ASSERT_TRUE((*stream)->Write(request_of(batch, "")));
        ASSERT_TRUE((*stream)->Read(&response));
      }
    }
    ASSERT_TRUE(first->WritesDone());
    EXPECT_FALSE(first->Read(&response));
    EXPECT_TRUE(first->Finish().ok());
    ASSERT_TRUE(last->Write(request_of(bound.name(), "")));  // the other stream holds it
    ASSERT_TRUE(last->Read(&response));
    EXPECT_EQ(response.step_index(0), 6);
    if (killed) {
      last_context.TryCancel();
      last->Finish();
    } else {
      ASSERT_TRUE(last->WritesDone());
      EXPECT_FALSE(last->Read(&response));
      EXPECT_TRUE(last->Finish().ok());
    }
    EXPECT_TRUE(is_gone(*stub, bound.name()));
    EXPECT_TRUE(step(request_of(free, ""), response).ok());
  }
}

TEST_F(Stream, more_than_the_limit_are_refused_until_one_ends) {
  Config config;
  config.limits.max_streams = 2;
  start(config);
  const std::string batch = create_batch(create_model().name(), 1).name();
  v1::StepResponse response;
  grpc::ClientContext contexts[2];
  std::unique_ptr<grpc::ClientReaderWriter<v1::StepRequest, v1::StepResponse>> held[2];
  for (int i = 0; i < 2; ++i) {
    held[i] = stub->StepStream(&contexts[i]);
    ASSERT_TRUE(held[i]->Write(request_of(batch, "")));
    ASSERT_TRUE(held[i]->Read(&response));
  }
  const auto refused = [&] {
    grpc::ClientContext context;
    const auto stream = stub->StepStream(&context);
    stream->Write(request_of(batch, ""));
    stream->WritesDone();
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  };
  const grpc::Status status = refused();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the limit of 2 streams of StepStream is reached");
  ASSERT_TRUE(held[0]->WritesDone());
  EXPECT_TRUE(held[0]->Finish().ok());
  // The client hears of an end before the server is done with it.
  bool taken = false;
  for (int i = 0; i < 20'000 && !taken; ++i, absl::SleepFor(absl::Milliseconds(10))) taken = refused().ok();
  EXPECT_TRUE(taken);
  ASSERT_TRUE(held[1]->Write(request_of(batch, "")));
  EXPECT_TRUE(held[1]->Read(&response)) << "those that are open notice nothing";
  contexts[1].TryCancel();
  held[1]->Finish();
}

TEST_F(Stream, a_bound_batch_waits_for_its_client_to_come_back) {
  start();
  const std::string batch = create_batch(create_model().name(), 1, [](v1::CreateBatchRequest& request) {
                              request.mutable_stream_ttl()->set_seconds(60);
                            }).name();
  v1::StepResponse response;
  for (int i = 1; i <= 2; ++i) {
    grpc::ClientContext context;
    const auto stream = stub->StepStream(&context);
    ASSERT_TRUE(stream->Write(request_of(batch, "")));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.step_index(0), i);
    context.TryCancel();
    stream->Finish();
  }
  // The lease is the short one once the last stream has ended, which the client hears of before the server does.
  v1::Batch info;
  bool short_lease = false;
  for (int i = 0; i < 20'000 && !short_lease; ++i, absl::SleepFor(absl::Milliseconds(10))) {
    grpc::ClientContext context;
    v1::GetBatchRequest request;
    request.set_name(batch);
    ASSERT_TRUE(stub->GetBatch(&context, request, &info).ok());
    short_lease = info.expire_time().seconds() - absl::ToUnixSeconds(absl::Now()) <= 60;
  }
  EXPECT_TRUE(short_lease) << info.expire_time().seconds();
}

}  // namespace
}  // namespace axion::server::testing
