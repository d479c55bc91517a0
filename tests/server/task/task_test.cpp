// What tasks are made of: numbers that are the same everywhere, and the elementary functions behind them.
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "server/task/episodes.hpp"
#include "server/task/patterns.hpp"
#include "server/task/random.hpp"

namespace axion::server::task {
namespace {

TEST(Task, elementary_functions_are_right_to_the_last_places) {
  double worst_exp = 0, worst_log = 0;
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i * 0.00997;
    worst_exp = std::max(worst_exp, std::abs(exponential(x) / std::exp(x) - 1));
    const double y = std::exp(x / 7);
    const double want = std::log(y);
    worst_log = std::max(worst_log, std::abs(logarithm(y) - want) / std::max(std::abs(want), 1e-3));
  }
  EXPECT_LT(worst_exp, 6e-16);
  EXPECT_LT(worst_log, 6e-16);
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1e300), 0);
  EXPECT_EQ(logarithm(1), 0);
  EXPECT_TRUE(std::isnan(exponential(NAN)));
}

TEST(Task, numbers_have_their_distributions_and_no_stream_has_those_of_another) {
  constexpr int kCount = 40000;
  const Random random(7, 3, Stream::kStart), other(7, 3, Stream::kNoise), later(7, 4, Stream::kStart);
  double sum = 0, squares = 0, beyond = 0, mixed = 0, next = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = random.normal(i);
    sum += x, squares += x * x, beyond += std::abs(x) > 2 ? 1 : 0;
    mixed += (random.unit(i) - 0.5) * (other.unit(i) - 0.5), next += (random.unit(i) - 0.5) * (later.unit(i) - 0.5);
    ASSERT_GE(random.uniform(i, -2, 3), -2);
    ASSERT_LT(random.uniform(i, -2, 3), 3);
  }
  // Five standard deviations of each mean.
  EXPECT_LT(std::abs(sum / kCount), 5 / std::sqrt(kCount));
  EXPECT_LT(std::abs(squares / kCount - 1), 5 * std::sqrt(2.0 / kCount));
  EXPECT_LT(std::abs(beyond / kCount - 0.0455), 5 * std::sqrt(0.0455 / kCount));
  EXPECT_LT(std::abs(mixed / kCount), 5.0 / 12 / std::sqrt(kCount));
  EXPECT_LT(std::abs(next / kCount), 5.0 / 12 / std::sqrt(kCount));
}

TEST(Task, patterns_match_whole_names) {
  struct Case {
    const char *pattern, *name;
    bool matches;
  };
  for (const Case& c :
       {Case{"*", "", true}, Case{"*", "a", true}, Case{"*_foot", "fl_foot", true}, Case{"*_foot", "fl_foot2", false},
        Case{".*_foot", "fl_foot", true}, Case{"?l_*", "fl_hip", true}, Case{"?l_*", "fr_hip", false},
        Case{"fl_*|fr_*", "fr_hip", true}, Case{"a*b*c", "aXbYbZc", true}, Case{"a*b*c", "aXbYbZ", false},
        Case{"", "", true}, Case{"", "a", false}, Case{"a|", "", true}, Case{"foot", "Foot", false},
        Case{"a.b", "a.b", true}, Case{"a.b", "axb", false}, Case{"a?", "a", false}, Case{"**", "abc", true}}) {
    EXPECT_EQ(matches_pattern(c.pattern, c.name), c.matches) << c.pattern << " " << c.name;
  }
}

TEST(Task, names_come_as_given_and_matches_in_the_order_of_the_model) {
  const std::vector<std::string> known{"trunk", "fl_foot", "fr_foot", "a*"};
  NameFinder finder;
  EXPECT_EQ(finder.find("bodies", "body", {"fr_foot", "*_foot", "trunk"}, known).value(), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(finder.find("bodies", "body", {"a*"}, known).value(), std::vector<int>{3});  // a name before a pattern
  EXPECT_EQ(finder.find("bodies", "body", {"trunk", "trunk"}, known).error().field, "bodies[1]");
  EXPECT_EQ(finder.find("bodies", "body", {"*x*"}, known).error().field, "bodies[0]");
  EXPECT_EQ(finder.find("bodies", "body", {""}, known).error().field, "bodies[0]");
  EXPECT_EQ(finder.find("bodies", "body", {std::string(300, '*')}, known).error().field, "bodies[0]");
  // What a hostile task would have compared for hours is refused.
  const std::vector<std::string> many(20000, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), stars(100, "*a*a*a*a*a*a*a*ab");
  EXPECT_FALSE(finder.find("bodies", "body", stars, many).ok());
}

TEST(Task, numbers_are_the_same_for_ever) {
  // Episodes that people have published depend on them.
  const Random random(42, 5, Stream::kCommand);
  EXPECT_EQ(random.unit(0), 0x1.c101f692990e0p-3);
  EXPECT_NEAR(random.normal(9), 0x1.1b1a94536f12ep-1, 1e-14);
}

}  // namespace
}  // namespace axion::server::task
