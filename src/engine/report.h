// The report of a compaction: made from its plan, written into the log as a note, read back.
#pragma once
#include "base/json_write.h"
#include "core/plan.h"
#include "engine/policies.h"
#include "engine/wording.h"
#include "palimpsest/memory.h"

namespace palimpsest {

CompactionReport make_report(const Plan& plan, const PolicyInForce& in_force, const View& view,
                             const Budget& budget, const Bill& bill);

// Of edits that a caller made, computed from `view`; the request is the view then.
CompactionReport make_report(const CompactionEntry& entry, const View& view);

// The error of one that could not reach its budget, with its numbers.
Error unreachable_error(const Compaction& compaction);

// The fields of the report, in an object that is open. One set of names for notes, events, logs.
void write_report_fields(JsonWriter& out, const CompactionReport& report);

}  // namespace palimpsest
