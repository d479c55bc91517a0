// Attributes of an MJCF element with its defaults, and how faults in them are reported.
//
// An element's layers are the defaults of its class, from the outermost class inwards, and then the element itself; as
// in MuJoCo a later layer overwrites only the numbers that it gives (size="1 2" then size="3" is "3 2"). Used inside
// engine/import only. Readers throw ImportFailure, which import_mjcf turns into an Error; nothing else does.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/math/vec3.hpp"

namespace axion::import {

struct ImportFailure {
  Error error;
};

// The attribute may be empty when the element itself is at fault. `what` continues the sentence.
[[noreturn]] void refuse(const XmlElement& element, std::string_view attribute, const std::string& what);

// Warnings, one for each kind: repeated ones are counted and show the line of the first.
class Notes {
 public:
  explicit Notes(bool allow_unsupported) : allow_unsupported_(allow_unsupported) {}

  void warn(const XmlElement& element, std::string_view attribute, const std::string& what);
  // A warning if unsupported things are allowed, else a refusal.
  void unsupported(const XmlElement& element, std::string_view attribute, const std::string& what);
  // The same of what the format does not have.
  void unknown(const XmlElement& element, std::string_view attribute, const std::string& what);
  std::vector<std::string> take() const;

 private:
  struct Note {
    std::string first;  // the element, its line and the attribute
    std::string what;
    int count = 0;
  };
  bool allow_unsupported_;
  std::vector<Note> notes_;
  std::map<std::string, std::size_t> index_;
};

// Numbers separated by white space; refuses anything else, and what is not finite.
std::vector<double> parse_numbers(const XmlElement& element, const XmlAttribute& attribute);

class Attributes {
 public:
  explicit Attributes(std::vector<const XmlElement*> layers) : layers_(std::move(layers)) {}
  explicit Attributes(const XmlElement& element) : layers_{&element} {}

  const XmlElement& element() const { return *layers_.back(); }
  std::span<const XmlElement* const> layers() const { return layers_; }
  bool has(std::string_view name) const { return source(name) != nullptr; }

  // Overwrites the leading values with those given; false if the attribute is nowhere given.
  bool numbers(std::string_view name, std::span<double> values, std::size_t at_least) const;
  double number(std::string_view name, double otherwise) const;
  // As number(), refused if negative.
  double not_negative(std::string_view name, double otherwise) const;
  // The same where more than the greatest number of a scene would not move otherwise: it is taken as that, with a
  // warning.
  double bounded(std::string_view name, Notes& notes) const;
  // The same of the first coefficient of a polynomial, whose others, of which there may be two, must be 0.
  double linear(std::string_view name, Notes& notes) const;
  // Three numbers as a direction of length one; refused if their length is next to zero or huge.
  math::Vec3<double> direction(std::string_view name, const math::Vec3<double>& otherwise) const;
  math::Vec3<double> vec3(std::string_view name, const math::Vec3<double>& otherwise) const;
  int integer(std::string_view name, int otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  // Index of the value in `words`.
  int keyword(std::string_view name, std::initializer_list<std::string_view> words, int otherwise) const;
  bool boolean(std::string_view name, bool otherwise) const { return keyword(name, {"false", "true"}, otherwise) == 1; }

  // The element in which the attribute is given last, for messages; the element itself if it is nowhere given.
  const XmlElement& where(std::string_view name) const;
  [[noreturn]] void refuse(std::string_view name, const std::string& what) const;

 private:
  const XmlAttribute* source(std::string_view name) const;
  double bounded(std::string_view name, double value, Notes& notes) const;
  std::vector<const XmlElement*> layers_;
};

}  // namespace axion::import
