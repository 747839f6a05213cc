#include "cli/acting.h"

#include <unistd.h>

namespace palimpsest {

Result<AuditedAct> begin_act(Store& store, const std::string& tenant, std::string_view act,
                             std::string target) {
    return AuditedAct::begin(store, {.tenant = tenant,
                                     .act = std::string(act),
                                     .target = std::move(target),
                                     .who = "pal, user " + std::to_string(::getuid())});
}

}  // namespace palimpsest
