#include "engine/import/mjcf_attributes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

constexpr std::size_t kShownBytes = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string shown(std::string_view text) {
  return text.size() <= kShownBytes ? std::string(text) : std::string(text.substr(0, kShownBytes)) + "...";
}

std::string subject(const XmlElement& element, std::string_view attribute) {
  std::string text = describe(element);
  if (attribute.empty()) return text;
  const XmlAttribute* given = element.find(attribute);
  text += ": " + shown(attribute);
  if (given != nullptr) text += "=\"" + shown(given->value) + "\"";
  return text;
}

double parse_number(const XmlElement& element, const XmlAttribute& attribute, std::string_view word) {
  std::string_view digits = word;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    refuse(element, attribute.name, "has \"" + shown(word) + "\", which is out of the range of numbers");
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse(element, attribute.name, "has \"" + shown(word) + "\", which is not a number");
  }
  if (!std::isfinite(value)) {
    refuse(element, attribute.name, "has \"" + shown(word) + "\", which is not finite");
  }
  return value;
}

}  // namespace

void refuse(const XmlElement& element, std::string_view attribute, const std::string& what) {
  std::string field = shown(element.tag);
  if (!attribute.empty()) field += "." + shown(attribute);
  throw ImportFailure{invalid_argument(field, subject(element, attribute) + " " + what + ".")};
}

void Notes::warn(const XmlElement& element, std::string_view attribute, const std::string& what) {
  const std::string key = element.tag + "." + std::string(attribute) + ": " + what;
  const auto [found, is_new] = index_.emplace(key, notes_.size());
  if (is_new) notes_.push_back({subject(element, attribute), what, 0});
  ++notes_[found->second].count;
}

void Notes::unsupported(const XmlElement& element, std::string_view attribute, const std::string& what) {
  if (!allow_unsupported_) refuse(element, attribute, "is not supported: " + what);
  warn(element, attribute, "is not supported and was left out: " + what);
}

void Notes::unknown(const XmlElement& element, std::string_view attribute, const std::string& what) {
  if (!allow_unsupported_) refuse(element, attribute, what);
  warn(element, attribute, what + " and was left out");
}

std::vector<std::string> Notes::take() const {
  std::vector<std::string> texts;
  for (const Note& note : notes_) {
    std::string text = note.first + " " + note.what;
    if (note.count > 1) text += "; " + std::to_string(note.count - 1) + " more like it";
    texts.push_back(text + ".");
  }
  return texts;
}

std::vector<double> parse_numbers(const XmlElement& element, const XmlAttribute& attribute) {
  std::vector<double> numbers;
  const std::string_view text = attribute.value;
  for (std::size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !is_space(text[end])) ++end;
    numbers.push_back(parse_number(element, attribute, text.substr(i, end - i)));
    i = end;
  }
  return numbers;
}

const XmlAttribute* Attributes::source(std::string_view name) const {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (const XmlAttribute* attribute = layers_[i]->find(name)) return attribute;
  }
  return nullptr;
}

const XmlElement& Attributes::where(std::string_view name) const {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (layers_[i]->find(name) != nullptr) return *layers_[i];
  }
  return element();
}

void Attributes::refuse(std::string_view name, const std::string& what) const {
  axion::import::refuse(where(name), name, what);
}

bool Attributes::numbers(std::string_view name, std::span<double> values, std::size_t at_least) const {
  bool given = false;
  for (const XmlElement* layer : layers_) {
    const XmlAttribute* attribute = layer->find(name);
    if (attribute == nullptr) continue;
    const std::vector<double> read = parse_numbers(*layer, *attribute);
    if (read.size() < at_least || read.size() > values.size()) {
      std::string wanted = std::to_string(values.size());
      if (at_least < values.size()) wanted.insert(0, std::to_string(at_least) + " to ");
      axion::import::refuse(*layer, name, "has " + std::to_string(read.size()) + " numbers; it must have " + wanted);
    }
    std::copy(read.begin(), read.end(), values.begin());
    given = true;
  }
  return given;
}

double Attributes::number(std::string_view name, double otherwise) const {
  numbers(name, {&otherwise, 1}, 1);
  return otherwise;
}

double Attributes::not_negative(std::string_view name, double otherwise) const {
  const double value = number(name, otherwise);
  if (value < 0) refuse(name, "must not be negative");
  return value;
}

double Attributes::bounded(std::string_view name, Notes& notes) const {
  return bounded(name, not_negative(name, 0), notes);
}

double Attributes::linear(std::string_view name, Notes& notes) const {
  double law[3] = {0, 0, 0};
  numbers(name, law, 1);
  if (law[0] < 0) refuse(name, "must not be negative");
  if (law[1] != 0 || law[2] != 0) notes.unsupported(where(name), name, "springs and dampers are linear");
  return bounded(name, law[0], notes);
}

double Attributes::bounded(std::string_view name, double value, Notes& notes) const {
  if (value <= model::kMaxMagnitude) return value;
  notes.warn(where(name), name, "is taken as 1e9, the greatest that a scene has");
  return model::kMaxMagnitude;
}

math::Vec3<double> Attributes::direction(std::string_view name, const math::Vec3<double>& otherwise) const {
  const math::Vec3<double> given = vec3(name, otherwise);
  const double length = math::norm(given);
  if (!(length > 1e-6 && length < 1e100)) refuse(name, "must have a length that is neither zero nor huge");
  return (1 / length) * given;
}

math::Vec3<double> Attributes::vec3(std::string_view name, const math::Vec3<double>& otherwise) const {
  double v[3] = {otherwise.x, otherwise.y, otherwise.z};
  numbers(name, v, 3);
  return {v[0], v[1], v[2]};
}

int Attributes::integer(std::string_view name, int otherwise) const {
  double value = otherwise;
  if (!numbers(name, {&value, 1}, 1)) return otherwise;
  if (value != std::floor(value) || std::abs(value) > 2147483647.0) refuse(name, "must be an integer of 32 bits");
  return static_cast<int>(value);
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  const XmlAttribute* attribute = source(name);
  return attribute == nullptr ? std::string(otherwise) : attribute->value;
}

int Attributes::keyword(std::string_view name, std::initializer_list<std::string_view> words, int otherwise) const {
  const XmlAttribute* attribute = source(name);
  if (attribute == nullptr) return otherwise;
  std::string list;
  int index = 0;
  for (std::string_view word : words) {
    if (word == attribute->value) return index;
    if (!list.empty()) list += ", ";
    list += word;
    ++index;
  }
  refuse(name, "must be one of: " + list);
}

}  // namespace axion::import
