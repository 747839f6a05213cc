// Streams cut anywhere end in a reply or an error, the same however they are cut.
#include <cstdint>
#include <cstdlib>

#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

Result<Reply> read_in_pieces(FormatId format, std::string_view bytes, std::size_t piece) {
    const auto reader = make_stream_reader(format);
    while (!bytes.empty()) {
        PAL_CHECK(reader->feed(bytes.substr(0, piece)));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    return reader->finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    for (const FormatId format :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic}) {
        const auto at_once = read_in_pieces(format, text, size + 1);
        const auto slowly = read_in_pieces(format, text, 1);
        if (at_once.has_value() != slowly.has_value()) std::abort();
        if (at_once && at_once->body != slowly->body) std::abort();
    }
    return 0;
}
