#include "server/rpc/parsed_bytes.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wire_format_lite.h"

#include "server/rpc/part_limits.hpp"

namespace axion::server::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kMaxDepth = 100;                // as the parser's
constexpr std::size_t kMessageOverhead = 48;  // of the allocator, and of a pointer in an array that grows by doubling
constexpr std::size_t kTextBytes = 96;        // of a string beside its text, likewise
constexpr std::size_t kMapEntryBytes = 128;   // of a key and a value beside what they refer to, and their place
constexpr std::size_t kScalarBytes = 16;      // of a number in an array that grows by doubling
constexpr std::size_t kEnough = std::size_t{1} << 44;  // bytes at which counting ends: no machine has them
constexpr std::size_t kUnknownFactor = 32;  // of a field without a name, per byte: one of two bytes takes 32 and more

// Where a message stands in another one.
struct Place {
  const Place* within;
  const FieldDescriptor* field;
  int index;
};

std::string path_of(const Place* place) {
  if (place == nullptr) return "";
  const std::string outer = path_of(place->within);
  const std::string index = place->field->is_repeated() ? absl::StrCat("[", place->index, "]") : "";
  return absl::StrCat(outer, outer.empty() ? "" : ".", place->field->name(), index);
}

class Scanner {
 public:
  explicit Scanner(CodedInputStream& input) : input_(input) {}

  std::size_t total() const { return total_; }
  const std::optional<TooManyParts>& too_many() const { return too_many_; }

  // False where the bytes end or make no sense, as the parser will say, and where there are too many parts.
  bool scan(const Descriptor& type) {
    Counts counts;
    return scan_fields(type, 0, nullptr, counts);
  }

 private:
  // Entries of fields that have a limit.
  using Counts = absl::InlinedVector<std::pair<const FieldDescriptor*, int>, 12>;

  // `counts` are of the message and of those in it that there is one of: where one comes again, the parser joins both.
  bool scan_fields(const Descriptor& type, int depth, const Place* place, Counts& counts) {
    total_ += kMessageOverhead + own_bytes(type);
    while (total_ < kEnough) {
      const std::uint32_t tag = input_.ReadTag();
      if (tag == 0) return true;
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const int index = field == nullptr ? 0 : count(*field, counts);
      if (field != nullptr && index >= part_limit(*field)) {
        const std::string outer = path_of(place);
        too_many_ = {.field = absl::StrCat(outer, outer.empty() ? "" : ".", field->name()),
                     .what = absl::StrCat("may have at most ", part_limit(*field), " entries; it has more")};
        return false;
      }
      if (!scan_field(field, tag, depth, {place, field, index}, counts)) return false;
    }
    return true;
  }

  // What this entry of the field is numbered, if it has a limit.
  static int count(const FieldDescriptor& field, Counts& counts) {
    if (!field.is_repeated() || part_limit(field) == kNoPartLimit) return 0;
    auto own = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == &field; });
    if (own == counts.end()) own = counts.insert(counts.end(), {&field, 0});
    return own->second++;
  }

  // Of a message without fields. An entry of a map is a node of a hash table; its prototype cannot be asked.
  static std::size_t own_bytes(const Descriptor& type) {
    if (type.options().map_entry()) return kMapEntryBytes;
    return google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
  }

  bool scan_field(const FieldDescriptor* field, std::uint32_t tag, int depth, const Place& place, Counts& counts) {
    if (field == nullptr || WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      const int begin = input_.CurrentPosition();
      if (!WireFormatLite::SkipField(&input_, tag)) return false;
      const auto length = static_cast<std::size_t>(input_.CurrentPosition() - begin) + 2;
      total_ += field == nullptr ? kUnknownFactor * length : kScalarBytes;
      return true;
    }
    std::uint32_t length = 0;
    if (!input_.ReadVarint32(&length)) return false;
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (depth >= kMaxDepth || length > INT_MAX) return false;
      const auto limit = input_.PushLimit(static_cast<int>(length));
      Counts own;
      const bool is_one = !field->is_repeated();
      const bool whole = scan_fields(*field->message_type(), depth + 1, &place, is_one ? counts : own);
      input_.PopLimit(limit);
      return whole;
    }
    const bool fixed =
        field->type() == FieldDescriptor::TYPE_DOUBLE || field->type() == FieldDescriptor::TYPE_FIXED64 ||
        field->type() == FieldDescriptor::TYPE_FLOAT;  // as wide in memory, in an array that grows by doubling
    const bool text = field->type() == FieldDescriptor::TYPE_STRING || field->type() == FieldDescriptor::TYPE_BYTES;
    total_ += text ? kTextBytes + length : (fixed ? 2 : kScalarBytes) * std::size_t{length};
    return length <= INT_MAX && input_.Skip(static_cast<int>(length));
  }

  CodedInputStream& input_;
  std::size_t total_ = 0;
  std::optional<TooManyParts> too_many_;
};

ParsedSize size_of(CodedInputStream& input, const Descriptor& type) {
  Scanner scanner(input);
  scanner.scan(type);
  return {.bytes = scanner.total(), .too_many = scanner.too_many()};
}

}  // namespace

ParsedSize parsed_size(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  grpc::ByteBuffer copy(bytes);  // shares the bytes
  grpc::ProtoBufferReader reader(&copy);
  if (!reader.status().ok()) return {};
  CodedInputStream input(&reader);
  input.SetTotalBytesLimit(INT_MAX);
  return size_of(input, type);
}

ParsedSize parsed_size(const std::string& bytes, const Descriptor& type) {
  if (bytes.size() > INT_MAX) return {.bytes = kEnough, .too_many = {}};  // no parser takes them
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  return size_of(input, type);
}

}  // namespace axion::server::rpc
