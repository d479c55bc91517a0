#include "clients/cli/solver_choices.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/flags.hpp"
#include "clients/cli/target.hpp"

namespace axion::cli {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

absl::Status no_choice(const std::string& name, const std::string& word, const std::string& choices) {
  return usage_error(absl::StrCat("option ", name, "=", word, " is none of ", choices));
}

// The names of an enum are its own in capitals, then the choice: SOLVER_PRESET_DEFAULT. The first is UNSPECIFIED.
std::string choice_of(const EnumDescriptor& choices, int index) {
  const std::string first = choices.value(0)->name();
  const std::string prefix(absl::StripSuffix(first, "UNSPECIFIED"));
  return absl::AsciiStrToLower(absl::StripPrefix(choices.value(index)->name(), prefix));
}

absl::Status set_choice(const FieldDescriptor& field, const std::string& word, v1::SolverOptions& options) {
  const EnumDescriptor& choices = *field.enum_type();
  std::vector<std::string> names;
  for (int i = 1; i < choices.value_count(); ++i) {
    names.push_back(choice_of(choices, i));
    if (names.back() != absl::AsciiStrToLower(word)) {
      continue;
    }
    options.GetReflection()->SetEnum(&options, &field, choices.value(i));
    return absl::OkStatus();
  }
  return no_choice(field.name(), word, absl::StrJoin(names, ", "));
}

}  // namespace

absl::Status set_solver_option(const std::string& name, const std::string& word, v1::SolverOptions& options) {
  const FieldDescriptor* field = v1::SolverOptions::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    const auto* options_type = v1::SolverOptions::descriptor();
    std::vector<std::string> names;
    names.reserve(options_type->field_count());
    for (int i = 0; i < options_type->field_count(); ++i) {
      names.push_back(options_type->field(i)->name());
    }
    return usage_error(absl::StrCat("there is no option '", name, "'; there are ", absl::StrJoin(names, ", ")));
  }
  const auto* reflection = options.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return set_choice(*field, word, options);
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      if (!absl::SimpleAtob(word, &value)) {
        return no_choice(name, word, "true, false");
      }
      reflection->SetBool(&options, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      std::int32_t value = 0;
      if (!absl::SimpleAtoi(word, &value)) {
        return no_choice(name, word, "the whole numbers");
      }
      reflection->SetInt32(&options, field, value);
      return absl::OkStatus();
    }
    default: {
      double value = 0;
      if (!absl::SimpleAtod(word, &value)) {
        return no_choice(name, word, "the numbers");
      }
      reflection->SetDouble(&options, field, value);
      return absl::OkStatus();
    }
  }
}

absl::Status set_solver_options_of_flags(v1::SolverOptions& options) {
  std::vector<std::pair<std::string, std::string>> choices;
  if (const std::string preset = absl::GetFlag(FLAGS_preset); !preset.empty()) {
    choices.emplace_back("preset", preset);
  }
  if (const std::string precision = absl::GetFlag(FLAGS_precision); !precision.empty()) {
    choices.emplace_back("precision", precision);
  }
  if (const double tolerance = absl::GetFlag(FLAGS_tolerance); tolerance != 0) {
    options.set_tolerance(tolerance);
  }
  for (const std::string& option : absl::GetFlag(FLAGS_options)) {
    choices.push_back(absl::StrSplit(option, absl::MaxSplits('=', 1)));
  }
  for (const auto& [name, word] : choices) {
    if (const absl::Status status = set_solver_option(name, word, options); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
