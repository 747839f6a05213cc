// PAL_ASSERT: for faults of this program, never of its input. Always on: a wrong state must not
// be written.
#pragma once

namespace palimpsest {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line);
}

#define PAL_ASSERT(...) \
    ((__VA_ARGS__) ? void() : ::palimpsest::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
