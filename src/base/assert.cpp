#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace palimpsest {

void assertion_failed(const char* what, const char* file, int line) {
    std::fprintf(stderr, "pal: internal: %s:%d: this must hold and does not: %s\n", file, line,
                 what);
    std::abort();
}

}  // namespace palimpsest
