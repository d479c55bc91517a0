#include "engine/import/import_frame.hpp"

#include <charconv>
#include <new>
#include <string>

#include "engine/import/mass_limits.hpp"
#include "engine/model/merge_welds.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

void start_spec(const XmlElement& root, std::string_view name_attribute, const MjcfSettings& settings,
                model::SceneSpec& spec) {
  const XmlAttribute* name = root.find(name_attribute);
  spec.name = name == nullptr ? "" : name->value;
  spec.gravity = model::to_spec(settings.gravity);
  spec.medium = settings.medium;
  spec.timestep = settings.timestep;
  spec.softness_rule = settings.softness_rule;
  spec.filter_parent_child = settings.filter_parent;
}

void check_spec(const model::SceneSpec& spec, const ElementOf& element_of) {
  const Result<model::WeldedScene> welded = model::merge_welds(spec);
  if (welded.ok()) return;
  const Error& error = welded.error();
  const std::size_t open = error.field.find('[');  // a path like "bodies[3].mass"
  if (open == std::string::npos) throw ImportFailure{error};
  std::size_t index = 0;
  std::from_chars(error.field.data() + open + 1, error.field.data() + error.field.size(), index);
  const XmlElement* element = element_of(std::string_view(error.field).substr(0, open), index);
  if (element == nullptr) throw ImportFailure{error};
  const bool is_of_mass = error.field.ends_with(".mass") || error.field.ends_with(".I_Bcm");
  throw ImportFailure{{error.code, element->tag,
                       describe(*element) + ": " + error.message + (is_of_mass ? odd_numbers(*element) : "")}};
}

Result<ImportedScene> without_failures(const std::function<Result<ImportedScene>()>& read) {
  try {
    return read();
  } catch (const ImportFailure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kResourceExhausted, "xml", "There is not enough memory to read the document."};
  }
}

}  // namespace axion::import
