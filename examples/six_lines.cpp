// The six lines of the README, as a program.
#include <iostream>

#include "palimpsest/memory.h"

int main() {
    using namespace palimpsest;
    auto memory = Memory::open("memory:");
    memory->append({"default", "alice"}, {.messages = R"({"role":"user","content":"Hello"})"});
    auto view = memory->view({"default", "alice"});  // items, each with its tokens and reason
    for (const Item& item : view->items) std::cout << view_of(item.message.raw) << "\n";
}
