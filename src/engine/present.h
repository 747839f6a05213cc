// The JSON shapes of what the facade gives, once, for the command line and the server.
//
// Invariant: a message is written exactly as it came in; metadata and policies are written as the
// JSON that they are. Nothing here can fail: what is not there is null. Every writer puts one JSON
// value at the place where the JsonWriter stands.
#pragma once
#include <string_view>

#include "base/json_write.h"
#include "palimpsest/memory.h"

namespace palimpsest {

std::string_view treatment_name(Treatment treatment);
std::string_view cause_name(Cause cause);

// {"seq","kind","at","tokens",KIND:{...}}: for a message KIND's value is the message itself, null
// when its content was scrubbed or not read.
void write_entry(JsonWriter& out, const Entry& entry);
// {"kind","from","to","reason","pass","tokens_before","tokens_after",...}
void write_edit(JsonWriter& out, const Edit& edit);
// {"id","owner","title",...,"seq","messages",...,"revision"}; the tenant is not shown.
void write_header(JsonWriter& out, const Header& header);
// {"kind","from","to","tokens","reason","message"}, and flags that are true: "pinned",
// "interrupted", "compacted"
void write_item(JsonWriter& out, const Item& item);
// {"items":[...],"tokens","seq"}
void write_view(JsonWriter& out, const View& view);
// {"seq","at","note":{...},"preamble":[...],"tools":[...],"view":{...}}
void write_past_call(JsonWriter& out, const PastCall& call);
struct Rendered;  // palimpsest/format.h
// Preamble and view as the list that a provider of the call's format was sent: what it would have
// refused is repaired, and the repairs are noted.
Result<Rendered> sent_messages(const PastCall& call);
// {"id","seq","at","name","metadata"}
void write_checkpoint(JsonWriter& out, const Checkpoint& checkpoint);
// {"outcome","seq","tokens_before","tokens_after","edits":[...]}; seq is null for a preview.
void write_compaction(JsonWriter& out, const Compaction& compaction);
// The same with the number of the edits alone: for log lines, which hold no words.
void write_compaction_line(JsonWriter& out, const Compaction& compaction);
// {"seq","from","to","text","tokens_before","tokens","model","at","cost","in_force"}
void write_summary(JsonWriter& out, const Summary& summary);
// {"seq","at","shown","message"}
void write_recalled(JsonWriter& out, const Recalled& recalled);
// {"model","window","reserved","used","parts":[{"name","tokens","dollars"}],
//  "triggers":[{"trigger","level","now","at","due"}]}
void write_breakdown(JsonWriter& out, const TokenBreakdown& breakdown);
// {"rows":[{"side","kind","from","to",...}],"same_items","same_tokens","tokens_a","tokens_b"}
void write_diff(JsonWriter& out, const ViewDiff& diff);
// {"seq","first","ids","again"}
void write_written(JsonWriter& out, const Written& written);
// {"entries","logs","kept_for":[...]}
void write_receipt(JsonWriter& out, const Receipt& receipt);
// {"logs","entries","records","findings":[{"what","where","message"}]}
void write_check_report(JsonWriter& out, const CheckReport& report);

}  // namespace palimpsest
