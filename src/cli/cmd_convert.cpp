// convert: the same conversation in another format; what cannot be carried goes to standard error.
#include <cstdio>

#include "cli/documents.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"from", "F", "The format it is in: openai_chat, openai_responses or anthropic."},
    {"to", "G", "The format it is wanted in."},
    {"jsonl", "", "One list or body per line."},
};

}  // namespace

extern const Flags convert_flags;
const Flags convert_flags = flags;

Result<int> run_convert(Invocation& call) {
    PAL_TRY(from, format_flag(call.arguments, "from"));
    PAL_TRY(to, format_flag(call.arguments, "to"));
    for (const InputDocument& document : split_documents(call.input, call.arguments.has("jsonl"))) {
        PAL_TRY(converted, convert_json(from, to, document.json));
        for (const std::string& lost : converted.lost)
            std::fprintf(stderr, "%snot carried: %s\n", document.place().c_str(),
                         printable(lost).c_str());
        print_document(call.out, std::move(converted.json));
    }
    return 0;
}

}  // namespace palimpsest
