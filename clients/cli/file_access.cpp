#include "clients/cli/file_access.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/local_errors.hpp"

namespace axion::cli {
namespace {

namespace fs = std::filesystem;

// Links and ".." followed as far as there is something.
fs::path real(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return found.has_filename() || found == found.root_path() ? found : found.parent_path();  // "a/" is "a"
}

bool holds(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

bool has_hidden_part(const fs::path& relative) {
  return std::any_of(relative.begin(), relative.end(), [](const fs::path& part) { return part.string()[0] == '.'; });
}

// What alone is sent from the rest of a document's package: shapes, which are no secrets, and never text.
bool is_shape(const fs::path& file) {
  static constexpr std::array kShapes{".stl", ".obj", ".msh", ".dae", ".png"};
  return std::any_of(kShapes.begin(), kShapes.end(),
                     [&](const char* kind) { return absl::EqualsIgnoreCase(file.extension().string(), kind); });
}

bool is_package(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "package.xml", error);
}

// The package or checkout that a folder is part of, never the home folder or one above it; empty if there is none. That
// is the outermost folder with a package.xml within the innermost checkout (a folder with .git), or the checkout;
// without either the folder above one in which packages of robots keep their documents.
fs::path package_root(const fs::path& folder) {
  static const std::set<std::string> kDocumentFolders{"mjcf", "robots", "sdf", "urdf", "xacro", "xml"};
  const char* variable = std::getenv("HOME");
  const fs::path home = variable == nullptr || *variable == '\0' ? fs::path() : real(variable);
  std::error_code error;
  fs::path root;
  for (fs::path place = folder; place != place.parent_path() && !holds(place, home); place = place.parent_path()) {
    const bool is_checkout = fs::exists(place / ".git", error);
    if (is_checkout || is_package(place)) {
      root = place;
    }
    if (is_checkout) {
      break;
    }
  }
  const fs::path parent = folder.parent_path();
  return root.empty() && kDocumentFolders.contains(folder.filename().string()) && !holds(parent, home) ? parent : root;
}

}  // namespace

FileAccess::FileAccess(const std::string& document, const std::vector<std::string>& folders,
                       const std::vector<fs::path>& packages) {
  std::error_code error;
  document_ = fs::absolute(document, error);
  own_ = {real(document_.parent_path()), real(document_).parent_path()};
  for (const std::string& folder : folders) {
    allowed_.push_back(real(folder));
  }
  for (const fs::path& folder : own_) {
    if (fs::path root = package_root(folder); !root.empty()) {
      packages_.push_back(std::move(root));
    }
  }
  for (const fs::path& package : packages) {
    packages_.push_back(real(package));
  }
}

bool FileAccess::may_send(const fs::path& file, const fs::path& package) const {
  const auto is_below = [&](const fs::path& folder) { return holds(folder, file); };
  const auto is_open_below = [&](const fs::path& folder) {
    return holds(folder, file) && !has_hidden_part(file.lexically_relative(folder));
  };
  return std::any_of(allowed_.begin(), allowed_.end(), is_below) ||
         std::any_of(own_.begin(), own_.end(), is_open_below) ||
         (is_shape(file) && (std::any_of(packages_.begin(), packages_.end(), is_open_below) ||
                             (!package.empty() && is_package(package) && is_open_below(real(package)))));
}

absl::StatusOr<std::optional<std::pair<fs::path, std::string>>> FileAccess::read(
    const std::string& attribute, const std::vector<Place>& places) const {
  std::error_code error;
  fs::path refused;
  for (const Place& place : places) {
    if (!fs::is_regular_file(place.path, error)) {
      continue;
    }
    const fs::path file = real(place.path);
    if (may_send(file, place.package)) {
      auto content = read_file(file.string());
      if (!content.ok()) {
        return content.status();
      }
      return std::make_pair(place.path, *std::move(content));
    }
    if (refused.empty()) {
      refused = file;
    }
  }
  if (refused.empty()) {
    return std::nullopt;
  }
  return file_error(absl::StrCat(attribute, " of ", document_.string(), " is ", refused.string(),
                                 ", which is not sent, being outside of the document's folder: --file_folders=",
                                 refused.parent_path().string(), " allows it"));
}

}  // namespace axion::cli
