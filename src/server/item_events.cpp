#include "server/item_events.h"

#include "base/json.h"
#include "base/json_write.h"
#include "format/json_edit.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

std::string_view text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->string() : std::string_view();
}

// What of an item comes in pieces: the list of its parts, and the events of one part's text.
struct Parts {
    std::string_view type, list, part_type, text_field, index_field, part_event, text_event;
};
constexpr Parts parts_table[] = {
    {"message", "content", "output_text", "text", "content_index", "response.content_part",
     "response.output_text"},
    {"message", "content", "refusal", "refusal", "content_index", "response.content_part",
     "response.refusal"},
    {"reasoning", "summary", "summary_text", "text", "summary_index",
     "response.reasoning_summary_part", "response.reasoning_summary_text"},
};

class ItemEvents {
public:
    ItemEvents(JsonValue item, std::size_t index, std::uint64_t& sequence)
        : item_(item), index_(index), sequence_(sequence) {}

    std::string write() {
        item_event("response.output_item.added", empty_item());
        if (text_at(item_, "type") == "function_call") tell_arguments();
        for (const Parts& parts : parts_table)
            if (parts.type == text_at(item_, "type")) tell_parts(parts);
        item_event("response.output_item.done", std::string(item_.raw()));
        return std::move(bytes_);
    }

private:
    template <class Write>
    void event(const std::string& type, Write&& write) {
        std::string data;
        JsonWriter out(data);
        out.begin_object().field("type", type).key("sequence_number").number(sequence_++);
        write(out);
        out.key("output_index").number(std::uint64_t{index_}).end_object();
        bytes_ += sse_event(type, data);
    }

    void item_event(const std::string& type, const std::string& item) {
        event(type, [&](JsonWriter& out) { out.key("item").raw(item); });
    }

    // As it is before its pieces come.
    std::string empty_item() const {
        const std::string_view type = text_at(item_, "type");
        std::string item(item_.raw());
        if (type == "message") item = with_member(item_, "content", "[]");
        if (type == "reasoning") item = with_member(item_, "summary", "[]");
        if (type == "function_call") item = with_member(item_, "arguments", "\"\"");
        const auto empty = parse_json(item);
        if (empty && text_at(item_, "status") == "completed")
            return with_member(empty->root(), "status", "\"in_progress\"");
        return item;
    }

    void tell_arguments() {
        const std::string stem = "response.function_call_arguments";
        const std::string_view arguments = text_at(item_, "arguments");
        const std::string_view id = text_at(item_, "id"), name = text_at(item_, "name");
        event(stem + ".delta",
              [&](JsonWriter& out) { out.field("item_id", id).field("delta", arguments); });
        event(stem + ".done", [&](JsonWriter& out) {
            out.field("item_id", id).field("name", name).field("arguments", arguments);
        });
    }

    void tell_parts(const Parts& parts) {
        const auto list = item_.find(parts.list);
        std::uint64_t index = 0;
        if (!list) return;
        for (const JsonValue part : list->elements()) {
            if (text_at(part, "type") == parts.part_type) tell_part(parts, part, index);
            ++index;
        }
    }

    void tell_part(const Parts& parts, JsonValue part, std::uint64_t index) {
        const std::string stem(parts.text_event), around(parts.part_event);
        const std::string_view text = text_at(part, parts.text_field);
        const auto tell = [&](const std::string& type, std::string_view field,
                              const std::string& json) {
            event(type, [&](JsonWriter& out) {
                out.field("item_id", text_at(item_, "id")).key(parts.index_field).number(index);
                out.key(field).raw(json);
                if (type == "response.output_text.delta" || type == "response.output_text.done")
                    out.key("logprobs").begin_array().end_array();
            });
        };
        tell(around + ".added", "part", with_member(part, parts.text_field, "\"\""));
        tell(stem + ".delta", "delta", json_string(text));
        tell(stem + ".done", parts.text_field, json_string(text));
        tell(around + ".done", "part", std::string(part.raw()));
    }

    JsonValue item_;
    std::size_t index_;
    std::uint64_t& sequence_;
    std::string bytes_;
};

}  // namespace

std::string write_item_events(std::string_view item, std::size_t output_index,
                              std::uint64_t& sequence) {
    const auto document = parse_json(item);
    return document ? ItemEvents(document->root(), output_index, sequence).write() : std::string();
}

}  // namespace palimpsest
