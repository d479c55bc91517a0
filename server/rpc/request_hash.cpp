#include "server/rpc/request_hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

namespace axion::server::rpc {
namespace {

constexpr std::size_t kDigestBytes = 32;  // of SHA-256

// Hashes what is written to it, without keeping it: requests may have megabytes.
class HashStream final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  HashStream() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }

  bool Next(void** data, int* size) override {
    take();
    *data = buffer_.data();
    *size = static_cast<int>(buffer_.size());
    filled_ = buffer_.size();
    return true;
  }
  void BackUp(int count) override { filled_ -= static_cast<std::size_t>(count); }
  std::int64_t ByteCount() const override { return taken_ + static_cast<std::int64_t>(filled_); }

  std::array<unsigned char, kDigestBytes> end() {
    take();
    std::array<unsigned char, kDigestBytes> digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    return digest;
  }

 private:
  void take() {
    EVP_DigestUpdate(context_.get(), buffer_.data(), filled_);
    taken_ += static_cast<std::int64_t>(filled_);
    filled_ = 0;
  }

  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
  std::array<unsigned char, 4096> buffer_;
  std::size_t filled_ = 0;
  std::int64_t taken_ = 0;
};

// With its length, so that what follows is not taken for a part of it.
void write(const google::protobuf::MessageLite& message, google::protobuf::io::CodedOutputStream& stream) {
  stream.WriteVarint64(message.ByteSizeLong());
  message.SerializeWithCachedSizes(&stream);
}

template <typename Write>
std::array<unsigned char, kDigestBytes> digest_of(const Write& write_all) {
  HashStream hash;
  {
    google::protobuf::io::CodedOutputStream stream(&hash);
    stream.SetSerializationDeterministic(true);
    write_all(stream);
  }
  return hash.end();
}

template <typename Write>
std::uint64_t hash_of(const Write& write_all) {
  const auto digest = digest_of(write_all);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < 8; ++i) hash = hash << 8 | digest[i];
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::uint64_t request_hash(const v1::StepRequest& request) {
  if (request.request_id().empty()) return 0;
  // All but the tensors, which are too large to be copied; the test of this goes through all fields.
  v1::StepRequest small;
  *small.mutable_world_indices() = request.world_indices();
  if (request.has_step_count()) small.set_step_count(request.step_count());
  small.set_record_every(request.record_every());
  *small.mutable_outputs() = request.outputs();
  if (request.has_expected_step()) small.set_expected_step(request.expected_step());
  return hash_of([&](google::protobuf::io::CodedOutputStream& stream) {
    write(small, stream);
    const auto add = [&](bool present, const v1::Tensor& tensor) {
      stream.WriteVarint32(present ? 1 : 0);
      if (present) write(tensor, stream);
    };
    add(request.has_control(), request.control());
    add(request.has_body_wrench(), request.body_wrench());
    add(request.has_mocap_pose(), request.mocap_pose());
    add(request.has_action(), request.action());
  });
}

std::uint64_t request_hash(const v1::CreateBatchRequest& request) {
  if (request.request_id().empty()) return 0;
  return hash_of([&](google::protobuf::io::CodedOutputStream& stream) { write(request, stream); });
}

std::uint64_t request_hash(const v1::ResetRequest& request) {
  if (request.request_id().empty()) return 0;
  v1::ResetRequest small;  // all but what may be too large to be copied
  *small.mutable_world_indices() = request.world_indices();
  small.set_keyframe(request.keyframe());
  *small.mutable_seeds() = request.seeds();
  return hash_of([&](google::protobuf::io::CodedOutputStream& stream) {
    stream.WriteString("Reset");  // an id is one of all that is done to a batch
    write(small, stream);
    if (request.has_state()) write(request.state(), stream);
  });
}

std::uint64_t request_hash(const v1::SetStateRequest& request) {
  if (request.request_id().empty()) return 0;
  v1::SetStateRequest small;
  *small.mutable_world_indices() = request.world_indices();
  return hash_of([&](google::protobuf::io::CodedOutputStream& stream) {
    stream.WriteString("SetState");
    write(small, stream);
    if (request.has_state()) write(request.state(), stream);
  });
}

std::uint64_t request_hash(const v1::RestoreSnapshotRequest& request) {
  if (request.request_id().empty()) return 0;
  return hash_of([&](google::protobuf::io::CodedOutputStream& stream) {
    stream.WriteString("RestoreSnapshot");
    stream.WriteVarint32(static_cast<std::uint32_t>(request.source_case()));
    stream.WriteString(request.has_content() ? request.content() : request.snapshot());
  });
}

std::string request_digest(const v1::CreateModelRequest& request) {
  const auto digest = digest_of([&](google::protobuf::io::CodedOutputStream& stream) { write(request, stream); });
  return {digest.begin(), digest.end()};
}

}  // namespace axion::server::rpc
