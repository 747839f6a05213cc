// A turn that a crash cut short goes on where the log ends. The crash is played: the first half of
// the turn is done by hand, and then nothing more.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    Memory memory = example::must(Memory::open("memory:"));
    const std::string said = example::user("Are you still there?");
    // The process dies here, after what was said is durable and before the model has answered.
    (void)example::must(memory.begin(example::alice, {.messages = said}));
    const auto done = example::must(resume(memory, example::alice, *model));
    std::cout << done.text << "\n"
              << example::must(memory.head(example::alice)).messages << " messages\n";
}
