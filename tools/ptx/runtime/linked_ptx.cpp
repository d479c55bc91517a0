#include "tools/ptx/runtime/linked_ptx.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "tools/ptx/interpreter/module.hpp"

// The linker defines these for a section whose name is an identifier, where the program has such a section.
extern "C" {
extern const char __start___nv_relfatbin[] __attribute__((weak));
extern const char __stop___nv_relfatbin[] __attribute__((weak));
}

namespace axion::ptx {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint64_t kCompressed = 0x2000 | 0x8000;  // LZ4, Zstandard

template <typename T>
T read(std::span<const char> bytes, std::size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Text ends at its zero byte: entries are padded.
std::string text_of(std::span<const char> data) {
  const std::string_view all(data.data(), data.size());
  return std::string(all.substr(0, all.find('\0')));
}

}  // namespace

std::string find_ptx(std::span<const char> fat_binaries) {
  std::string best;
  std::uint32_t best_capability = 0;
  bool compressed = false;
  for (std::size_t start = 0; start + 16 <= fat_binaries.size();) {
    if (read<std::uint32_t>(fat_binaries, start) != kMagic) {
      start += 4;  // padding between objects
      continue;
    }
    std::size_t at = start + read<std::uint16_t>(fat_binaries, start + 6);
    const std::size_t end = at + read<std::uint64_t>(fat_binaries, start + 8);
    if (end > fat_binaries.size()) break;
    while (at + 48 <= end) {
      const auto kind = read<std::uint16_t>(fat_binaries, at);
      const auto header = read<std::uint32_t>(fat_binaries, at + 4);
      const auto size = read<std::uint64_t>(fat_binaries, at + 8);
      if (header == 0 || header > end - at || size > end - at - header) break;
      const auto capability = read<std::uint32_t>(fat_binaries, at + 28);
      const bool packed = (read<std::uint64_t>(fat_binaries, at + 40) & kCompressed) != 0;
      if (kind == kPtx && packed) compressed = true;
      if (kind == kPtx && !packed && capability > best_capability) {
        best = text_of(fat_binaries.subspan(at + header, size));
        best_capability = capability;
      }
      at += header + size;
    }
    start = end;
  }
  if (!best.empty()) return best;
  throw ParseError(compressed ? "the program's PTX is compressed: build with AXION_EMULATED_GPU=ON"
                              : "the program has no PTX: CMAKE_CUDA_ARCHITECTURES names machine code alone (-real)");
}

std::string linked_ptx() {
  if (__start___nv_relfatbin == nullptr) throw ParseError("the program is linked with no kernels");
  return find_ptx({__start___nv_relfatbin, __stop___nv_relfatbin});
}

}  // namespace axion::ptx
