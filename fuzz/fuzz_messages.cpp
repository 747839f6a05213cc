// Whatever reads as messages: raw bytes stay, validation and repair end, repair makes it sendable
// or leaves what only the caller can change, and repairing twice is repairing once.
#include <cstdint>
#include <cstdlib>

#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void try_format(FormatId format, const std::string& text) {
    const auto messages = read_messages(format, make_bytes(text));
    if (!messages) return;
    for (const Message& message : *messages) {
        require(read_parts(message).has_value());
        require(scrubbed_message(message).has_value());
    }
    const auto once = repair_json(format, text);
    require(once.has_value());
    const auto twice = repair_json(format, once->json);
    require(twice.has_value() && twice->json == once->json);
    for (const FormatId to :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic})
        require(convert_json(format, to, text).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    for (const FormatId format :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic})
        try_format(format, text);
    return 0;
}
