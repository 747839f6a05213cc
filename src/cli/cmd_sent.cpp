// sent: what the model was sent at a past call, exactly: the preamble, the view, the tools.
#include <algorithm>

#include "base/json.h"
#include "cli/command.h"
#include "engine/call_note.h"
#include "engine/present.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

// The newest call, when none is named.
Result<Seq> newest_call(Memory& memory, const ConversationId& name) {
    PAL_TRY(notes,
            memory.log(name, {.kinds = only(EntryKind::note), .limit = 100, .newest_first = true}));
    const auto call = std::find_if(notes.begin(), notes.end(), [](const Entry& entry) {
        return was_sent(std::get<NoteEntry>(entry.body));
    });
    if (call != notes.end()) return call->seq;
    return fail(ErrorCode::not_found,
                "no model call is noted in '" + name.id + "'; `pal chat` and `begin` note them");
}

void print_call(Output& out, const PastCall& call) {
    out.line("call " + std::to_string(call.seq.value) + ": " + printable(call.note));
    out.line("preamble: " + printable(call.preamble));
    const auto sent = sent_messages(call);
    if (!sent) out.line("not sent: " + printable(sent.error().message));
    bool said = false;
    for (const Message& message : sent ? sent->messages : std::vector<Message>()) {
        said = said || message.shape.role != Role::system;
        if (said) out.line(std::string(role_name(message.shape.role)) + ": " + describe(message));
    }
    for (const RepairNote& note : sent ? sent->notes : std::vector<RepairNote>())
        out.line("repaired: " + printable(note.what));
    out.line("tools: " + printable(call.tools));
}

}  // namespace

Result<int> run_sent(Invocation& call) {
    Seq seq;
    if (call.arguments.size() > 1) {
        PAL_TRY(named, parse_seq(call.arguments[1]));
        seq = named;
    } else {
        PAL_TRY(newest, newest_call(*call.memory, call.name()));
        seq = newest;
    }
    PAL_TRY(past, call.memory->past_call(call.name(), seq));
    if (call.json())
        print_json(call.out, write_past_call, past);
    else
        print_call(call.out, past);
    return 0;
}

}  // namespace palimpsest
