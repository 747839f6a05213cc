// The answer piece by piece, as it comes.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    Memory memory = example::must(Memory::open("memory:"));
    const std::string said = example::user("Tell me a short story.");
    const auto done = example::must(chat(memory, example::alice, {.messages = said}, *model,
                                         {.on_event = [](const ChatEvent& event) {
                                             if (event.kind == ChatEvent::Kind::text)
                                                 std::cout << event.text << std::flush;
                                             return true;
                                         }}));
    std::cout << "\n" << done.usage.output << " tokens\n";
}
