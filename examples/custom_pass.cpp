// A pass of one's own: drops the groups that say "small talk", oldest first.
#include "example.h"
#include "palimpsest/compaction.h"

int main() {
    using namespace palimpsest;
    const auto model = example::open_model();
    MemoryOptions options;
    options.extensions.passes.push_back(
        {.name = "drop_small_talk", .run = [](const PassInput& input) {
             PassResult result;
             for (std::size_t g = 0; g < input.groups.size(); ++g) {
                 const Message& message = input.items[input.groups[g].first].message;
                 if (input.shields[g] != Shield::none) continue;
                 if (view_of(message.raw).find("small talk") == std::string_view::npos) continue;
                 result.edits.push_back(
                     {.treatment = Treatment::dropped, .groups = {g}, .reason = "small talk"});
             }
             return result;
         }});
    Memory memory = example::must(Memory::open("memory:", std::move(options)));
    const std::string policy =
        R"({"triggers":{"messages":5},"passes":[{"pass":"drop_small_talk"}]})";
    for (const char* text : {"small talk: nice weather", "my number is 42", "small talk: traffic",
                             "what is my number?"}) {
        const std::string said = example::user(text);
        (void)example::must(
            chat(memory, example::alice, {.messages = said, .policy = policy}, *model));
    }
    for (const Item& item : example::must(memory.view(example::alice)).items)
        std::cout << view_of(item.message.raw) << "\n";
}
