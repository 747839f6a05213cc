// Writes Anthropic's event stream: one block is open at a time, its index counts up.
#include "base/json_write.h"
#include "format/anthropic/anthropic.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

class AnthropicWriter final : public StreamWriter {
public:
    explicit AnthropicWriter(StreamIdentity identity) : identity_(std::move(identity)) {}

    std::string begin() override {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", "message_start").key("message").begin_object();
        out.field("id", identity_.id).field("type", "message").field("role", "assistant");
        out.field("model", identity_.model).key("content").begin_array().end_array();
        out.key("stop_reason").null().key("stop_sequence").null();
        out.key("usage").begin_object().key("input_tokens").number(0);
        out.key("output_tokens").number(0).end_object().end_object().end_object();
        return sse_event("message_start", data);
    }

    std::string add(const StreamDelta& delta) override {
        using Kind = StreamDelta::Kind;
        // Each step changes what the next one writes, so they are statements of their own.
        if (delta.kind == Kind::call) {
            std::string bytes = close();
            return bytes += open(Open::call, delta);
        }
        if (delta.kind == Kind::arguments)
            return open_ == Open::call ? grow("input_json_delta", "partial_json", delta.text) : "";
        const bool thinking = delta.kind == Kind::reasoning;
        const Open wanted = thinking ? Open::thinking : Open::text;
        std::string bytes;
        if (open_ != wanted) {
            bytes = close();
            bytes += open(wanted, delta);
        }
        return bytes += thinking ? grow("thinking_delta", "thinking", delta.text)
                                 : grow("text_delta", "text", delta.text);
    }

    std::string end(StopReason stop, const ReplyUsage& usage) override {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", "message_delta").key("delta").begin_object();
        out.field("stop_reason", anthropic_format.stop_word(stop));
        out.key("stop_sequence").null().end_object().key("usage").begin_object();
        const std::uint64_t cached = usage.cached_tokens + usage.cache_write_tokens;
        out.key("input_tokens")
            .number(usage.input_tokens > cached ? usage.input_tokens - cached : std::uint64_t{0});
        out.key("cache_creation_input_tokens").number(usage.cache_write_tokens);
        out.key("cache_read_input_tokens").number(usage.cached_tokens);
        out.key("output_tokens").number(usage.output_tokens).end_object().end_object();
        return close() + sse_event("message_delta", data) +
               sse_event("message_stop", R"({"type":"message_stop"})");
    }

private:
    enum class Open : std::uint8_t { none, text, thinking, call };

    std::string open(Open kind, const StreamDelta& delta) {
        open_ = kind;
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", "content_block_start").key("index").number(index_);
        out.key("content_block").begin_object();
        if (kind == Open::text) out.field("type", "text").field("text", "");
        if (kind == Open::thinking)
            out.field("type", "thinking").field("thinking", "").field("signature", "");
        if (kind == Open::call) {
            out.field("type", "tool_use").field("id", delta.id).field("name", delta.name);
            out.key("input").begin_object().end_object();
        }
        out.end_object().end_object();
        return sse_event("content_block_start", data);
    }

    std::string grow(std::string_view type, std::string_view field, std::string_view text) const {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", "content_block_delta").key("index").number(index_);
        out.key("delta").begin_object().field("type", type).field(field, text);
        out.end_object().end_object();
        return sse_event("content_block_delta", data);
    }

    std::string close() {
        if (open_ == Open::none) return "";
        open_ = Open::none;
        std::string data;
        JsonWriter(data)
            .begin_object()
            .field("type", "content_block_stop")
            .key("index")
            .number(index_++)
            .end_object();
        return sse_event("content_block_stop", data);
    }

    StreamIdentity identity_;
    Open open_ = Open::none;
    std::uint64_t index_ = 0;
};

}  // namespace

std::unique_ptr<StreamWriter> make_anthropic_writer(StreamIdentity identity) {
    return std::make_unique<AnthropicWriter>(std::move(identity));
}

}  // namespace palimpsest
