// Compaction at work: under a policy the view stays small, the log keeps every word.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    Memory memory = example::must(Memory::open("memory:"));
    const std::string policy =
        R"({"triggers":{"messages":6},"passes":[{"pass":"keep_last","turns":2}]})";
    for (int i = 1; i <= 8; ++i) {
        const std::string said = example::user("Question " + std::to_string(i));
        const auto done = example::must(
            chat(memory, example::alice, {.messages = said, .policy = policy}, *model));
        std::cout << "turn " << i << ": sent " << done.begun.view.items.size() << " messages";
        if (done.begun.compaction)
            std::cout << ", compacted " << done.begun.compaction->tokens_before << " -> "
                      << done.begun.compaction->tokens_after << " tokens";
        std::cout << "\n";
    }
    std::cout << "in the log: " << example::must(memory.head(example::alice)).messages
              << " messages\n";
}
