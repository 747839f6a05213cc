#include "server/openai_items.h"

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "base/json_write.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "format/reply.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

std::string_view text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->string() : std::string_view();
}

std::string_view type_of(JsonValue item) {
    const std::string_view type = text_at(item, "type");
    return type.empty() ? "message" : type;
}

// ---- what was said ------------------------------------------------------------------------------

void write_text_part(JsonWriter& out, std::string_view text, bool assistant) {
    out.begin_object().field("type", assistant ? "output_text" : "input_text").field("text", text);
    if (assistant) out.key("annotations").raw("[]").key("logprobs").raw("[]");
    out.end_object();
}

// Lists that clients insist on, empty where nothing is said of them.
std::string with_lists(JsonValue part) {
    std::string_view raw = part.raw();
    std::string missing;
    for (const std::string_view name : {"annotations", "logprobs"})
        if (!part.find(name)) missing += ",\"" + std::string(name) + "\":[]";
    raw.remove_suffix(1);
    return std::string(raw) + missing + "}";
}

void write_content(JsonWriter& out, std::optional<JsonValue> content, bool assistant) {
    out.begin_array();
    if (content && content->is_string()) write_text_part(out, content->string(), assistant);
    if (content && content->is_array())
        for (const JsonValue part : content->elements()) {
            const bool text = text_at(part, "type") == "output_text";
            out.raw(text ? with_lists(part) : std::string(part.raw()));
        }
    out.end_array();
}

constexpr std::array<std::string_view, 7> own_members = {
    "id", "type", "status", "role", "content", "object", unfinished_field};

// Items that OpenAI never shows without a status.
bool has_status(std::string_view type) {
    return type == "message" || type == "function_call" || type == "function_call_output";
}

std::string_view prefix_of(std::string_view type) {
    struct Row {
        std::string_view type, prefix;
    };
    constexpr Row rows[] = {{"message", "msg_"},         {"function_call", "fc_"},
                            {"custom_tool_call", "fc_"}, {"function_call_output", "fco_"},
                            {"reasoning", "rs_"},        {"compaction", "cmp_"}};
    for (const Row& row : rows)
        if (row.type == type) return row.prefix;
    return "item_";
}

// ---- what was answered --------------------------------------------------------------------------

// One item of an answer as its stream shows it.
struct Told {
    PartKind kind = PartKind::text;
    std::string text = {}, call_id = {}, name = {};
    std::size_t message = 0;
};

std::optional<PartKind> streamed_as(const NeutralPart& part) {
    const bool texts = part.kind == PartKind::text || part.kind == PartKind::refusal;
    const bool speech = part.kind == PartKind::speech;
    if ((texts || speech) && part.text.empty()) return {};
    if (speech) return PartKind::text;
    if (texts || part.kind == PartKind::reasoning) return part.kind;
    if (is_function_call(part)) return PartKind::tool_call;
    return {};
}

void add_part(std::vector<Told>& told, const NeutralPart& part, PartKind kind,
              std::size_t message) {
    if (kind != PartKind::tool_call && !told.empty() && told.back().kind == kind) {
        told.back().text += part.text;
        return;
    }
    Told next{.kind = kind, .text = std::string(part.text), .message = message};
    if (kind == PartKind::tool_call) {
        next.text = plain_arguments(part).text;
        next.call_id = part.id;
        next.name = part.name;
    }
    told.push_back(std::move(next));
}

std::string_view item_type(const Told& told) {
    return told.kind == PartKind::tool_call   ? "function_call"
           : told.kind == PartKind::reasoning ? "reasoning"
                                              : "message";
}

std::string write_told(const Told& told, std::string_view id) {
    std::string json;
    JsonWriter out(json);
    out.begin_object().field("id", id).field("type", item_type(told));
    if (told.kind == PartKind::reasoning) {
        out.key("summary").begin_array().begin_object();
        out.field("type", "summary_text").field("text", told.text);
        out.end_object().end_array().end_object();
        return json;
    }
    out.field("status", "completed");
    if (told.kind == PartKind::tool_call) {
        out.field("call_id", told.call_id).field("name", told.name);
        out.field("arguments", told.text).end_object();
        return json;
    }
    out.field("role", "assistant").key("content").begin_array();
    if (told.kind == PartKind::refusal)
        out.begin_object().field("type", "refusal").field("refusal", told.text).end_object();
    else
        write_text_part(out, told.text, true);
    out.end_array().end_object();
    return json;
}

Seq seq_at(std::span<const Seq> seqs, std::size_t index) {
    return seqs.empty() ? Seq{} : seqs[index];
}

// An answer that is made of items: they are shown as they are.
std::vector<ShownItem> own_items(std::string_view response_id, std::span<const Message> messages,
                                 std::span<const Seq> seqs) {
    std::vector<ShownItem> items;
    for (const Message& message : messages) {
        ShownItem item{.seq = seq_at(seqs, items.size())};
        item.raw = message.raw ? view_of(message.raw) : std::string_view("{}");
        const auto document = parse_json(item.raw);
        if (document) {
            item.id = output_item_id(response_id, type_of(document->root()), items.size());
            item.json = normal_item(document->root(), item.id);
        }
        items.push_back(std::move(item));
    }
    return items;
}

}  // namespace

std::string output_item_id(std::string_view response_id, std::string_view type, std::size_t index) {
    return std::string(prefix_of(type)) + std::string(response_id) + "_" + std::to_string(index);
}

std::string normal_item(JsonValue item, std::string_view id) {
    const std::string_view type = type_of(item);
    std::string json;
    JsonWriter out(json);
    out.begin_object().field("id", id).field("type", type);
    const std::string_view status = text_at(item, "status");
    if (!status.empty() || has_status(type))
        out.field("status", status.empty() ? "completed" : status);
    if (type == "message") {
        const std::string_view role = text_at(item, "role");
        out.field("role", role);
        write_content(out.key("content"), item.find("content"), role == "assistant");
    }
    for (const JsonMember member : item.members()) {
        const bool own = std::ranges::find(own_members, member.key) != own_members.end();
        if (!own || (type != "message" && (member.key == "role" || member.key == "content")))
            out.key(member.key).raw(member.value.raw());
    }
    out.end_object();
    return json;
}

std::vector<ShownItem> said_items(const LogId& log, Seq seq, const Message& message) {
    std::vector<std::string> raws;
    if (message.format == item_format) {
        raws.emplace_back(view_of(message.raw));
    } else if (const auto document = parse_json(view_of(message.raw))) {
        std::vector<std::string> lost;
        if (const auto neutral = format_of(message.format).read(document->root()))
            raws = format_of(item_format).write(*neutral, lost);
    }
    std::vector<ShownItem> items;
    for (const std::string& raw : raws) {
        const auto document = parse_json(raw);
        if (!document) continue;
        ShownItem item{.id = position_id(prefix_of(type_of(document->root())), log, seq),
                       .seq = seq};
        if (!items.empty()) item.id += "_" + std::to_string(items.size());
        item.json = normal_item(document->root(), item.id);
        items.push_back(std::move(item));
    }
    return items;
}

std::vector<ShownItem> output_items(std::string_view response_id, std::span<const Message> messages,
                                    std::span<const Seq> seqs) {
    const auto is_item = [](const Message& one) { return one.format == item_format; };
    if (std::ranges::all_of(messages, is_item)) return own_items(response_id, messages, seqs);
    std::vector<Told> told;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto document = parse_json(view_of(messages[i].raw));
        if (!document) continue;
        const auto neutral = format_of(messages[i].format).read(document->root());
        if (!neutral) continue;
        for (const NeutralPart& part : neutral->parts)
            if (const auto kind = streamed_as(part)) add_part(told, part, *kind, i);
    }
    std::vector<ShownItem> items;
    for (const Told& one : told) {
        ShownItem item{.id = output_item_id(response_id, item_type(one), items.size()),
                       .seq = seq_at(seqs, one.message)};
        item.json = write_told(one, item.id);
        items.push_back(std::move(item));
    }
    return items;
}

std::string write_item_list(const ItemPage& page) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("object", "list").key("data").begin_array();
    for (const ShownItem& item : page.items) out.raw(item.json);
    out.end_array().key("has_more").boolean(page.has_more);
    for (const bool first : {true, false}) {
        out.key(first ? "first_id" : "last_id");
        page.items.empty() ? out.null()
                           : out.string(first ? page.items.front().id : page.items.back().id);
    }
    out.end_object();
    return body;
}

}  // namespace palimpsest
