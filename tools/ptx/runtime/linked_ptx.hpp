// The PTX of the kernels that this program is linked with.
//
// nvcc keeps relocatable device code in the section __nv_relfatbin of each object: fat binaries, one after another; a
// whole program registers its fat binary with the runtime as it starts. A
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

// That of this program's own section, or of the fat binary that it has registered.
std::string linked_ptx();

// `wrapper` is what the program registers: magic number, version, and at byte 8 where the fat binary is.
void register_fat_binary(const void* wrapper);

}  // namespace axion::ptx
