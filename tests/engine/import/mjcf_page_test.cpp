// docs/mjcf.md says what the importer's schema says.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/import/mjcf_schema.hpp"
#include "tests/engine/import/mjcf_page.hpp"

namespace axion::import::mjcf_page_test {
namespace {

TEST(MjcfPage, is_what_the_schema_makes_of_it) {
  std::ifstream file(std::string(AXION_SOURCE_DIR) + "/docs/mjcf.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, mjcf_page()) << "make it anew: axion-mjcf-page > docs/mjcf.md";
}

TEST(MjcfPage, notes_are_of_attributes_that_are_read) {
  for (const PageNote& note : page_notes()) {
    const auto rows = schema_rows();
    const bool is_read = std::any_of(rows.begin(), rows.end(), [&](const SchemaRow& row) {
      const std::string list = " " + std::string(row.read) + " ";
      return row.tag == note.tag && list.find(" " + std::string(note.attribute) + " ") != std::string::npos;
    });
    EXPECT_TRUE(is_read) << note.tag << "." << note.attribute;
  }
}

}  // namespace
}  // namespace axion::import::mjcf_page_test
