#include "server/response_events.h"

#include <algorithm>

#include "base/json_write.h"
#include "format/json_edit.h"
#include "server/item_events.h"
#include "server/openai_items.h"

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

// Those that carry the whole response: ours take their place.
bool is_lifecycle(std::string_view type) {
    return is_end(type) || type == "response.created" || type == "response.in_progress" ||
           type == "response.queued" || type == "error";
}

std::string_view text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->string() : std::string_view();
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

std::string ResponseEvents::pass(std::string_view events) {
    passed_ = true;
    std::string bytes;
    (void)incoming_.feed(events, [&](auto, std::string_view data) -> Result<void> {
        bytes += pass_event(data);
        return {};
    });
    return bytes;
}

// Learned when the item is announced.
std::string ResponseEvents::own_id(JsonValue event) {
    const auto place = event.find("output_index");
    const std::int64_t index = place ? place->integer().value_or(0) : 0;
    if (const auto item = event.find("item")) {
        const auto at = static_cast<std::size_t>(std::max<std::int64_t>(index, 0));
        ids_[index] = output_item_id(state_.id, text_at(*item, "type"), at);
        announced_ = std::max(announced_, at + 1);
    }
    return ids_[index];
}

std::string ResponseEvents::pass_event(std::string_view data) {
    const auto document = parse_json(data);
    if (!document || !document->root().is_object()) return {};
    const JsonValue event = document->root();
    const std::string_view type = text_at(event, "type");
    if (is_lifecycle(type)) return {};
    const std::string id = json_string(own_id(event));
    std::string own;
    JsonWriter out(own);
    out.begin_object();
    for (const JsonMember member : event.members()) {
        if (member.key == "sequence_number") continue;
        out.key(member.key);
        if (member.key == "item_id")
            out.raw(id);
        else if (member.key == "item")
            out.raw(with_member(member.value, "id", id));
        else
            out.raw(member.value.raw());
    }
    out.key("sequence_number").number(sequence_++).end_object();
    return sse_event(type, own);
}

// The writer closes what is open; its own last event is left out, and tells how many items there
// are.
void ResponseEvents::close_writer(const ResponseState& state, StopReason stop, const Tell& tell) {
    const bool cut = state.status == "incomplete" || state.status == "cancelled";
    const std::string closing = writer_->end(stop, state.usage.value_or(ReplyUsage{}));
    SseParser parser;
    (void)parser.feed(closing, [&](std::string_view name, std::string_view data) -> Result<void> {
        PAL_TRY(document, parse_json(data));
        const JsonValue event = document.root();
        sequence_ = static_cast<std::uint64_t>(number_of(event));
        const auto response = event.find("response");
        const auto output = response ? response->find("output") : std::nullopt;
        if (output) announced_ = output->size();
        if (is_end(name)) return {};
        const auto item = cut ? event.find("item") : std::nullopt;
        tell(sse_event(name,
                       item ? with_member(event, "item", incomplete_item(std::string(item->raw())))
                            : std::string(data)));
        return {};
    });
}

void ResponseEvents::end(const ResponseState& state, StopReason stop, const Tell& tell) {
    if (!passed_) close_writer(state, stop, tell);
    for (std::size_t index = announced_; index < state.output.size(); ++index)
        tell(write_item_events(output_item(state, index), index, sequence_));
    tell(lifecycle_event(end_event(state), sequence_, state));
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
    events.end(state, StopReason::end, [&](std::string_view event) { bytes += event; });
    return bytes;
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
