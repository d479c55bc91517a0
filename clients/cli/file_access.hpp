// Which files of this machine a scene file may name: a document that came from elsewhere must not choose what is sent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace axion::cli {

// Where a file may be, and the package that it is looked for in, or none.
struct Place {
  std::filesystem::path path;
  std::filesystem::path package{};
};

// The files that one document may have sent along, by where they are once links and ".." are followed: files below its
// folder, but none below a folder whose name begins with a dot; meshes and PNG files of the package or checkout that it
// is part of; and all below the folders that the caller allows. clients/python/axion/file_access.py has the same rule.
class FileAccess {
 public:
  // `folders` are what the caller allows, `packages` folders whose meshes may be sent.
  FileAccess(const std::string& document, const std::vector<std::string>& folders,
             const std::vector<std::filesystem::path>& packages = {});

  // The first of the places where a file is that may be sent, with its content; nothing if there is no file. An error
  // if there are files, but none that may be sent; `attribute` is what of the document names it.
  absl::StatusOr<std::optional<std::pair<std::filesystem::path, std::string>>> read(
      const std::string& attribute, const std::vector<Place>& places) const;

 private:
  bool may_send(const std::filesystem::path& file, const std::filesystem::path& package) const;

  std::filesystem::path document_;
  std::vector<std::filesystem::path> own_, allowed_, packages_;
};

}  // namespace axion::cli
