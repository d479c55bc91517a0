// What is said of an array where it is declared stands in the table of declarations, and its accessor keeps within it.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/array_view.hpp"
#include "engine/model/array_list.hpp"

namespace axion::testing::array_list_test {
namespace {

using namespace model;

constexpr Length kTwiceTheShapes{[](const auto& m) { return 2 * m.shape_count; }};

template <typename Real, typename Form = Placed>
struct SomeArrays {
  template <typename T>
  using Array = typename Form::template Array<T, FieldKind::kSweeps>;

  Array<Real> plain{"plain", kBodies};
  Array<int> padded{"padded", 8 * (kBodies + 1), Heat{3, 14}};
  Array<math::Vec3<Real>> few{"few", 5, Heat{1}};
  Array<Real> own{"own", 3 * kTwiceTheShapes + 1};
};

TEST(ArrayList, is_a_table_of_what_is_said_of_each_array) {
  ModelView<float> m{};
  m.body_count = 7, m.shape_count = 2;
  std::string said;
  for (const ArrayDeclaration<float>& array : declarations<SomeArrays, float>()) {
    EXPECT_EQ(array.kind, FieldKind::kSweeps);
    EXPECT_EQ(array.bytes(m), array.length(m) * array.element_bytes);
    said += std::string(array.name) + " " + std::to_string(array.length(m)) + " of " +
            std::to_string(array.element_bytes) + " at " + std::to_string(array.heat.thousandths) + "; ";
  }
  EXPECT_EQ(said, "plain 7 of 4 at 0; padded 64 of 4 at 14; few 5 of 12 at 0; own 13 of 4 at 0; ");
  const auto arrays = declarations<SomeArrays, double>();
  EXPECT_TRUE(arrays[0].holds<double>() && arrays[1].holds<int>() && arrays[2].holds<math::Vec3<double>>());
  EXPECT_FALSE(arrays[0].holds<float>() || arrays[1].holds<std::uint32_t>() || arrays[2].holds<double>());
  EXPECT_GT(arrays[0].heat.rank, arrays[1].heat.rank) << "what has no rank comes last";
}

TEST(ArrayList, has_the_slots_of_the_arrays_in_the_order_of_their_declarations) {
  SomeArrays<double> arrays;
  EXPECT_EQ(arrays.few.first(), nullptr);
  std::vector<double> numbers(6, 0.5);
  ASSERT_EQ(slots(arrays).size(), 4u);
  slots(arrays)[3].place(numbers.data(), numbers.size());
  EXPECT_EQ(&arrays.own[2], &numbers[2]);
}

// Through a constant view elements are read alone, and an array of constants cannot be written.
static_assert(std::is_same_v<decltype(std::declval<const ArrayView<int>&>()[0]), const int&>);
static_assert(std::is_same_v<decltype(std::declval<ArrayView<int>&>()[0]), int&>);
static_assert(std::is_convertible_v<Array<int>, Array<const int>>);
static_assert(!std::is_convertible_v<Array<const int>, Array<int>>);

#ifdef NDEBUG
static_assert(sizeof(Array<double>) == sizeof(double*));
#else
TEST(ArrayDeathTest, an_index_beyond_its_length_is_our_own_bug) {
  std::vector<int> numbers(4);
  const Array<int> array(numbers.data(), numbers.size());
  array[3] = 1;
  EXPECT_DEATH(array[4] = 1, "check");
  EXPECT_DEATH(array[-1] = 1, "check");
  const Array<int> unknown(numbers.data());
  EXPECT_EQ(unknown[3], 1);
}
#endif

}  // namespace
}  // namespace axion::testing::array_list_test
