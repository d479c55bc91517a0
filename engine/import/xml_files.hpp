// Files that a document may name, by name: bytes, never paths.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace axion::import {

class XmlFiles : public std::map<std::string, std::string, std::less<>> {
 public:
  using map::map;

  // Names of files that are not at hand and could be had.
  std::set<std::string, std::less<>> elsewhere = {};
  // Of these, what look_up was asked for: what the document needs. One import at a time may use the files then.
  mutable std::set<std::string> wanted = {};

  // The name under which there is a file, at hand or elsewhere; "" if there is none.
  std::string_view known(std::string_view name) const {
    const auto found = find(name);
    if (found != end()) return found->first;
    const auto other = elsewhere.find(name);
    return other == elsewhere.end() ? std::string_view() : std::string_view(*other);
  }

  // The file of that name; end() where there is none, or it is elsewhere.
  const_iterator look_up(std::string_view name) const {
    const auto found = find(name);
    if (found == end() && elsewhere.contains(name)) wanted.emplace(name);
    return found;
  }
};

}  // namespace axion::import
