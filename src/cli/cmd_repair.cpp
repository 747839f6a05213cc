// repair: the list or body, made sendable, in the shape it came in; what was done goes to standard
// error, one line each.
#include <cstdio>

#include "cli/documents.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"format", "F", "openai_chat, openai_responses or anthropic."},
    {"model", "M", "The model that it is sent to; a body's own model otherwise."},
    {"jsonl", "", "One list or body per line."},
    {"open-end", "", "Calls at the end may still be answered: leave them alone."},
};

}  // namespace

extern const Flags repair_flags;
const Flags repair_flags = flags;

Result<int> run_repair(Invocation& call) {
    PAL_TRY(format, format_flag(call.arguments, "format"));
    const std::string model = call.arguments.get("model").value_or("");
    const CheckOptions options{.model = model, .open_end = call.arguments.has("open-end")};
    for (const InputDocument& document : split_documents(call.input, call.arguments.has("jsonl"))) {
        PAL_TRY(repaired, repair_json(format, document.json, options));
        for (const RepairNote& note : repaired.notes)
            std::fprintf(stderr, "%smessage %zu: %s\n", document.place().c_str(), note.at,
                         printable(note.what).c_str());
        print_document(call.out, std::move(repaired.json));
    }
    return 0;
}

}  // namespace palimpsest
