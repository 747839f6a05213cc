// Two branches of one conversation, side by side. A fork costs the same for any length.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    Memory memory = example::must(Memory::open("memory:"));
    const ConversationId other{example::alice.tenant, "alice-formal"};
    const std::string hello = example::user("Hello!");
    (void)example::must(chat(memory, example::alice, {.messages = hello}, *model));
    (void)example::must(memory.fork(example::alice, other));
    const std::string casual = example::user("Say goodbye, casually."),
                      formal = example::user("Say goodbye, formally.");
    (void)example::must(chat(memory, example::alice, {.messages = casual}, *model));
    (void)example::must(chat(memory, other, {.messages = formal}, *model));
    const ViewDiff diff =
        diff_views(example::must(memory.view(example::alice)), example::must(memory.view(other)));
    for (const ViewDiff::Row& row : diff.rows)
        std::cout << row.side << " " << view_of(row.item.message.raw) << "\n";
}
