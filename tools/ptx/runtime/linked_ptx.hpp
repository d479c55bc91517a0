// The PTX of the kernels that this program is linked with.
//
// nvcc keeps relocatable device code in the section __nv_relfatbin of each object: fat binaries, one after another. A
// fat binary is a header (magic number 0xba55ed50, version, size of the header, size of all entries) and entries
// (kind: 1 is PTX, 2 machine code; version; size of the entry's header; size of its data; ...; compute capability at
// byte 28; flags at byte 40), as `cuobjdump -all -lptx` lists them.
#pragma once

#include <span>
#include <string>

namespace axion::ptx {

// The PTX of the greatest compute capability among some fat binaries. ParseError: none has any, or it is compressed
// (nvcc's --compress-mode=none leaves it as it is).
std::string find_ptx(std::span<const char> fat_binaries);

// That of this program's own section.
std::string linked_ptx();

}  // namespace axion::ptx
