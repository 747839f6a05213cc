// A tool: the model asks for it, it runs here, the model goes on with its result.
#include "example.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    Memory memory = example::must(Memory::open("memory:"));
    const Tool weather{
        .name = "weather",
        .description = "The weather in a city.",
        .schema =
            R"({"type":"object","required":["city"],"properties":{"city":{"type":"string"}}})",
        .run = [](std::string_view, std::stop_token) -> Result<std::string> {
            return "18 C, rain";
        },
        .idempotent = true};
    const std::string said = example::user("What is the weather in Lima?");
    const auto done = example::must(
        chat(memory, example::alice, {.messages = said}, *model, {.tools = {weather}}));
    std::cout << done.text << "\n" << done.rounds << " rounds\n";
}
