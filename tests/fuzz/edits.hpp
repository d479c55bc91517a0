// Bytes of something sound, changed here and there as an input of a fuzzer says: what is sealed by a checksum is then
// sealed again, so that the readers behind the seal are reached.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace axion::fuzz {

// The input is a list of edits: | place, 2 | byte |, little-endian; places count from the end where they are beyond it.
inline std::string edited(std::string bytes, std::string_view edits) {
  constexpr std::size_t kEditBytes = 3;
  for (; !bytes.empty() && edits.size() >= kEditBytes; edits.remove_prefix(kEditBytes)) {
    const std::size_t place =
        static_cast<unsigned char>(edits[0]) + 256U * static_cast<std::size_t>(static_cast<unsigned char>(edits[1]));
    bytes[place < bytes.size() ? place : bytes.size() - 1 - place % bytes.size()] = edits[2];
  }
  return bytes;
}

}  // namespace axion::fuzz
