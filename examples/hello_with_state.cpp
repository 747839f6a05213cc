// Hello, with the conversation as bytes that the caller keeps.
#include "example.h"
#include "palimpsest/chat.h"

int main() {
    const auto model = example::open_model();
    std::string state;  // empty: a new conversation
    for (const char* text : {"Hello, I am Ada.", "What is my name?"}) {
        const std::string said = example::user(text);
        auto turn = example::must(palimpsest::chat_with_state(state, {.messages = said}, *model));
        std::cout << "> " << text << "\n" << turn.chat.text << "\n";
        state = std::move(turn.state);
    }
    std::cout << "state: " << state.size() << " bytes\n";
}
