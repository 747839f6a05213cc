// Stored completions are records {"completion","messages","metadata"} under the completion's id,
// which begins with a time: their order is the order in which they were made.
#include "server/stored_completions.h"

#include <algorithm>

#include "base/json_write.h"
#include "format/json_edit.h"
#include "server/gateway_routes.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

constexpr std::string_view space = "chat_completions";
constexpr std::size_t page_default = 20;
constexpr std::size_t read_at_once = 500;

RecordKey key_of(const Site& site, std::string_view id) {
    return {.tenant = site.tenant, .space = std::string(space), .key = std::string(id)};
}

struct Kept {
    std::string text = {};
    std::optional<JsonDocument> document = {};

    JsonValue at(std::string_view name) const { return *document->root().find(name); }
};

Result<std::shared_ptr<Kept>> read_kept(std::string text) {
    auto kept = std::make_shared<Kept>();
    kept->text = std::move(text);
    PAL_TRY(document, parse_json(kept->text));
    kept->document = std::move(document);
    for (const std::string_view name : {"completion", "messages", "metadata"})
        if (!kept->document->root().find(name))
            return fail(ErrorCode::internal, "a stored completion is unreadable");
    return kept;
}

Result<std::shared_ptr<Kept>> find_kept(Call& call) {
    auto record = call.site.memory.store().get_record(key_of(call.site, call.ids.at(0)));
    if (!record && record.error().code == ErrorCode::not_found)
        return fail(ErrorCode::not_found,
                    "there is no stored completion " + call.ids[0] +
                        "; only those asked for with \"store\": true are kept",
                    "completion_id");
    if (!record) return std::unexpected(std::move(record).error());
    return read_kept(std::move(record->value));
}

std::string completion_json(const Kept& kept) {
    return with_member(kept.at("completion"), "metadata", std::string(kept.at("metadata").raw()));
}

bool has_labels(JsonValue metadata, const std::map<std::string, std::string>& labels) {
    return std::ranges::all_of(labels, [&](const auto& label) {
        const auto value = metadata.find(label.first);
        return value && value->string() == label.second;
    });
}

// metadata[KEY]=VALUE
std::map<std::string, std::string> labels_in(const Query& query) {
    std::map<std::string, std::string> labels;
    for (const auto& [name, value] : query.all())
        if (name.starts_with("metadata[") && name.ends_with(']'))
            labels.emplace(name.substr(9, name.size() - 10), value);
    return labels;
}

bool is_wanted(const Kept& kept, const Query& query) {
    const auto model = kept.at("completion").find("model");
    const auto wanted = query.text("model");
    if (wanted && (!model || model->string() != *wanted)) return false;
    return has_labels(kept.at("metadata"), labels_in(query));
}

struct Row {
    std::string id = {};
    std::shared_ptr<Kept> kept = {};
};

// All that the query asks for, oldest first.
Result<std::vector<Row>> wanted_rows(Call& call) {
    std::vector<Row> rows;
    RecordQuery query{.tenant = call.site.tenant, .space = std::string(space)};
    query.limit = read_at_once;
    while (true) {
        PAL_TRY(records, call.site.memory.store().list_records(query));
        for (Record& record : records) {
            PAL_TRY(kept, read_kept(std::move(record.value)));
            if (is_wanted(*kept, call.query)) rows.push_back({record.key.key, kept});
        }
        if (records.size() < read_at_once) return rows;
        query.after = records.back().key.key;
    }
}

// Rows behind the one that `after` names, in the order that is asked for.
void arrange_page(const Query& query, std::vector<Row>& rows) {
    if (query.text("order") == "desc") std::ranges::reverse(rows);
    const auto after = query.text("after");
    if (!after) return;
    const auto at = std::ranges::find(rows, *after, &Row::id);
    rows.erase(rows.begin(), at == rows.end() ? at : at + 1);
}

}  // namespace

Result<void> store_completion(Site& site, const std::string& id, const StoredCompletion& stored) {
    std::string value;
    JsonWriter out(value);
    out.begin_object().key("completion").raw(stored.body);
    out.key("messages").raw(stored.messages);
    out.key("metadata").raw(stored.metadata.empty() ? "{}" : stored.metadata).end_object();
    PAL_TRY(version, site.memory.store().put_record({.key = key_of(site, id), .value = value}));
    (void)version;
    return {};
}

Result<RouteReply> list_completions(Call& call) {
    PAL_TRY(rows, wanted_rows(call));
    arrange_page(call.query, rows);
    const std::size_t limit = call.query.number("limit").value_or(page_default);
    ListReply list("list");
    for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i)
        list.row(rows[i].id).raw(completion_json(*rows[i].kept));
    return list.end(rows.size() > limit);
}

Result<RouteReply> get_completion(Call& call) {
    PAL_TRY(kept, find_kept(call));
    return RouteReply{.body = completion_json(*kept)};
}

Result<RouteReply> update_completion(Call& call) {
    PAL_TRY(kept, find_kept(call));
    const StoredCompletion changed{.body = std::string(kept->at("completion").raw()),
                                   .messages = std::string(kept->at("messages").raw()),
                                   .metadata = std::string(call.field("metadata")->raw())};
    PAL_CHECK(store_completion(call.site, call.ids[0], changed));
    return get_completion(call);
}

Result<RouteReply> delete_completion(Call& call) {
    const auto kept = find_kept(call);
    if (!kept) return std::unexpected(kept.error());
    PAL_TRY(version, call.site.memory.store().put_record(
                         {.key = key_of(call.site, call.ids[0]), .purge = true}));
    (void)version;
    RouteReply reply;
    JsonWriter(reply.body)
        .begin_object()
        .field("object", "chat.completion.deleted")
        .field("id", call.ids[0])
        .key("deleted")
        .boolean(true)
        .end_object();
    return reply;
}

Result<RouteReply> list_completion_messages(Call& call) {
    PAL_TRY(kept, find_kept(call));
    std::vector<Row> rows;
    std::vector<std::string> messages;
    for (const JsonValue message : kept->at("messages").elements()) {
        const std::string id = call.ids[0] + "-" + std::to_string(rows.size());
        messages.push_back(with_member(message, "id", json_string(id)));
        rows.push_back({id, {}});
    }
    if (call.query.text("order") == "desc") std::ranges::reverse(messages);
    arrange_page(call.query, rows);
    messages.erase(messages.begin(),
                   messages.begin() + static_cast<std::ptrdiff_t>(messages.size() - rows.size()));
    const std::size_t limit = call.query.number("limit").value_or(page_default);
    ListReply list("list");
    for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i)
        list.row(rows[i].id).raw(messages[i]);
    return list.end(rows.size() > limit);
}

}  // namespace palimpsest
