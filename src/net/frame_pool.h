// frame_pool: memory for the frames of coroutines. A request needs a dozen of them, some larger
// than what malloc hands out quickly, and the next request needs the same again.
//
// Invariant: what a thread keeps is bounded, and is given back when the thread ends. A frame may be
// given back by another thread than the one that took it.
#pragma once
#include <cstddef>

namespace palimpsest {

void* take_frame(std::size_t bytes);  // std::bad_alloc
void give_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace palimpsest
