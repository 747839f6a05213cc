// Changing parts of a message by splicing its bytes: what is not changed stays as it came in.
#include "format/content.h"

#include <algorithm>
#include <forward_list>

#include "base/json_write.h"
#include "base/media.h"
#include "base/utf8.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/hosted.h"
#include "format/json_edit.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::string_view error_word = "Error:";  // Where a format has no flag, tools say so.
constexpr std::string_view removed_field = "removed";

struct ContentOwner {
    Bytes raw;
    JsonDocument document;
    NeutralMessage message;
    std::forward_list<std::string> texts = {};  // of hosted results and documents
};

bool is_medium(const NeutralPart& part) {
    return part.kind == PartKind::image || part.kind == PartKind::document ||
           part.kind == PartKind::audio;
}

// Media inside results and hosted calls are parts of the content too: they stand behind those of
// the message.
struct Inside {
    const NeutralPart* holder;
    const NeutralPart* medium;
};
std::vector<Inside> media_inside(const NeutralMessage& message) {
    std::vector<Inside> out;
    for (const NeutralPart& part : message.parts)
        if (part.kind == PartKind::tool_result || part.kind == PartKind::tool_call)
            for (const NeutralPart& inner : part.inner)
                if (is_medium(inner)) out.push_back({&part, &inner});
    return out;
}

bool is_hosted(const NeutralPart& part) {
    return (part.server || part.builtin) && is_hosted_result(part.type);
}

ContentKind kind_of(const NeutralPart& part) {
    switch (part.kind) {
        case PartKind::text:
        case PartKind::refusal:
            return ContentKind::text;
        case PartKind::image:
        case PartKind::document:
        case PartKind::audio:
            return ContentKind::media;
        case PartKind::tool_call:
            return is_hosted(part) ? ContentKind::tool_result : ContentKind::tool_call;
        case PartKind::tool_result:
            return ContentKind::tool_result;
        case PartKind::reasoning:
            return ContentKind::reasoning;
        case PartKind::speech:
            return part.text.empty() ? ContentKind::opaque : ContentKind::text;
        case PartKind::compaction:
        case PartKind::opaque:
            break;
    }
    return ContentKind::opaque;
}

std::string_view media_word(const NeutralPart& part) {
    return part.kind == PartKind::image   ? "image"
           : part.kind == PartKind::audio ? "audio"
                                          : "document";
}

std::string_view text_of(const NeutralPart& part, ContentKind kind) {
    if (kind == ContentKind::tool_call) return part.arguments;
    if (kind != ContentKind::tool_result) return part.text;
    // What is in it is known: its form says nothing.
    const bool known = std::ranges::all_of(part.inner, [](const NeutralPart& inner) {
        return inner.kind == PartKind::text || is_medium(inner);
    });
    if (known && (!part.text.empty() || !part.inner.empty())) return part.text;
    return part.content.empty() ? part.json : part.content;
}

// The name that the item has, or its call; else its type.
std::string hosted_tool(const NeutralMessage& message, const NeutralPart& part, JsonValue json) {
    if (const std::string_view name = any_string(json, "name"); !name.empty())
        return std::string(name);
    for (const NeutralPart& call : message.parts)
        if (call.kind == PartKind::tool_call && &call != &part && call.id == part.id)
            return std::string(call.name);
    std::string_view type = part.type;
    if (type.ends_with("_output")) type.remove_suffix(std::string_view("_output").size());
    return std::string(type);
}

void read_hosted(ContentPart& out, ContentOwner& owner, const NeutralPart& part) {
    const auto document = parse_json(part.json);
    if (!document) return;
    const JsonValue json = document->root();
    out.tool = owner.texts.emplace_front(hosted_tool(owner.message, part, json));
    out.text = owner.texts.emplace_front(payload_text(json));
    out.is_error = hosted_failed(json);
    out.can_change = without_payload(json, "").has_value();
}

// The call of an item that is its result too. It cannot be changed.
std::optional<ContentPart> call_beside(ContentOwner& owner, const NeutralPart& part,
                                       const ContentPart& result) {
    if (part.kind != PartKind::tool_call || result.kind != ContentKind::tool_result) return {};
    const auto document = parse_json(part.json);
    std::string text = document ? call_text(document->root()) : std::string();
    if (text.empty()) return {};
    ContentPart call;
    call.kind = ContentKind::tool_call;
    call.hosted = true;
    call.id = result.id;
    call.tool = result.tool;
    call.text = owner.texts.emplace_front(std::move(text));
    return call;
}

// The texts that a document is given as; nothing if there are pictures between them.
std::string texts_of(JsonValue content) {
    std::string out(content.string());
    for (const JsonValue part : content.elements()) {
        if (any_string(part, "type") != "text") return {};
        out += any_string(part, "text");
    }
    return out;
}

std::string words_of(const NeutralPart& part, JsonValue block) {
    if (part.source_kind == SourceKind::text) return std::string(part.source);
    if (part.source_kind == SourceKind::base64 && part.media_type.starts_with("text/")) {
        std::string words = decode_base64(part.source);
        return is_utf8(words) ? words : std::string();
    }
    const auto source = block.find("source");
    const auto content = source ? source->find("content") : std::nullopt;
    return content ? texts_of(*content) : std::string();
}

// A document that is words, with its title and what was said about it: they stand beside it, and
// go with it when a text takes its place.
std::string document_text(const NeutralPart& part) {
    const auto document = parse_json(part.json);
    if (!document) return {};
    const std::string words = words_of(part, document->root());
    if (words.empty()) return {};
    std::string out;
    for (const std::string_view line : {part.name, any_string(document->root(), "context")})
        if (!line.empty()) out += std::string(line) + "\n";
    return out + words;
}

ContentPart content_part(ContentOwner& owner, const NeutralPart& part) {
    ContentPart out;
    out.kind = kind_of(part);
    out.id = part.id;
    out.hosted = part.server || part.builtin;
    out.bytes = part.json.size();
    out.text = text_of(part, out.kind);
    if (out.kind == ContentKind::media) out.tool = media_word(part);
    if (part.kind == PartKind::document) out.text = owner.texts.emplace_front(document_text(part));
    if (out.kind == ContentKind::tool_call) out.tool = part.name;
    if (out.kind == ContentKind::tool_result && is_hosted_result(part.type)) {
        read_hosted(out, owner, part);
    } else if (out.kind == ContentKind::tool_result) {
        out.is_error = part.is_error || part.text.starts_with(error_word);
        out.can_change = !out.hosted;
        if (out.hosted) out.tool = part.type;
    } else {
        out.can_change = out.kind == ContentKind::text || out.kind == ContentKind::media ||
                         (out.kind == ContentKind::tool_call && !out.hosted);
    }
    return out;
}

std::string text_part(const Format& format, Role role, std::string_view text) {
    const std::string_view type =
        role == Role::assistant ? format.own_text_type : format.other_text_type;
    return "{\"type\":\"" + std::string(type) + "\",\"text\":" + json_string(text) + "}";
}

// The object with its text replaced; what points into the old text goes.
std::string with_text(JsonValue object, std::string_view text) {
    const bool refusal = object.find("refusal").has_value();
    std::string out = with_member(object, refusal ? "refusal" : "text", json_string(text));
    for (const auto& [key, value] :
         {std::pair<std::string_view, std::optional<std::string>>{"annotations", "[]"},
          {"citations", std::nullopt}}) {
        const auto document = parse_json(out);
        if (document && document->root().find(key)) out = with_member(document->root(), key, value);
    }
    return out;
}

std::string arguments_with(std::string_view text) {
    return "{\"" + std::string(removed_field) + "\":" + json_string(text) + "}";
}

std::string with_arguments(const Format& format, const NeutralPart& part, JsonValue call,
                           std::string_view text) {
    if (format.cut.object_arguments) return with_member(call, "input", arguments_with(text));
    const std::string value = json_string(part.custom ? std::string(text) : arguments_with(text));
    const std::string_view field = part.custom ? "input" : "arguments";
    // Some formats keep them one level down.
    const std::string_view body = part.custom ? "custom" : "function";
    const auto inner = call.find(body);
    return inner ? with_member(call, body, with_member(*inner, field, value))
                 : with_member(call, field, value);
}

// What becomes of a medium inside a result: a text, or nothing.
struct MediumChange {
    const NeutralPart* medium;
    std::optional<std::string> text;
};

// The result with that text; what else is in it stays as it is, if it does not change too.
std::string with_result(const Message& message, const NeutralPart& part, JsonValue json,
                        std::string_view text, const std::vector<MediumChange>& changes) {
    const Format& format = format_of(message.format);
    std::vector<std::string> list = {text_part(format, Role::tool, text)};
    for (const NeutralPart& inner : part.inner) {
        if (!is_medium(inner)) continue;
        const auto change = std::ranges::find(changes, &inner, &MediumChange::medium);
        if (change == changes.end())
            list.emplace_back(inner.json);
        else if (change->text)
            list.push_back(text_part(format, Role::tool, *change->text));
    }
    return with_member(json, format.result_field,
                       list.size() > 1 ? json_list(list) : json_string(text));
}

// The new bytes of the part and of what changes in it; none when it cannot be changed so.
std::optional<std::string> changed_part(const Message& message, const NeutralPart& part,
                                        std::string_view text,
                                        const std::vector<MediumChange>& inside) {
    const ContentKind kind = kind_of(part);
    if (part.json.starts_with('"')) return json_string(text);
    const auto document = parse_json(part.json);
    if (!document) return std::nullopt;
    const JsonValue json = document->root();
    const Format& format = format_of(message.format);
    switch (kind) {
        case ContentKind::text:
            return with_text(json, text);
        case ContentKind::media:
            return text_part(format, message.shape.role, text);
        case ContentKind::tool_call:
            if (part.server || part.builtin) return std::nullopt;
            return with_arguments(format, part, json, text);
        case ContentKind::tool_result:
            if (part.server || part.builtin) return without_payload(json, text);
            return with_result(message, part, json, text, inside);
        case ContentKind::reasoning:
        case ContentKind::opaque:
            break;
    }
    return std::nullopt;
}

struct Splice {
    std::size_t at = 0, size = 0;
    std::string bytes = {};
};

std::string spliced(std::string_view raw, std::vector<Splice> splices) {
    std::ranges::sort(splices, {}, &Splice::at);
    std::string out;
    std::size_t at = 0;
    for (const Splice& one : splices) {
        if (one.at < at) continue;  // Inside one that was written anew.
        out += raw.substr(at, one.at - at);
        out += one.bytes;
        at = one.at + one.size;
    }
    out += raw.substr(at);
    return out;
}

// What was spoken is a field of its message; other words in its place are the message's content,
// where that has none of its own.
void put_words(std::vector<Splice>& splices, JsonValue root, const NeutralPart& speech,
               std::string_view text) {
    const auto content = root.find("content");
    std::string rest = "null";
    if (!content)
        rest += ",\"content\":" + json_string(text);
    else if (content->is_null())
        splices.push_back({content->offset(), content->raw().size(), json_string(text)});
    splices.push_back(
        {static_cast<std::size_t>(speech.json.data() - root.raw().data()) + root.offset(),
         speech.json.size(), std::move(rest)});
}

// Whether the content of a chat message, if it is a text, begins with the word: looks at the start
// of the content only.
bool may_begin_with_error(std::string_view raw) {
    std::size_t at = raw.find("\"content\"");
    if (at == raw.npos) return false;
    at = raw.find_first_not_of(" \t\r\n:", at + 9);
    if (at == raw.npos) return false;
    return raw[at] != '"' || raw.substr(at + 1).starts_with(error_word);
}

std::unexpected<Error> cannot(std::size_t part, std::string_view why) {
    return fail(ErrorCode::invalid_request,
                "part " + std::to_string(part) + " cannot be changed: " + std::string(why));
}

// Parts that go: fields of the message, or elements of its content.
Result<std::string> without_parts(std::string_view raw,
                                  const std::vector<const NeutralPart*>& gone) {
    std::string out(raw);
    PAL_TRY(document, parse_json(raw));
    if (const auto content = document.root().find("content"); content && content->is_array()) {
        std::vector<std::string> kept;
        for (const JsonValue element : content->elements()) {
            const bool goes = std::ranges::any_of(gone, [&](const NeutralPart* part) {
                return part->json.data() == element.raw().data();
            });
            if (!goes) kept.emplace_back(element.raw());
        }
        if (kept.size() < content->size())
            out = with_member(document.root(), "content", json_list(kept));
    }
    for (const NeutralPart* part : gone) {
        if (!part->field) continue;
        PAL_TRY(now, parse_json(out));
        out = with_member(now.root(), part->type, std::nullopt);
    }
    return out;
}

std::vector<PartChange> words_of_expired(const NeutralMessage& message, std::int64_t now_s) {
    std::vector<PartChange> changes;
    for (std::size_t p = 0; p < message.parts.size(); ++p) {
        const NeutralPart& part = message.parts[p];
        if (part.kind == PartKind::speech && part.expires_s > 0 && part.expires_s <= now_s)
            changes.push_back({p, std::string(part.text)});
    }
    return changes;
}

}  // namespace

Result<Content> read_content_of(const Message& message) {
    PAL_TRY(document, parse_json(view_of(message.raw)));
    PAL_TRY(neutral, format_of(message.format).read(document.root()));
    const auto owner = std::make_shared<ContentOwner>(
        ContentOwner{message.raw, std::move(document), std::move(neutral)});
    Content content{owner, {}};
    content.parts.reserve(owner->message.parts.size());
    for (const NeutralPart& part : owner->message.parts)
        content.parts.push_back(content_part(*owner, part));
    for (const Inside& inside : media_inside(owner->message)) {
        ContentPart& part = content.parts.emplace_back(content_part(*owner, *inside.medium));
        part.id = inside.holder->id;
    }
    for (std::size_t p = 0; p < owner->message.parts.size(); ++p)
        if (const auto call = call_beside(*owner, owner->message.parts[p], content.parts[p]))
            content.parts.push_back(*call);
    return content;
}

Result<Bytes> change_content(const Message& message, std::span<const PartChange> changes) {
    const std::string_view raw = view_of(message.raw);
    PAL_TRY(document, parse_json(raw));
    PAL_TRY(neutral, format_of(message.format).read(document.root()));
    std::vector<const NeutralPart*> parts;
    for (const NeutralPart& part : neutral.parts) parts.push_back(&part);
    // A hosted tool's form has one place for what came out.
    for (const Inside& inside : media_inside(neutral))
        parts.push_back(is_hosted(*inside.holder) ? inside.holder : inside.medium);
    std::vector<const NeutralPart*> gone;
    std::vector<MediumChange> inside;
    for (const PartChange& change : changes) {
        if (change.part >= parts.size()) return cannot(change.part, "there is none");
        if (change.part >= neutral.parts.size())
            inside.push_back({parts[change.part], change.text});
        else if (!change.text)
            gone.push_back(parts[change.part]);
    }
    std::vector<Splice> splices;
    for (const PartChange& change : changes) {
        if (!change.text) continue;
        const NeutralPart& part = *parts[change.part];
        if (part.kind == PartKind::speech) {
            put_words(splices, document.root(), part, *change.text);
            continue;
        }
        auto bytes = changed_part(message, part, *change.text, inside);
        if (!bytes) return cannot(change.part, "its type has no place for it");
        splices.push_back({static_cast<std::size_t>(part.json.data() - raw.data()),
                           part.json.size(), *std::move(bytes)});
    }
    if (gone.empty()) return make_bytes(spliced(raw, std::move(splices)));
    if (gone.size() == neutral.parts.size()) return Bytes();
    if (!splices.empty()) return cannot(0, "parts go and change at the same time");
    PAL_TRY(rest, without_parts(raw, gone));
    return make_bytes(std::move(rest));
}

Result<Message> without_expired(const Message& message, std::int64_t now_s) {
    const std::string_view raw = view_of(message.raw);
    if (message.shape.role != Role::assistant || !raw.contains("\"expires_at\"")) return message;
    PAL_TRY(document, parse_json(raw));
    PAL_TRY(neutral, format_of(message.format).read(document.root()));
    const std::vector<PartChange> changes = words_of_expired(neutral, now_s);
    if (changes.empty()) return message;
    PAL_TRY(changed, change_content(message, changes));
    return read_message(message.format, std::move(changed));
}

bool may_hold_results(const Message& message) {
    if (!message.shape.results.empty()) return true;
    const Format& format = format_of(message.format);
    if (format.cut.one_part_items && !message.shape.calls.empty()) return false;
    return std::ranges::any_of(format.hosted_marks, [&](std::string_view mark) {
        return !mark.empty() && view_of(message.raw).contains(mark);
    });
}

bool has_error_result(const Message& message) {
    const std::string_view raw = view_of(message.raw);
    const bool can_flag = format_of(message.format).error_flags;
    if (!can_flag && !may_begin_with_error(raw)) return false;
    const bool flagged = can_flag && (raw.contains("is_error") || raw.contains("\"error") ||
                                      raw.contains("_error\""));
    if (!flagged && raw.find("\"Error:") == raw.npos) return false;
    const auto content = read_content_of(message);
    return content && std::ranges::any_of(content->parts, &ContentPart::is_error);
}

bool is_sealed_past(const Message& message) {
    if (!view_of(message.raw).contains("compaction")) return false;
    const auto document = parse_json(view_of(message.raw));
    if (!document) return false;
    const auto neutral = format_of(message.format).read(document->root());
    return neutral && std::ranges::any_of(neutral->parts, [](const NeutralPart& part) {
               return part.kind == PartKind::compaction &&
                      !(part.text.empty() && part.signature.empty());
           });
}

}  // namespace palimpsest
