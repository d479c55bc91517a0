// axion reset, axion contacts: worlds started again, and what they touch.
#include <cmath>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/flags.hpp"
#include "clients/cli/local_errors.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/target.hpp"
#include "clients/cpp/tensor.hpp"

namespace axion::cli {
namespace {

// --only as indices; empty: all worlds.
absl::StatusOr<std::vector<std::int32_t>> chosen_worlds() {
  std::vector<std::int32_t> worlds;
  for (const std::string& word : absl::GetFlag(FLAGS_only)) {
    std::int32_t world = 0;
    if (!absl::SimpleAtoi(word, &world)) {
      return usage_error(absl::StrCat("--only: '", word, "' is no index of a world"));
    }
    worlds.push_back(world);
  }
  return worlds;
}

std::string shape_name(const v1::Model& model, int shape) {
  const std::string& name = model.shapes(shape).name();
  return name.empty() ? absl::StrCat("shape ", shape) : name;
}

std::string body_name(const v1::Model& model, int body) {
  if (body < 0) {
    return "world";
  }
  const std::string& name = model.bodies(body).name();
  return name.empty() ? absl::StrCat("body ", body) : name;
}

// Everything of the answer by columns, and the names that its indices stand for.
nlohmann::json contacts_json(const v1::GetContactsResponse& contacts, const v1::Model& model) {
  nlohmann::json json = message_json(contacts);
  json["point"] = tensor_json(contacts.point());
  json["normal"] = tensor_json(contacts.normal());
  json["friction_impulse"] = tensor_json(contacts.friction_impulse());
  json["moment_impulse"] = tensor_json(contacts.moment_impulse());
  json["shape_a_name"] = json["shape_b_name"] = json["body_a_name"] = json["body_b_name"] = nlohmann::json::array();
  for (int i = 0; i < contacts.gap_size(); ++i) {
    json["shape_a_name"].push_back(shape_name(model, contacts.shape_a(i)));
    json["shape_b_name"].push_back(shape_name(model, contacts.shape_b(i)));
    json["body_a_name"].push_back(body_name(model, contacts.body_a(i)));
    json["body_b_name"].push_back(body_name(model, contacts.body_b(i)));
  }
  return json;
}

void print_contacts(const v1::GetContactsResponse& contacts, const v1::Model& model, double dt) {
  absl::PrintF("%5s  %-40s %-30s %11s %10s %12s\n", "world", "between", "point, m", "gap, m", "normal, N",
               "friction, N");
  int contact = 0;
  for (int w = 0; w < contacts.world_indices_size(); ++w) {
    for (const int end = contact + contacts.contact_count(w); contact < end; ++contact) {
      const auto part = [&](const v1::Tensor& tensor, int i) {
        return client::element_as_double(tensor, 3 * static_cast<std::int64_t>(contact) + i);
      };
      const v1::Tensor& friction = contacts.friction_impulse();
      const double force = std::hypot(part(friction, 0), part(friction, 1), part(friction, 2)) / dt;
      const std::string between = absl::StrCat(
          body_name(model, contacts.body_a(contact)), "/", shape_name(model, contacts.shape_a(contact)), " - ",
          body_name(model, contacts.body_b(contact)), "/", shape_name(model, contacts.shape_b(contact)));
      absl::PrintF("%5d  %-40s (%8.4f %8.4f %8.4f)  %11.3g %10.4g %12.4g\n", contacts.world_indices(w), between,
                   part(contacts.point(), 0), part(contacts.point(), 1), part(contacts.point(), 2),
                   contacts.gap(contact), contacts.normal_impulse(contact) / dt, force);
    }
  }
}

}  // namespace

absl::Status run_reset(const Invocation& invocation) {
  const auto worlds = chosen_worlds();
  if (!worlds.ok()) {
    return worlds.status();
  }
  const auto batch = named_batch(invocation, "reset");
  if (!batch.ok()) {
    return batch.status();
  }
  const std::string keyframe = absl::GetFlag(FLAGS_keyframe);
  if (const auto status = batch->reset(*worlds, keyframe); !status.ok()) {
    return status;
  }
  const auto count = worlds->empty() ? static_cast<std::size_t>(batch->world_count()) : worlds->size();
  if (invocation.json) {
    print_json({{"batch", batch->name()}, {"worlds_reset", count}, {"keyframe", keyframe}});
  } else {
    absl::PrintF("%s  %d worlds start at %s\n", batch->name(), count,
                 keyframe.empty() ? "the initial state" : "'" + keyframe + "'");
  }
  return absl::OkStatus();
}

absl::Status run_contacts(const Invocation& invocation) {
  const auto batch = named_batch(invocation, "contacts");
  if (!batch.ok()) {
    return batch.status();
  }
  const auto worlds = shown_worlds(*batch);
  if (!worlds.ok()) {
    return worlds.status();
  }
  const auto model = invocation.client.get_model(batch->info().model());
  if (!model.ok()) {
    return model.status();
  }
  const auto contacts = batch->contacts(*worlds);
  if (!contacts.ok()) {
    return contacts.status();
  }
  if (invocation.json) {
    print_json(contacts_json(*contacts, *model));
    return absl::OkStatus();
  }
  print_contacts(*contacts, *model, batch->dt());
  if (contacts->gap_size() == 0) {
    absl::PrintF("nothing touches; contacts are those of the last step\n");
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
