// acting: what a command removes or governs, written down in the audit log as the server does.
#pragma once
#include <string>
#include <string_view>

#include "server/audit.h"

namespace palimpsest {

// By the user of this process.
Result<AuditedAct> begin_act(Store& store, const std::string& tenant, std::string_view act,
                             std::string target);

}  // namespace palimpsest
