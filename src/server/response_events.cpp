#include "server/response_events.h"

#include "base/json_write.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "format/sse.h"

namespace palimpsest {
namespace {

std::int64_t number_of(JsonValue event) {
    const auto value = event.find("sequence_number");
    return value ? value->integer().value_or(0) : 0;
}

bool is_end(std::string_view type) {
    return type == "response.completed" || type == "response.incomplete" ||
           type == "response.failed";
}

// The event that tells how it ended. A cancelled one has none of its own.
std::string_view end_event(const ResponseState& state) {
    if (state.status == "completed") return "response.completed";
    return state.status == "failed" ? "response.failed" : "response.incomplete";
}

StreamIdentity identity_of(const ResponseState& state) {
    return {.id = state.id, .model = state.model, .created = state.created};
}

std::string lifecycle_event(std::string_view type, std::uint64_t sequence,
                            const ResponseState& state) {
    std::string event;
    JsonWriter out(event);
    out.begin_object().field("type", type).key("sequence_number").number(sequence);
    out.key("response").raw(write_response(state)).end_object();
    return sse_event(type, event);
}

// The pieces of one item of an output, each in one.
std::string tell_again(ResponseEvents& events, std::string_view item) {
    using Kind = StreamDelta::Kind;
    std::string bytes;
    const auto document = parse_json(item);
    if (!document) return bytes;
    const auto neutral = format_of(item_format).read(document->root());
    if (!neutral) return bytes;
    for (const NeutralPart& part : neutral->parts) {
        if (part.kind == PartKind::text)
            bytes += events.add({.kind = Kind::text, .text = part.text});
        else if (part.kind == PartKind::refusal)
            bytes += events.add({.kind = Kind::refusal, .text = part.text});
        else if (part.kind == PartKind::reasoning)
            bytes += events.add({.kind = Kind::reasoning, .text = part.text});
        if (!is_function_call(part)) continue;
        bytes += events.add({.kind = Kind::call, .id = part.id, .name = part.name});
        bytes += events.add({.kind = Kind::arguments, .text = part.arguments});
    }
    return bytes;
}

}  // namespace

ResponseEvents::ResponseEvents(ResponseState state)
    : state_(std::move(state)), writer_(make_stream_writer(item_format, identity_of(state_))) {}

std::string ResponseEvents::begin() {
    (void)writer_->begin();  // It counts its own two, which are written here with all they have.
    sequence_ = 2;
    return lifecycle_event("response.created", 0, state_) +
           lifecycle_event("response.in_progress", 1, state_);
}

// A text without a letter is no item of the output either.
std::string ResponseEvents::add(const StreamDelta& delta) {
    using Kind = StreamDelta::Kind;
    const bool texts = delta.kind == Kind::text || delta.kind == Kind::refusal;
    if (texts && delta.text.empty()) return {};
    return writer_->add(delta);
}

// The writer closes what is open; its own last event is replaced.
std::string ResponseEvents::end(const ResponseState& state, StopReason stop,
                                const std::vector<ShownItem>& items) {
    std::string bytes;
    std::size_t announced = 0;
    for (const StreamedEvent& event :
         split_events(writer_->end(stop, state.usage.value_or(ReplyUsage{})))) {
        sequence_ = static_cast<std::uint64_t>(event.sequence);
        if (!event.last) {
            bytes += event.bytes;
            continue;
        }
        SseParser parser;
        (void)parser.feed(event.bytes, [&](auto, std::string_view data) -> Result<void> {
            PAL_TRY(document, parse_json(data));
            const auto response = document.root().find("response");
            const auto output = response ? response->find("output") : std::nullopt;
            announced = output ? output->size() : 0;
            return {};
        });
    }
    for (std::size_t index = announced; index < items.size(); ++index)
        bytes += item_events(items[index], index);
    return bytes += lifecycle_event(end_event(state), sequence_, state);
}

std::string ResponseEvents::item_events(const ShownItem& item, std::size_t index) {
    std::string bytes;
    for (const std::string_view type :
         {"response.output_item.added", "response.output_item.done"}) {
        std::string event;
        JsonWriter out(event);
        out.begin_object().field("type", type).key("sequence_number").number(sequence_++);
        out.key("output_index").number(std::uint64_t{index}).key("item").raw(item.json);
        out.end_object();
        bytes += sse_event(type, event);
    }
    return bytes;
}

std::string replay_events(const ResponseState& state) {
    ResponseState open = state;
    open.status = "in_progress";
    open.output.clear();
    open.usage.reset();
    open.error.reset();
    open.completed = 0;
    ResponseEvents events(std::move(open));
    std::string bytes = events.begin();
    std::vector<ShownItem> items;
    for (const std::string& json : state.output) {
        items.push_back({.json = json});
        bytes += tell_again(events, json);
    }
    return bytes += events.end(state, StopReason::end, items);
}

std::string renumbered(std::string_view event, std::int64_t sequence) {
    std::string bytes;
    SseParser parser;
    (void)parser.feed(event, [&](std::string_view name, std::string_view data) -> Result<void> {
        PAL_TRY(document, parse_json(data));
        bytes += sse_event(
            name, with_member(document.root(), "sequence_number", std::to_string(sequence)));
        return {};
    });
    return bytes;
}

std::vector<StreamedEvent> split_events(std::string_view stream) {
    std::vector<StreamedEvent> events;
    SseParser parser;
    const auto take = [&](std::string_view name, std::string_view data) -> Result<void> {
        StreamedEvent event{.bytes = sse_event(name, data), .last = is_end(name)};
        if (const auto document = parse_json(data)) event.sequence = number_of(document->root());
        events.push_back(std::move(event));
        return {};
    };
    (void)parser.feed(stream, take);
    return events;
}

}  // namespace palimpsest
