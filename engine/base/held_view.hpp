// How an object that functions are called with holds a view of arrays, a structure of many pointers.
#pragma once

namespace axion {

// On a CPU as a copy, which a function reads with one load less. On a GPU, where every thread has an object of its own,
// as a reference to the block's view: copies would be a kilobyte and a half of each thread's stack, read from there by
// every function.
#if defined(__CUDACC__)
template <typename View>
using HeldView = const View&;
#else
template <typename View>
using HeldView = View;
#endif

}  // namespace axion
