// Statuses of the C++ client as they are printed.
#include "clients/cpp/status.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace axion::client {
namespace {

TEST(ClientStatus, is_printed_in_words_with_all_that_the_server_said) {
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("control");
  bad.mutable_field_violations(0)->set_description("is nan at [0, 1]");
  google::rpc::ErrorInfo info;
  info.set_reason("NOT_FINITE");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(250000000);
  google::rpc::Status sent;
  sent.set_code(3);
  sent.set_message("control is wrong");
  sent.add_details()->PackFrom(bad);
  sent.add_details()->PackFrom(info);
  sent.add_details()->PackFrom(retry);
  const absl::Status status = from_grpc({grpc::StatusCode::INVALID_ARGUMENT, sent.message(), sent.SerializeAsString()});
  std::ostringstream printed;
  printed << status;
  for (const char* word : {"control is wrong", "is nan at [0, 1]", "NOT_FINITE", "try again in 250ms"}) {
    EXPECT_NE(printed.str().find(word), std::string::npos) << printed.str();
  }
  // What is no letter is printed as an escape.
  for (const char* byte : {"\\x", "\\0", "\\n", "\\r", "\\t"}) {
    EXPECT_EQ(printed.str().find(byte), std::string::npos) << printed.str();
  }
  EXPECT_EQ(details_of(status).reason, "NOT_FINITE");
}

}  // namespace
}  // namespace axion::client
