// A reply in another format. It takes the way of a stream: its parts become the pieces that the
// target's writer turns into events and the target's reader into a body, so that there is one place
// for every format that knows what a reply looks like.
#include "format/citations.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/reply.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

StreamIdentity identity_of(const Format& from, JsonValue body, StreamIdentity given) {
    if (given.id.empty()) given.id = any_string(body, "id");
    if (given.model.empty()) given.model = any_string(body, "model");
    const auto time = from.created_field.empty() ? std::nullopt : body.find(from.created_field);
    if (time && given.created == 0)
        given.created = static_cast<std::int64_t>(time->number().value_or(0));
    return given;
}

// What was said, as the pieces of a stream.
class Telling {
public:
    // `citations`: where links go; null: they are lost.
    Telling(const Format& to, const OnDelta& on_delta, std::vector<Citation>* citations = nullptr)
        : to_(to), on_delta_(on_delta), citations_(citations) {}

    Result<void> add(const Message& message) {
        PAL_TRY(document, parse_json(view_of(message.raw)));
        PAL_TRY(neutral, format_of(message.format).read(document.root()));
        for (const NeutralPart& part : neutral.parts) add(part);
        return {};
    }
    std::vector<std::string> take_lost() { return std::move(lost_); }

private:
    void add(const NeutralPart& part) {
        using Kind = StreamDelta::Kind;
        if (part.annotated && !(citations_ && read_citations(part, characters_, *citations_)))
            lose(lost_, part, "citations are not carried over");
        if (part.kind == PartKind::refusal)
            on_delta_({.kind = Kind::refusal, .text = part.text});
        else if (is_textual(part))
            add_text(textual(part));
        else if (is_function_call(part))
            add_call(part);
        else if (part.kind == PartKind::reasoning && !part.text.empty())
            on_delta_({.kind = Kind::reasoning, .text = part.text});
        else if (part.kind == PartKind::reasoning)
            lose(lost_, part, "reasoning is not carried over");
        else
            lose(lost_, part, "has no form in a reply of the other format");
    }

    void add_text(std::string_view text) {
        characters_ += count_characters(text);
        on_delta_({.kind = StreamDelta::Kind::text, .text = text});
    }

    void add_call(const NeutralPart& part) {
        using Kind = StreamDelta::Kind;
        const bool object = to_.cut.object_arguments;
        if (part.custom && !object) lose(lost_, part, "a custom call is written as a function's");
        const std::string arguments =
            object || part.custom ? arguments_object(part) : plain_arguments(part).text;
        const std::size_t index = calls_++;
        on_delta_({.kind = Kind::call, .index = index, .id = part.id, .name = part.name});
        on_delta_({.kind = Kind::arguments, .index = index, .text = arguments});
    }

    const Format& to_;
    const OnDelta& on_delta_;
    std::vector<std::string> lost_;
    std::vector<Citation>* const citations_;
    std::size_t calls_ = 0, characters_ = 0;
};

// The reply with its links, where the format has a place for them.
Result<std::string> cited(const Format& to, std::string body,
                          const std::vector<Citation>& citations) {
    if (citations.empty()) return body;
    PAL_TRY(document, parse_json(body));
    return to.cite(document.root(), citations);
}

}  // namespace

Result<std::vector<std::string>> tell_messages(FormatId to, std::span<const Message> messages,
                                               const OnDelta& on_delta) {
    Telling telling(format_of(to), on_delta);
    for (const Message& message : messages) PAL_CHECK(telling.add(message));
    return telling.take_lost();
}

Result<ConvertedReply> make_reply_body(FormatId to, const Reply& reply, StreamIdentity identity) {
    const auto writer = format_of(to).make_writer(std::move(identity));
    std::string bytes = writer->begin();
    std::vector<Citation> citations;
    const OnDelta on_delta = [&](const StreamDelta& delta) { bytes += writer->add(delta); };
    Telling telling(format_of(to), on_delta, format_of(to).cite ? &citations : nullptr);
    for (const Message& message : reply.messages) PAL_CHECK(telling.add(message));
    std::vector<std::string> lost = telling.take_lost();
    if (!reply.usage) lost.push_back("usage: the reply has none, zeros are written");
    bytes += writer->end(reply.stop, reply.usage.value_or(ReplyUsage{}));
    const auto reader = format_of(to).make_reader({});
    PAL_CHECK(reader->feed(bytes));
    PAL_TRY(written, reader->finish());
    PAL_TRY(body, cited(format_of(to), std::move(written.body), citations));
    return ConvertedReply{std::move(body), std::move(lost)};
}

Result<ConvertedReply> convert_reply(FormatId from, FormatId to, std::string_view json,
                                     StreamIdentity identity) {
    PAL_TRY(reply, read_reply(from, json));
    if (from == to) return ConvertedReply{std::string(json), {}};
    PAL_TRY(document, parse_json(json));
    return make_reply_body(to, reply,
                           identity_of(format_of(from), document.root(), std::move(identity)));
}

}  // namespace palimpsest
