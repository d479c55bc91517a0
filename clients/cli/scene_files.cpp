#include "clients/cli/scene_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/file_access.hpp"

namespace axion::cli {
namespace {

namespace fs = std::filesystem;

std::string without_comments(std::string_view text) {
  std::string document;
  while (true) {
    const std::size_t begin = text.find("<!--");
    document.append(text.substr(0, begin));
    if (begin == std::string_view::npos) {
      return document;
    }
    const std::size_t end = text.find("-->", begin);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
  }
}

std::string_view skip_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// The value of an attribute in a tag, without its quotes; empty if there is none.
std::string attribute_of(std::string_view tag, std::string_view name) {
  for (std::size_t at = tag.find(name); at != std::string_view::npos; at = tag.find(name, at + 1)) {
    std::string_view rest = skip_space(tag.substr(at + name.size()));
    if (!rest.starts_with('=') || !skip_space(tag.substr(at - 1, 1)).empty()) {
      continue;
    }
    rest = skip_space(rest.substr(1));
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) {
      return {};
    }
    return std::string(rest.substr(1, rest.find(rest[0], 1) - 1));
  }
  return {};
}

// Files of the meshes in <collision>. Only as much of XML is understood as that needs.
std::vector<std::string> collision_meshes(std::string_view text) {
  const std::string kept = without_comments(text);
  const std::string_view document = kept;
  std::vector<std::string> names;
  for (std::size_t begin = document.find("<collision"); begin != document.npos;
       begin = document.find("<collision", begin)) {
    const std::size_t end = std::min(document.find("</collision", begin), document.size());
    const std::string_view part = document.substr(begin, end - begin);
    for (std::size_t at = part.find("<mesh"); at != part.npos; at = part.find("<mesh", at + 1)) {
      names.push_back(attribute_of(part.substr(at, part.find('>', at) - at), "filename"));
    }
    begin = end;
  }
  return names;
}

// What a start tag of a document refers to.
enum class Refers { kInclude, kModel, kAsset, kDirectory };  // the last: the folder of meshes
struct Reference {
  Refers kind;
  std::string name, tag;
};

// In the order of the document, without comments.
std::vector<Reference> references_of(std::string_view text) {
  const std::string kept = without_comments(text);
  const std::string_view document = kept;
  std::vector<Reference> found;
  for (std::size_t at = document.find('<'); at != document.npos; at = document.find('<', at + 1)) {
    const std::string_view tag = document.substr(at + 1, document.find('>', at) - at - 1);
    const std::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n/"));
    const std::string file = attribute_of(tag, "file");
    if (name == "compiler") {
      const std::string own = attribute_of(tag, "meshdir"), general = attribute_of(tag, "assetdir");
      if (!own.empty() || !general.empty()) {
        found.push_back({Refers::kDirectory, own.empty() ? general : own, "compiler"});
      }
    }
    if (file.empty()) {
      continue;
    }
    const bool is_mesh = absl::EndsWithIgnoreCase(file, ".stl") || absl::EndsWithIgnoreCase(file, ".obj") ||
                         absl::EndsWithIgnoreCase(file, ".msh");
    if (name == "include") {
      found.push_back({Refers::kInclude, file, std::string(name)});
    } else if (name == "model") {
      found.push_back({Refers::kModel, file, std::string(name)});
    } else if (name == "hfield" || (name == "mesh" && is_mesh)) {
      found.push_back({Refers::kAsset, file, std::string(name)});
    }
  }
  return found;
}

// Of one model: a document and what it includes, which is in the folder `prefix` of `folder`.
class ModelFiles {
 public:
  ModelFiles(const fs::path& folder, const fs::path& prefix, const FileAccess& access,
             std::map<std::string, std::string>& files)
      : prefix_(prefix), root_(folder / prefix), access_(access), files_(files) {}

  // Adds what it refers to. Returns the names of the models that it attaches.
  absl::StatusOr<std::vector<std::string>> add(const std::string& text) {
    auto status = visit(root_, text, false);
    for (const Asset& asset : assets_) {
      const fs::path name = fs::path(directory_) / asset.name;
      std::vector<Place> places{{root_ / name}, {asset.here / name}};
      // Beside an included document, as MuJoCo looks; a model's own document has but its mesh directory.
      if (asset.is_included) {
        places.push_back({asset.here / asset.name});
      }
      status.Update(add_file(asset.tag, asset.name, name, places));
    }
    for (std::string& model : models_) {
      status.Update(add_file("model", model, model, {{root_ / model}}));
      model = (prefix_ / model).string();
    }
    return status.ok() ? absl::StatusOr<std::vector<std::string>>(models_) : status;
  }

 private:
  struct Asset {
    std::string name, tag;
    fs::path here;     // the folder of the document that names it
    bool is_included;  // that document
  };

  static std::string attribute(const std::string& tag, const std::string& name) {
    return absl::StrCat("<", tag, " file=\"", name, "\">");
  }

  // What an include refers to comes in its place, so that the last compiler of all of it has its say.
  absl::Status visit(const fs::path& here, const std::string& document, bool is_included) {
    for (const auto& [kind, name, tag] : references_of(document)) {
      if (kind == Refers::kDirectory) {
        directory_ = name;
      } else if (kind == Refers::kAsset) {
        assets_.push_back({name, tag, here, is_included});
      } else if (kind == Refers::kModel) {
        models_.push_back(name);
      }
      if (kind != Refers::kInclude || !done_.insert(name).second) {
        continue;
      }
      const auto found = access_.read(attribute(tag, name), {{root_ / name}, {here / name}});
      if (!found.ok()) {
        return found.status();
      }
      if (found->has_value()) {
        files_[(prefix_ / name).string()] = (*found)->second;
        if (auto status = visit((*found)->first.parent_path(), (*found)->second, true); !status.ok()) {
          return status;
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status add_file(const std::string& tag, const std::string& named, const fs::path& name,
                        const std::vector<Place>& places) {
    auto found = access_.read(attribute(tag, named), places);
    if (found.ok() && found->has_value()) {
      files_[(prefix_ / name).string()] = std::move((*found)->second);
    }
    return found.status();
  }

  const fs::path prefix_, root_;
  const FileAccess& access_;
  std::map<std::string, std::string>& files_;
  std::set<std::string> done_;
  std::string directory_;
  std::vector<Asset> assets_;
  std::vector<std::string> models_;
};

// Where ROS_PACKAGE_PATH says that packages are.
std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  if (const char* packages = std::getenv("ROS_PACKAGE_PATH"); packages != nullptr) {
    for (const auto folder : absl::StrSplit(packages, ':', absl::SkipEmpty())) {
      folders.push_back(fs::path(std::string(folder)).lexically_normal());
    }
  }
  return folders;
}

std::vector<Place> places_of(const std::string& name, const fs::path& folder) {
  std::vector<Place> places;
  const std::size_t scheme = name.find("://");
  if (scheme == std::string::npos || absl::StartsWith(name, "file://")) {
    const fs::path path = scheme == std::string::npos ? name : name.substr(scheme + 3);
    places.push_back({folder / path});
    // From a folder on that the document is in, as names relative to a root of assets have it.
    for (fs::path root = folder; path.is_relative() && root != root.parent_path();) {
      root = root.parent_path();
      places.push_back({root / path});
    }
    return places;
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(name.substr(scheme + 3), absl::MaxSplits('/', 1));
  const auto look_in = [&](const fs::path& root) {
    places.push_back({root / parts.first / parts.second, root / parts.first});
    if (root.filename() == parts.first) {
      places.push_back({root / parts.second, root});
    }
  };
  for (const fs::path& root : package_folders()) {
    look_in(root);
  }
  for (fs::path root = folder;; root = root.parent_path()) {
    look_in(root);
    if (root == root.parent_path()) {
      break;
    }
  }
  places.push_back({folder / parts.second});
  places.push_back({folder.parent_path() / parts.second});
  places.push_back({folder / name.substr(scheme + 3)});  // package://FILE
  return places;
}

// Bytes of the character of UTF-8 that the text begins with; 0 where it begins with none.
std::size_t first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (length == 0 || byte(0) > 0xF4 || length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  // Neither overlong, nor a surrogate, nor beyond U+10FFFF: by the second byte.
  const bool low = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool high = (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return length > 1 && (low || high) ? 0 : length;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = first_character(text);
    clean.append(length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

bool is_urdf(const std::string& path, const std::string& text) {
  if (absl::EndsWithIgnoreCase(path, ".urdf")) {
    return true;
  }
  // The first tag that is neither a declaration nor a comment.
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string::npos) {
    const bool comment = text.compare(at, 4, "<!--") == 0;
    if (!comment && text.compare(at, 2, "<?") != 0) {
      break;
    }
    at = text.find(comment ? "-->" : "?>", at);
  }
  return at != std::string::npos && text.compare(at, 6, "<robot") == 0;
}

absl::StatusOr<std::map<std::string, std::string>> files_of_mjcf(const std::string& path, const std::string& text,
                                                                 const std::vector<std::string>& file_folders) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  const FileAccess access(path, file_folders);
  std::map<std::string, std::string> files;
  std::vector<std::pair<fs::path, std::string>> models{{fs::path(), text}};  // the folder of each, and its text
  std::set<std::string> done;
  while (!models.empty()) {
    const auto [prefix, document] = std::move(models.back());
    models.pop_back();
    const auto attached = ModelFiles(folder, prefix, access, files).add(document);
    if (!attached.ok()) {
      return attached.status();
    }
    for (const std::string& model : *attached) {
      if (done.insert(model).second && files.contains(model)) {
        models.emplace_back(fs::path(model).parent_path(), files[model]);
      }
    }
  }
  return files;
}

absl::StatusOr<std::map<std::string, std::string>> meshes_of_urdf(const std::string& path, const std::string& text,
                                                                  const std::vector<std::string>& file_folders) {
  std::map<std::string, std::string> meshes;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  const FileAccess access(path, file_folders, package_folders());
  for (const std::string& name : collision_meshes(text)) {
    if (name.empty() || meshes.contains(name)) {
      continue;
    }
    auto found = access.read(absl::StrCat("<mesh filename=\"", name, "\">"), places_of(name, folder));
    if (!found.ok()) {
      return found.status();
    }
    if (found->has_value()) {
      meshes[name] = std::move((*found)->second);
    }
  }
  return meshes;
}

}  // namespace axion::cli
