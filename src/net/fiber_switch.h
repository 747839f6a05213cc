// fiber_switch: leaves one stack for another, which costs a few instructions where the machine is
// known (the C library's way asks the kernel about signals each time).
//
// Invariant: a point is where exactly one stack was left; it is used once, by the next switch to
// it. Signal masks are the thread's, not the stack's.
#pragma once
#include <cstddef>

#ifdef __x86_64__
#define PAL_OWN_SWITCH 1
#else
#define PAL_OWN_SWITCH 0
#include <ucontext.h>
#endif

namespace palimpsest {

struct StackPoint {
#if PAL_OWN_SWITCH
    void* top = nullptr;
#else
    ucontext_t point = {};
#endif
};

// A switch to the point that this gives calls enter(argument) on that memory. It must not return.
void begin_stack(StackPoint& point, char* bottom, std::size_t bytes, void (*enter)(void*),
                 void* argument);
void switch_stack(StackPoint& from, StackPoint& to);

}  // namespace palimpsest
