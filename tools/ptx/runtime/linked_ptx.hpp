// The PTX of the kernels that this program is linked with.
//
// nvcc keeps relocatable device code in the section __nv_relfatbin of each object: fat binaries, one after another. A
// fat binary is a header (magic number 0xba55ed50, version, size of the header, size of all entries) and entries
// (kind: 1 is PTX, 2 machine code; version; size of the entry's header; size of its data with padding; size of what is
// compressed at byte 16; compute capability at 28; flags at 40; size of the text at 56), as `cuobjdump -all -lptx`
// lists them. nvcc 13 compresses by Zstandard.
#pragma once

#include <span>
#include <string>

namespace axion::ptx {

// The PTX of the greatest compute capability among some fat binaries. ParseError: none has any that can be read.
std::string find_ptx(std::span<const char> fat_binaries);

// That of this program's own section.
std::string linked_ptx();

}  // namespace axion::ptx
