// own_records: where the server keeps what belongs to no tenant: keys, what they spent, the audit.
#pragma once
#include <string>
#include <string_view>

#include "palimpsest/store.h"

namespace palimpsest {

// No tenant of a client can have this name: see create_key.
constexpr std::string_view own_tenant = "_palimpsest";

inline RecordKey own_record(std::string_view space, std::string key) {
    return {std::string(own_tenant), std::string(space), std::move(key)};
}

}  // namespace palimpsest
