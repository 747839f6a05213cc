// Logs as keys of a table.
#pragma once
#include <cstring>

#include "palimpsest/types.h"

namespace palimpsest {

struct LogHash {
    std::size_t operator()(const LogId& log) const {
        std::size_t hash = 0;  // The bytes are random.
        std::memcpy(&hash, log.bytes.data(), sizeof hash);
        return hash;
    }
};

}  // namespace palimpsest
