// Reads Anthropic's event stream: message_start, blocks that start, grow and stop, message_delta,
// message_stop. The reply is the message of message_start with the grown blocks in it.
#include <utility>

#include "base/json_write.h"
#include "format/anthropic/anthropic.h"
#include "format/fields.h"
#include "format/json_edit.h"
#include "format/reply.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

struct Block {
    std::string start;  // the block as it was announced
    std::string text, thinking, signature, input, content;
    std::vector<std::string> citations;
    bool has_text = false, has_input = false, has_content = false;
    bool stopped = false;
    std::size_t call = 0;

    std::string_view whole_input() const { return input.empty() ? "{}" : std::string_view(input); }
    bool is_whole() const { return !has_input || is_whole_json(whole_input()); }
};

void set_string(std::string& json, std::string_view key, const std::string& value) {
    const auto document = parse_json(json);
    if (document) json = with_member(document->root(), key, json_string(value));
}

void set_raw(std::string& json, std::string_view key, const std::string& value) {
    const auto document = parse_json(json);
    if (document) json = with_member(document->root(), key, value);
}

// The block as a non-streamed reply would have it.
std::string finished(const Block& block) {
    std::string json = block.start;
    if (block.has_text) set_string(json, "text", block.text);
    if (!block.thinking.empty()) set_string(json, "thinking", block.thinking);
    if (!block.signature.empty()) set_string(json, "signature", block.signature);
    if (block.has_content) set_string(json, "content", block.content);
    if (!block.citations.empty()) set_raw(json, "citations", json_list(block.citations));
    if (block.has_input) set_raw(json, "input", std::string(block.whole_input()));
    return json;
}

// The block as far as it came, its input as the text that it is.
std::string unfinished(Block block) {
    const std::string input = std::move(block.input);
    const bool has_input = std::exchange(block.has_input, false);
    std::string json = finished(block);
    if (has_input) set_string(json, "input", input);
    return json;
}

// Nobody holds a model to JSON when its input is streamed finely: a call that it made in full goes
// into the object that stands for arguments of another kind.
Block with_text_input(Block block) {
    block.input = arguments_object({.kind = PartKind::tool_call, .arguments = block.input});
    return block;
}

class AnthropicReader final : public StreamReader {
public:
    explicit AnthropicReader(OnDelta on_delta) : on_delta_(std::move(on_delta)) {}

    Result<void> feed(std::string_view bytes) override {
        return sse_.feed(bytes, [this](auto, std::string_view data) { return event(data); });
    }

    Result<Reply> finish() override {
        PAL_CHECK(sse_.finish([this](auto, std::string_view data) { return event(data); }));
        if (message_.empty())
            return fail(ErrorCode::upstream_failed, "the stream ended before it began");
        std::vector<std::string> blocks, rest;
        for (const auto& block : blocks_) {
            if (is_usable(block))
                blocks.push_back(finished(block));
            else if (is_call_with_text(block))
                blocks.push_back(finished(with_text_input(block)));
            else
                rest.push_back(unfinished(block));
        }
        // A place that no block was announced for.
        std::erase(rest, "");
        set_raw(message_, "content", json_list(blocks));
        PAL_TRY(reply, read_reply(FormatId::anthropic, message_));
        reply.interrupted = !stopped_;
        PAL_CHECK(keep_unfinished(reply, FormatId::anthropic, rest));
        return reply;
    }

private:
    // Calls only when they are whole. Of an interrupted reply: text always, thinking likewise.
    bool is_usable(const Block& block) const {
        return block.is_whole() && (stopped_ || block.stopped || block.has_text);
    }

    // The reply ended because of its calls, so this one is as the model wanted it.
    bool is_call_with_text(const Block& block) const {
        const auto message = parse_json(message_), start = parse_json(block.start);
        return stopped_ && message && start &&
               any_string(message->root(), "stop_reason") ==
                   anthropic_format.stop_word(StopReason::tool_calls) &&
               any_string(start->root(), "type") == "tool_use";
    }

    // What comes after the end is another message's.
    Result<void> event(std::string_view data) {
        if (stopped_) return {};
        PAL_TRY(document, parse_json(data));
        const JsonValue root = document.root();
        const std::string_view type = any_string(root, "type");
        PAL_CHECK(refuse_error_event(root));
        const auto index = root.find("index");
        const auto at = static_cast<std::size_t>(index ? index->integer().value_or(0) : 0);
        if (type == "message_start") return start(root);
        if (type == "content_block_start") return start_block(root, at);
        if (type == "content_block_delta" && at < blocks_.size()) return grow(root, at);
        if (type == "content_block_stop" && at < blocks_.size()) stop_block(blocks_[at]);
        if (type == "message_delta") change(root);
        if (type == "message_stop") stopped_ = true;
        return {};
    }

    // Some gateways send the opening twice; the first one counts.
    Result<void> start(JsonValue root) {
        const auto message = root.find("message");
        if (!message || !message->is_object())
            return fail(ErrorCode::upstream_failed, "message_start carries no message");
        if (message_.empty()) message_ = message->raw();
        return {};
    }

    Result<void> start_block(JsonValue root, std::size_t at) {
        const auto block = root.find("content_block");
        if (!block || at > blocks_.size() + 64)
            return fail(ErrorCode::upstream_failed, "content_block_start carries no block");
        if (at >= blocks_.size()) blocks_.resize(at + 1);
        Block& fresh = blocks_[at];
        fresh = {};
        fresh.start = block->raw();
        if (any_string(*block, "type") == "tool_use") {
            fresh.call = calls_++;
            send({.kind = StreamDelta::Kind::call,
                  .index = fresh.call,
                  .id = any_string(*block, "id"),
                  .name = any_string(*block, "name")});
        }
        begin_with(fresh, *block);
        return {};
    }

    // What the block has from its start; what comes later is added to it.
    void begin_with(Block& fresh, JsonValue block) {
        using Kind = StreamDelta::Kind;
        fresh.has_text = any_string(block, "type") == "text";
        if (fresh.has_text) say(fresh.text, Kind::text, any_string(block, "text"));
        say(fresh.thinking, Kind::reasoning, any_string(block, "thinking"));
        fresh.content = any_string(block, "content");
    }

    void say(std::string& grown, StreamDelta::Kind kind, std::string_view more) {
        grown += more;
        if (!more.empty()) send({.kind = kind, .text = more});
    }

    // An input that came with the start and not in pieces.
    void stop_block(Block& block) {
        block.stopped = true;
        const auto start = parse_json(block.start);
        const auto input = start && !block.has_input ? start->root().find("input") : std::nullopt;
        if (input && input->size() > 0 && any_string(start->root(), "type") == "tool_use")
            send({.kind = StreamDelta::Kind::arguments, .index = block.call, .text = input->raw()});
    }

    Result<void> grow(JsonValue root, std::size_t at) {
        Block& block = blocks_[at];
        const auto delta = root.find("delta");
        if (!delta) return {};
        const std::string_view type = any_string(*delta, "type");
        if (type == "text_delta") {
            say(block.text, StreamDelta::Kind::text, any_string(*delta, "text"));
        } else if (type == "input_json_delta") {
            block.has_input = true;
            block.input += any_string(*delta, "partial_json");
            send({.kind = StreamDelta::Kind::arguments,
                  .index = block.call,
                  .text = any_string(*delta, "partial_json")});
        } else if (type == "thinking_delta") {
            say(block.thinking, StreamDelta::Kind::reasoning, any_string(*delta, "thinking"));
        } else if (type == "signature_delta") {
            block.signature += any_string(*delta, "signature");
        } else if (type == "citations_delta") {
            if (const auto citation = delta->find("citation"))
                block.citations.emplace_back(citation->raw());
        } else if (type == "compaction_delta") {
            block.has_content = true;
            block.content += any_string(*delta, "content");
        }
        return {};
    }

    // Fields of `delta` replace the message's; those of `usage` replace single counts.
    void change(JsonValue root) {
        if (const auto delta = root.find("delta"))
            for (const JsonMember& member : delta->members())
                set_raw(message_, member.key, std::string(member.value.raw()));
        for (const JsonMember& member : root.members())
            if (member.key != "type" && member.key != "delta" && member.key != "usage")
                set_raw(message_, member.key, std::string(member.value.raw()));
        const auto usage = root.find("usage");
        const auto document = parse_json(message_);
        if (!usage || !document) return;
        const auto before = document->root().find("usage");
        std::string merged(before && before->is_object() ? before->raw() : "{}");
        for (const JsonMember& member : usage->members())
            set_raw(merged, member.key, std::string(member.value.raw()));
        set_raw(message_, "usage", merged);
    }

    void send(const StreamDelta& delta) {
        if (on_delta_) on_delta_(delta);
    }

    OnDelta on_delta_;
    SseParser sse_;
    std::string message_;
    std::vector<Block> blocks_;
    std::size_t calls_ = 0;
    bool stopped_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> make_anthropic_reader(OnDelta on_delta) {
    return std::make_unique<AnthropicReader>(std::move(on_delta));
}

}  // namespace palimpsest
