// Writes the stream of Responses. One item is open at a time; every event has its sequence number,
// every item event its output index and item id, and the closing event the whole output, because
// the official clients check all of it.
#include "base/json_write.h"
#include "format/json_edit.h"
#include "format/openai_responses/openai_responses.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

class ResponsesWriter final : public StreamWriter {
public:
    explicit ResponsesWriter(StreamIdentity identity) : identity_(std::move(identity)) {}

    std::string begin() override {
        std::string bytes = event("response.created", [&](JsonWriter& out) {
            write_response(out, "in_progress", nullptr);
        });
        return bytes += event("response.in_progress", [&](JsonWriter& out) {
                   write_response(out, "in_progress", nullptr);
               });
    }

    std::string add(const StreamDelta& delta) override {
        using Kind = StreamDelta::Kind;
        // Each step changes what the next one writes, so they are statements of their own.
        if (delta.kind == Kind::call) {
            std::string bytes = close();
            return bytes += open_call(delta);
        }
        if (delta.kind == Kind::arguments) return open_ == Open::call ? grow(delta.text) : "";
        const Open wanted = delta.kind == Kind::reasoning ? Open::reasoning
                            : delta.kind == Kind::refusal ? Open::refusal
                                                          : Open::text;
        std::string bytes;
        if (open_ != wanted) {
            bytes = close();
            bytes += open_part(wanted);
        }
        return bytes += grow(delta.text);
    }

    std::string end(StopReason stop, const ReplyUsage& usage) override {
        std::string bytes = close();
        stop_ = stop;
        const bool whole = stop != StopReason::length && stop != StopReason::refusal;
        const std::string_view status = whole ? "completed" : "incomplete";
        return bytes += event("response." + std::string(status),
                              [&](JsonWriter& out) { write_response(out, status, &usage); });
    }

private:
    enum class Open : std::uint8_t { none, text, refusal, reasoning, call };

    template <class Write>
    std::string event(std::string_view type, Write&& write) {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", type).key("sequence_number").number(sequence_++);
        write(out);
        out.end_object();
        return sse_event(type, data);
    }

    std::string item_id() const {
        constexpr std::string_view prefixes[] = {"", "msg_", "msg_", "rs_", "fc_"};
        return std::string(prefixes[static_cast<std::size_t>(open_)]) + identity_.id + "_" +
               std::to_string(done_.size());
    }

    void write_place(JsonWriter& out) const {
        out.field("item_id", item_id()).key("output_index").number(std::uint64_t{done_.size()});
        if (open_ == Open::text || open_ == Open::refusal) out.key("content_index").number(0);
        if (open_ == Open::reasoning) out.key("summary_index").number(0);
    }

    void write_part(JsonWriter& out) const {
        out.begin_object();
        if (open_ == Open::text) {
            out.field("type", "output_text").field("text", text_);
            out.key("annotations").begin_array().end_array();
            out.key("logprobs").begin_array().end_array();
        } else if (open_ == Open::refusal) {
            out.field("type", "refusal").field("refusal", text_);
        } else {
            out.field("type", "summary_text").field("text", text_);
        }
        out.end_object();
    }

    // The open item as it stands: empty when it is added, whole when it is done.
    std::string item(bool done) const {
        std::string json;
        JsonWriter out(json);
        out.begin_object().field("id", item_id());
        const std::string_view status = done ? "completed" : "in_progress";
        if (open_ == Open::call) {
            out.field("type", "function_call").field("status", status);
            out.field("call_id", call_id_).field("name", name_).field("arguments", text_);
        } else if (open_ == Open::reasoning) {
            out.field("type", "reasoning").key("summary").begin_array();
            if (done) write_part(out);
            out.end_array();
        } else {
            out.field("type", "message").field("status", status).field("role", "assistant");
            out.key("content").begin_array();
            if (done) write_part(out);
            out.end_array();
        }
        out.end_object();
        return json;
    }

    std::string item_event(std::string_view type, bool done) {
        return event(type, [&](JsonWriter& out) {
            out.key("output_index").number(std::uint64_t{done_.size()}).key("item").raw(item(done));
        });
    }

    std::string part_event(std::string_view type) {
        return event(type, [&](JsonWriter& out) {
            write_place(out);
            out.key("part");
            write_part(out);
        });
    }

    std::string open_call(const StreamDelta& delta) {
        open_ = Open::call;
        text_.clear();
        call_id_ = delta.id;
        name_ = delta.name;
        return item_event("response.output_item.added", false);
    }

    std::string open_part(Open kind) {
        open_ = kind;
        text_.clear();
        std::string bytes = item_event("response.output_item.added", false);
        return bytes += part_event(kind == Open::reasoning ? "response.reasoning_summary_part.added"
                                                           : "response.content_part.added");
    }

    std::string_view stem() const {
        constexpr std::string_view stems[] = {"", "response.output_text", "response.refusal",
                                              "response.reasoning_summary_text",
                                              "response.function_call_arguments"};
        return stems[static_cast<std::size_t>(open_)];
    }

    std::string grow(std::string_view text) {
        text_ += text;
        return event(std::string(stem()) + ".delta", [&](JsonWriter& out) {
            write_place(out);
            out.field("delta", text);
            if (open_ == Open::text) out.key("logprobs").begin_array().end_array();
        });
    }

    std::string close() {
        if (open_ == Open::none) return "";
        constexpr std::string_view fields[] = {"", "text", "refusal", "text", "arguments"};
        std::string bytes = event(std::string(stem()) + ".done", [&](JsonWriter& out) {
            write_place(out);
            out.field(fields[static_cast<std::size_t>(open_)], text_);
            if (open_ == Open::text) out.key("logprobs").begin_array().end_array();
            if (open_ == Open::call) out.field("name", name_);
        });
        if (open_ == Open::reasoning)
            bytes += part_event("response.reasoning_summary_part.done");
        else if (open_ != Open::call)
            bytes += part_event("response.content_part.done");
        bytes += item_event("response.output_item.done", true);
        done_.push_back(item(true));
        open_ = Open::none;
        return bytes;
    }

    void write_usage(JsonWriter& out, const ReplyUsage& usage) const {
        out.begin_object().key("input_tokens").number(usage.input_tokens);
        out.key("input_tokens_details").begin_object().key("cached_tokens");
        out.number(usage.cached_tokens).end_object();
        out.key("output_tokens").number(usage.output_tokens);
        out.key("output_tokens_details").begin_object().key("reasoning_tokens");
        out.number(usage.reasoning_tokens).end_object();
        out.key("total_tokens").number(usage.input_tokens + usage.output_tokens).end_object();
    }

    void write_response(JsonWriter& out, std::string_view status, const ReplyUsage* usage) const {
        out.key("response").begin_object().field("id", identity_.id).field("object", "response");
        out.key("created_at").number(identity_.created).field("status", status);
        out.key("error").null().key("incomplete_details");
        if (status == "incomplete")
            out.begin_object()
                .field("reason", openai_responses_format.stop_word(stop_))
                .end_object();
        else
            out.null();
        out.field("model", identity_.model).key("output").raw(json_list(done_));
        out.key("parallel_tool_calls").boolean(true).field("tool_choice", "auto");
        out.key("tools").begin_array().end_array().key("usage");
        if (usage)
            write_usage(out, *usage);
        else
            out.null();
        out.end_object();
    }

    StreamIdentity identity_;
    Open open_ = Open::none;
    StopReason stop_ = StopReason::end;
    std::string text_, call_id_, name_;
    std::vector<std::string> done_;
    std::uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<StreamWriter> make_openai_responses_writer(StreamIdentity identity) {
    return std::make_unique<ResponsesWriter>(std::move(identity));
}

}  // namespace palimpsest
