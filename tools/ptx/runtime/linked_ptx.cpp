#include "tools/ptx/runtime/linked_ptx.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "tools/ptx/interpreter/module.hpp"

#ifdef AXION_WITH_ZSTD
#include <zstd.h>
#endif

// The linker defines these for a section whose name is an identifier, where the program has such a section.
extern "C" {
extern const char __start___nv_relfatbin[] __attribute__((weak));
extern const char __stop___nv_relfatbin[] __attribute__((weak));
}

namespace axion::ptx {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1;
constexpr std::size_t kMostText = std::size_t{1} << 30;
constexpr std::uint64_t kLz4 = 0x2000, kZstandard = 0x8000;

const char* registered = nullptr;  // the last fat binary

template <typename T>
T read(std::span<const char> bytes, std::size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The text of an entry of PTX; empty where it is compressed in a way that this program does not know.
std::string text_of(std::span<const char> header, std::span<const char> data) {
  const auto flags = read<std::uint64_t>(header, 40);
  std::string text;
  if ((flags & kLz4) != 0) return text;
  if ((flags & kZstandard) == 0) {
    text.assign(data.data(), data.size());
  } else {
#ifdef AXION_WITH_ZSTD
    const std::size_t packed = read<std::uint32_t>(header, 16), size = read<std::uint64_t>(header, 56);
    if (packed > data.size() || size > kMostText) return text;
    text.resize(size);
    const std::size_t got = ZSTD_decompress(text.data(), text.size(), data.data(), packed);
    if (ZSTD_isError(got) != 0 || got != size) text.clear();
#endif
  }
  return text.substr(0, text.find('\0'));  // entries are padded
}

}  // namespace

std::string find_ptx(std::span<const char> fat_binaries) {
  std::string best;
  std::uint32_t best_capability = 0;
  bool unread = false;
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
      if (kind == kPtx && capability > best_capability) {
        std::string text = text_of(fat_binaries.subspan(at, header), fat_binaries.subspan(at + header, size));
        if (text.empty()) {
          unread = true;
        } else {
          best = std::move(text), best_capability = capability;
        }
      }
      at += header + size;
    }
    start = end;
  }
  if (!best.empty()) return best;
  throw ParseError(unread ? "the program's PTX is compressed in a way that is not known here"
                          : "the program has no PTX: CMAKE_CUDA_ARCHITECTURES names machine code alone (-real)");
}

std::string linked_ptx() {
  if (__start___nv_relfatbin != nullptr) return find_ptx({__start___nv_relfatbin, __stop___nv_relfatbin});
  if (registered == nullptr) throw ParseError("the program is linked with no kernels");
  const std::span<const char> header(registered, 16);
  return find_ptx({registered, read<std::uint16_t>(header, 6) + read<std::uint64_t>(header, 8)});
}

void register_fat_binary(const void* wrapper) {
  std::memcpy(&registered, static_cast<const char*>(wrapper) + 8, sizeof(registered));
}

}  // namespace axion::ptx
