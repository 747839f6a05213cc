// Prints one JSON object: by format, an event stream as our writers write it and the reply, not
// streamed, that our readers make of it. tests/scripts/format_clients_test.py feeds the official
// clients with them.
#include <cstdio>
#include <string>

#include "base/json_write.h"
#include "palimpsest/format.h"
#include "palimpsest/stream.h"

using namespace palimpsest;

namespace {

// `scene`: "text" or "calls".
std::string stream_of(FormatId format, std::string_view scene) {
    const auto writer =
        make_stream_writer(format, {.id = "r1", .model = "m", .created = 1700000000});
    using Kind = StreamDelta::Kind;
    std::string bytes = writer->begin();
    bytes += writer->add({.kind = Kind::text, .text = "Let me \"look\""});
    bytes += writer->add({.kind = Kind::text, .text = "\n€😀."});
    const ReplyUsage usage{.input_tokens = 70, .output_tokens = 30, .cached_tokens = 20};
    if (scene == "text") return bytes + writer->end(StopReason::end, usage);
    bytes += writer->add({.kind = Kind::call, .index = 0, .id = "c1", .name = "f"});
    bytes += writer->add({.kind = Kind::arguments, .index = 0, .text = "{\"a\":"});
    bytes += writer->add({.kind = Kind::arguments, .index = 0, .text = " [1, \"é\"]}"});
    bytes += writer->add({.kind = Kind::call, .index = 1, .id = "c2", .name = "g"});
    bytes += writer->add({.kind = Kind::arguments, .index = 1, .text = "{}"});
    return bytes + writer->end(StopReason::tool_calls, usage);
}

Result<Reply> read_back(FormatId format, const std::string& bytes) {
    const auto reader = make_stream_reader(format);
    PAL_CHECK(reader->feed(bytes));
    return reader->finish();
}

}  // namespace

int main() {
    std::string json;
    JsonWriter out(json);
    out.begin_object();
    for (const FormatId format :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic}) {
        out.key(format_name(format)).begin_object();
        for (const std::string_view scene : {"text", "calls"}) {
            const std::string bytes = stream_of(format, scene);
            const auto reply = read_back(format, bytes);
            if (!reply) {
                std::fprintf(stderr, "%s\n", reply.error().message.c_str());
                return 1;
            }
            out.key(scene).begin_object();
            out.field("stream", bytes).field("reply", reply->body).end_object();
        }
        out.end_object();
    }
    out.end_object();
    std::puts(json.c_str());
    return 0;
}
