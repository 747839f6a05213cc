// The flags that every command that writes takes, and what they say.
#pragma once
#include "cli/arguments.h"
#include "palimpsest/memory.h"

namespace palimpsest {

constexpr Flag key_flag{"key", "KEY", "Idempotency key: a repeat gives the first result again."};
constexpr Flag expect_flag{"expect", "SEQ", "Fail with conflict unless the log ends at SEQ."};

Result<WriteOptions> write_options(const Arguments& arguments, IfAbsent if_absent = IfAbsent::fail);

}  // namespace palimpsest
