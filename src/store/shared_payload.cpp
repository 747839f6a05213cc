#include "store/shared_payload.h"

#include "store/seal.h"

namespace palimpsest {

std::string shared_hash(const Bytes& payload) {
    if (!payload || payload->size() < shared_payload_bytes) return {};
    return sha256(*payload);
}

}  // namespace palimpsest
