#include "server/rpc/parsed_bytes.hpp"

#include <climits>
#include <cstdint>

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wire_format_lite.h"

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
constexpr std::size_t kUnknownFactor = 32;    // of a field without a name, per byte: one of two bytes takes 32 and more

class Scanner {
 public:
  Scanner(CodedInputStream& input, std::size_t enough) : input_(input), enough_(enough) {}

  std::size_t total() const { return total_; }

  // False where the bytes end or make no sense: the parser will say so.
  bool scan(const Descriptor& type, int depth) {
    total_ += kMessageOverhead + own_bytes(type);
    while (total_ < enough_) {
      const std::uint32_t tag = input_.ReadTag();
      if (tag == 0) return true;
      if (!scan_field(type, tag, depth)) return false;
    }
    return true;
  }

 private:
  // Of a message without fields. An entry of a map is a node of a hash table; its prototype cannot be asked.
  static std::size_t own_bytes(const Descriptor& type) {
    if (type.options().map_entry()) return kMapEntryBytes;
    return google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
  }

  bool scan_field(const Descriptor& type, std::uint32_t tag, int depth) {
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
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
      const bool whole = scan(*field->message_type(), depth + 1);
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
  const std::size_t enough_;
  std::size_t total_ = 0;
};

}  // namespace

std::size_t parsed_bytes(const grpc::ByteBuffer& bytes, const Descriptor& type, std::size_t enough) {
  grpc::ByteBuffer copy(bytes);  // shares the bytes
  grpc::ProtoBufferReader reader(&copy);
  if (!reader.status().ok()) return 0;
  CodedInputStream input(&reader);
  input.SetTotalBytesLimit(INT_MAX);
  Scanner scanner(input, enough);
  scanner.scan(type, 0);
  return scanner.total();
}

std::size_t parsed_bytes(const std::string& bytes, const Descriptor& type) {
  if (bytes.size() > INT_MAX) return std::size_t{1} << 44;  // no parser takes them
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  Scanner scanner(input, SIZE_MAX);
  scanner.scan(type, 0);
  return scanner.total();
}

}  // namespace axion::server::rpc
