#include "clients/cpp/tensor.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace axion::client {
namespace {

TEST(Tensor, values_come_back_as_they_went_in) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto tensor = make_tensor(std::span<const float>(values), {2, 3}, "control");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(shape_text(*tensor), "[2, 3]");
  const auto back = view<float>(*tensor);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::vector<float>(back->begin(), back->end()), values);
}

TEST(Tensor, wrong_number_of_values_names_the_field_and_both_sizes) {
  const std::vector<double> values(5);
  const auto tensor = make_tensor(std::span<const double>(values), {2, 3}, "control");
  ASSERT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tensor.status().message(), "control: has 5 values, shape [2, 3] wants 6");
}

TEST(Tensor, view_of_another_type_is_refused) {
  const std::vector<double> values(2);
  const auto tensor = make_tensor(std::span<const double>(values), {2}, "x");
  EXPECT_EQ(view<float>(*tensor).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Tensor, view_of_bytes_that_do_not_fit_the_shape_is_refused) {
  v1::Tensor tensor;
  tensor.set_dtype(v1::DTYPE_FLOAT32);
  tensor.add_shape(3);
  tensor.set_data(std::string(8, '\0'));
  EXPECT_EQ(view<float>(tensor).status().code(), absl::StatusCode::kInvalidArgument);
  tensor.set_shape(0, -2);
  EXPECT_EQ(view<float>(tensor).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Tensor, elements_of_every_type_read_as_double_and_never_past_the_end) {
  const std::vector<std::int64_t> values{-3, 5};
  const auto tensor = make_tensor(std::span<const std::int64_t>(values), {2}, "x");
  EXPECT_EQ(element_as_double(*tensor, 0), -3.0);
  EXPECT_EQ(element_as_double(*tensor, 1), 5.0);
  EXPECT_EQ(element_as_double(*tensor, 2), 0.0);
  EXPECT_EQ(element_as_double(*tensor, -1), 0.0);
}

}  // namespace
}  // namespace axion::client
