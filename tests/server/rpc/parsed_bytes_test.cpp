// Parts of messages are counted on the wire, before anything is made of them.
#include "server/rpc/parsed_bytes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "axion/v1/simulation.pb.h"

namespace axion::server::rpc {
namespace {

std::string found(const v1::CreateModelRequest& request, const std::string& more = "") {
  const ParsedSize size = parsed_size(request.SerializeAsString() + more, *v1::CreateModelRequest::descriptor());
  return size.too_many.has_value() ? size.too_many->field + " " + size.too_many->what : "";
}

TEST(ParsedBytes, name_the_field_that_has_too_many_entries) {
  v1::CreateModelRequest request;
  v1::SceneSpec& scene = *request.mutable_scene();
  for (int i = 0; i < 4096; ++i) scene.add_bodies();
  for (int i = 0; i < 3; ++i) scene.add_joints();
  EXPECT_EQ(found(request), "");
  for (int i = 0; i < 3; ++i) scene.mutable_joints(1)->add_axes();
  EXPECT_EQ(found(request), "");
  scene.mutable_joints(1)->add_axes();
  EXPECT_EQ(found(request), "scene.joints[1].axes may have at most 3 entries; it has more");
  scene.mutable_joints(1)->clear_axes();
  scene.add_bodies(), scene.add_bodies();
  EXPECT_EQ(found(request), "scene.bodies may have at most 4096 entries; it has more");
}

// The parser joins messages that come twice where there is one.
TEST(ParsedBytes, count_together_what_a_parser_joins) {
  v1::CreateModelRequest request;
  for (int i = 0; i < 3000; ++i) request.mutable_scene()->add_bodies();
  EXPECT_EQ(found(request, request.SerializeAsString()), "scene.bodies may have at most 4096 entries; it has more");
}

TEST(ParsedBytes, count_parts_of_each_message_of_a_list_by_themselves) {
  v1::CreateModelRequest request;
  for (int i = 0; i < 2000; ++i) {
    request.mutable_scene()->add_joints()->add_axes();
    request.mutable_scene()->mutable_joints(i)->add_axes();
  }
  EXPECT_EQ(found(request), "");
}

TEST(ParsedBytes, are_at_least_what_is_used) {
  v1::CreateModelRequest request;
  for (int i = 0; i < 1000; ++i) request.mutable_scene()->add_bodies()->set_name("body of a name that is not short");
  const ParsedSize size = parsed_size(request.SerializeAsString(), *v1::CreateModelRequest::descriptor());
  EXPECT_GE(size.bytes, request.SpaceUsedLong());
}

}  // namespace
}  // namespace axion::server::rpc
