// docs/mjcf.md, made of engine/import/mjcf_schema.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace axion::import {

// What of an attribute that is read depends on its value.
struct PageNote {
  std::string_view tag;  // of the element, in whatever it is
  std::string_view attribute;
  std::string_view what;  // after "`attribute`: "
};

std::span<const PageNote> page_notes();
std::string mjcf_page();

}  // namespace axion::import
