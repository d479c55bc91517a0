// What every importer does around its readers: how a scene starts, its last check, and faults as errors.
//
// Used inside engine/import only.
#pragma once

#include <functional>
#include <string_view>

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// The name that an attribute of the root gives, and what the settings say of the whole scene.
void start_spec(const XmlElement& root, std::string_view name_attribute, const MjcfSettings& settings,
                model::SceneSpec& spec);

// The element that an entry of a list of the scene came from ("bodies", "joints", "shapes"), or nullptr where there is
// no single one.
using ElementOf = std::function<const XmlElement*(std::string_view list, std::size_t index)>;

// The last gate: what the readers let through must be a scene that compiles. Throws ImportFailure, in the words of the
// element at fault.
void check_spec(const model::SceneSpec& spec, const ElementOf& element_of);

// What `read` returns, or the fault that it ended with.
Result<ImportedScene> without_failures(const std::function<Result<ImportedScene>()>& read);

}  // namespace axion::import
