// Writes the stream of Chat Completions: chunks with one delta each, a finish_reason, the usage,
// [DONE]. Clients insist on `choices` with `index` in every chunk and a role in the first delta.
#include "base/json_write.h"
#include "format/openai_chat/openai_chat.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

class ChatWriter final : public StreamWriter {
public:
    explicit ChatWriter(StreamIdentity identity) : identity_(std::move(identity)) {}

    std::string begin() override {
        const auto write = [](JsonWriter& out) {
            out.field("role", "assistant").field("content", "").key("refusal").null();
        };
        return chunk(write, {});
    }

    std::string add(const StreamDelta& delta) override {
        return chunk([&](JsonWriter& out) { write_delta(out, delta); }, {});
    }

    std::string end(StopReason stop, const ReplyUsage& usage) override {
        std::string bytes = chunk([](JsonWriter&) {}, openai_chat_format.stop_word(stop));
        return bytes + usage_chunk(usage) + sse_event({}, "[DONE]");
    }

private:
    static void write_delta(JsonWriter& out, const StreamDelta& delta) {
        using Kind = StreamDelta::Kind;
        if (delta.kind == Kind::text) out.field("content", delta.text);
        if (delta.kind == Kind::refusal) out.field("refusal", delta.text);
        if (delta.kind == Kind::reasoning) out.field("reasoning_content", delta.text);
        if (delta.kind != Kind::call && delta.kind != Kind::arguments) return;
        out.key("tool_calls").begin_array().begin_object();
        out.key("index").number(std::uint64_t{delta.index});
        if (delta.kind == Kind::call) out.field("id", delta.id).field("type", "function");
        out.key("function").begin_object();
        if (delta.kind == Kind::call) out.field("name", delta.name);
        out.field("arguments", delta.kind == Kind::call ? "" : delta.text);
        out.end_object().end_object().end_array();
    }

    void write_head(JsonWriter& out) const {
        out.field("id", identity_.id).field("object", "chat.completion.chunk");
        out.key("created").number(identity_.created).field("model", identity_.model);
    }

    template <class WriteDelta>
    std::string chunk(WriteDelta&& write, std::string_view finish) const {
        std::string data;
        JsonWriter out(data);
        out.begin_object();
        write_head(out);
        out.key("choices").begin_array().begin_object().key("index").number(0);
        out.key("delta").begin_object();
        write(out);
        out.end_object().key("logprobs").null().key("finish_reason");
        if (finish.empty())
            out.null();
        else
            out.string(finish);
        out.end_object().end_array().end_object();
        return sse_event({}, data);
    }

    std::string usage_chunk(const ReplyUsage& usage) const {
        std::string data;
        JsonWriter out(data);
        out.begin_object();
        write_head(out);
        out.key("choices").begin_array().end_array().key("usage").begin_object();
        out.key("prompt_tokens").number(usage.input_tokens);
        out.key("completion_tokens").number(usage.output_tokens);
        out.key("total_tokens").number(usage.input_tokens + usage.output_tokens);
        out.key("prompt_tokens_details").begin_object();
        out.key("cached_tokens").number(usage.cached_tokens).end_object();
        out.key("completion_tokens_details").begin_object();
        out.key("reasoning_tokens").number(usage.reasoning_tokens).end_object();
        out.end_object().end_object();
        return sse_event({}, data);
    }

    StreamIdentity identity_;
};

}  // namespace

std::unique_ptr<StreamWriter> make_openai_chat_writer(StreamIdentity identity) {
    return std::make_unique<ChatWriter>(std::move(identity));
}

}  // namespace palimpsest
