// One conversation in, the view out: compaction of a request body or a bare list, without a store.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan.h"
#include "palimpsest/message.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

class ModelTable;  // engine/model_table.h

struct DocumentOptions {
    FormatId format = FormatId::openai_chat;
    std::string policy = "balanced";     // JSON or the name of a preset
    std::uint64_t window = 0;            // 0: the model's, if it is known, or the policy's
    std::string model = {};              // empty: the body's own
    const ModelTable* models = nullptr;  // null: those that are built in
    // The list comes again with the next call, longer: what goes stays the same from call to call,
    // as far as the policy's trigger and target are apart.
    bool comes_again = false;
};

struct CompactedDocument {
    std::string json = {};  // in the shape of the input; what is not the list keeps its bytes
    Plan plan = {};         // seqs are the places in the list, from 1
    std::vector<std::string> repairs = {};
    bool open_end = false;  // its last calls have no results yet: they must be added to send it
};

// The leading system messages, the body's system prompt and its tools are sent and counted, and
// never compacted. Fails with budget_unreachable when it cannot be made to fit.
Result<CompactedDocument> compact_document(std::string_view json, const DocumentOptions& options,
                                           const Tokenizer& tokenizer);
// The same with the vocabulary and the charges for pictures of the model that `options` or else the
// body names; gpt-4o's where neither does.
Result<CompactedDocument> compact_document(std::string_view json, const DocumentOptions& options);

// {"outcome","trigger","tokens_before","tokens_after","target","limit","edits":[...]}; tokens are
// of the whole request.
std::string plan_report(const Plan& plan);

}  // namespace palimpsest
