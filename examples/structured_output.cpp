// An answer of a given shape, checked; one that does not fit goes back to the model.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    if (model->name() == "echo") {
        std::cout << "skipped: the echo model writes no JSON\n";
        return 0;
    }
    Memory memory = example::must(Memory::open("memory:"));
    const AnswerShape shape{
        .schema =
            R"({"type":"object","required":["city"],"properties":{"city":{"type":"string"}}})"};
    const std::string said = example::user("Name a warm city, as JSON.");
    const auto done =
        example::must(chat_shaped(memory, example::alice, {.messages = said}, *model, shape));
    std::cout << done.json << "\n" << done.attempts << " attempts\n";
}
