// Stored completions are records {"completion","messages","metadata","model","log","epoch","turn"}
// under the completion's id, which begins with a time: their order is the order in which they were
// made. The last three are of those that were asked in a conversation.
#include "server/stored_completions.h"

#include <algorithm>
#include <functional>

#include "base/ids.h"
#include "base/json_write.h"
#include "format/json_edit.h"
#include "server/gateway_routes.h"
#include "server/paging.h"

namespace palimpsest {
namespace {

constexpr std::string_view completion_prefix = "chatcmpl-";
constexpr std::size_t page_default = 20;
constexpr std::size_t read_at_once = 32;  // Each may be large.

RecordKey key_of(const Site& site, std::string_view id) {
    return {.tenant = site.tenant, .space = std::string(completion_space), .key = std::string(id)};
}

struct Kept {
    std::string text = {};
    std::optional<JsonDocument> document = {};

    JsonValue at(std::string_view name) const { return *document->root().find(name); }
    std::uint64_t number(std::string_view name) const {
        const auto value = document->root().find(name);
        return value ? static_cast<std::uint64_t>(value->integer().value_or(0)) : 0;
    }
    std::string text_of(std::string_view name) const {
        const auto value = document->root().find(name);
        return value && value->is_string() ? std::string(value->string()) : std::string();
    }
    std::optional<KeptOf> of() const {
        const auto log = parse_log_id(text_of("log"));
        if (!log) return {};
        return KeptOf{*log, number("epoch"), Seq{number("turn")}};
    }
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

RecordKey index_key(const Site& site, const KeptOf& of, std::string_view id) {
    return {.tenant = site.tenant,
            .space = std::string(log_completion_space),
            .key = hex(of.log) + "/" + std::string(id)};
}

Result<void> remove_kept(Site& site, const std::string& id, const Kept& kept) {
    std::vector<RecordKey> keys{key_of(site, id)};
    if (const auto of = kept.of()) keys.push_back(index_key(site, *of, id));
    for (const RecordKey& key : keys) {
        PAL_TRY(version, site.memory.store().put_record({.key = key, .purge = true}));
        (void)version;
    }
    return {};
}

// False: what was said is gone, or something was scrubbed since. Then the record goes too.
Result<bool> may_tell(Site& site, const std::string& id, const Kept& kept) {
    const std::optional<KeptOf> of = kept.of();
    if (!of) return true;
    PAL_TRY(current, is_current(site.memory.store(), *of));
    if (!current) PAL_CHECK(remove_kept(site, id, kept));
    return current;
}

std::unexpected<Error> no_completion(const std::string& id) {
    return fail(ErrorCode::not_found,
                "there is no stored completion " + id +
                    "; only those asked for with \"store\": true are kept, as long as what was "
                    "said in their conversation is",
                "completion_id");
}

Result<std::shared_ptr<Kept>> find_kept(Call& call) {
    auto record = call.site.memory.store().get_record(key_of(call.site, call.ids.at(0)));
    if (!record && record.error().code == ErrorCode::not_found) return no_completion(call.ids[0]);
    if (!record) return std::unexpected(std::move(record).error());
    PAL_TRY(kept, read_kept(std::move(record->value)));
    PAL_TRY(may, may_tell(call.site, call.ids[0], *kept));
    if (!may) return no_completion(call.ids[0]);
    return kept;
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
    if (wanted && (!model || model->string() != *wanted) && kept.text_of("model") != *wanted)
        return false;
    return has_labels(kept.at("metadata"), labels_in(query));
}

// EPOCH/TURN
std::string place_of(const KeptOf& of) {
    return std::to_string(of.epoch) + "/" + std::to_string(of.turn.value);
}

// The ids of all that the query asks for, oldest first. What they are is read for their page alone.
Result<std::vector<std::string>> wanted_ids(Call& call) {
    std::vector<std::string> ids;
    RecordQuery query{.tenant = call.site.tenant, .space = std::string(completion_space)};
    query.limit = read_at_once;
    while (true) {
        PAL_TRY(records, call.site.memory.store().list_records(query));
        for (Record& record : records) {
            PAL_TRY(kept, read_kept(std::move(record.value)));
            if (!is_wanted(*kept, call.query)) continue;
            PAL_TRY(may, may_tell(call.site, record.key.key, *kept));
            if (may) ids.push_back(record.key.key);
        }
        if (records.size() < read_at_once) return ids;
        query.after = records.back().key.key;
    }
}

// Ids begin with their times: one that was deleted meanwhile has its place all the same.
FindPlace place_in_time(const std::vector<std::string>& ids) {
    return [&ids](std::string_view id, std::string_view param) -> Result<RowPlace> {
        const bool ours = id.starts_with(completion_prefix);
        if (ours) return place_in_order(ids, std::identity())(id, param);
        return fail(ErrorCode::not_found, "this is not the id of a completion that was stored here",
                    std::string(param));
    };
}

}  // namespace

Result<void> store_completion(Site& site, const std::string& id, const StoredCompletion& stored) {
    std::string value;
    JsonWriter out(value);
    out.begin_object().key("completion").raw(stored.body);
    out.key("messages").raw(stored.messages);
    out.key("metadata").raw(stored.metadata.empty() ? "{}" : stored.metadata);
    out.field("model", stored.model);
    Store& store = site.memory.store();
    if (stored.of) {
        out.field("log", hex(stored.of->log)).key("epoch").number(stored.of->epoch);
        out.key("turn").number(stored.of->turn.value);
        // First: what no scrub finds must not be there.
        PAL_TRY(index, store.put_record({.key = index_key(site, *stored.of, id),
                                         .value = place_of(*stored.of)}));
        (void)index;
    }
    out.end_object();
    PAL_TRY(version, store.put_record({.key = key_of(site, id), .value = value}));
    (void)version;
    return {};
}

std::string completion_of_turn(Site& site, const KeptOf& of) {
    Store& store = site.memory.store();
    RecordQuery query{site.tenant, std::string(log_completion_space), hex(of.log) + "/"};
    for (query.limit = read_at_once;;) {
        const auto records = store.list_records(query);
        if (!records) return {};
        for (const Record& record : *records) {
            if (record.value != place_of(of)) continue;
            auto found = store.get_record(key_of(site, record.key.key.substr(query.prefix.size())));
            auto kept = found ? read_kept(std::move(found->value)) : std::unexpected(found.error());
            if (kept) return std::string((*kept)->at("completion").raw());
        }
        if (records->size() < read_at_once) return {};
        query.after = records->back().key.key;
    }
}

Result<RouteReply> list_completions(Call& call) {
    PAL_TRY(ids, wanted_ids(call));
    PAL_TRY(page, find_page(call.query, ids.size(), place_in_time(ids), {.limit = page_default}));
    ListReply list("list", page.from);
    if (page.from == ListReply::From::end) std::ranges::reverse(page.rows);
    for (const std::size_t row : page.rows) {
        if (!list.has_room()) break;
        auto record = call.site.memory.store().get_record(key_of(call.site, ids[row]));
        if (!record && record.error().code == ErrorCode::not_found) continue;  // deleted just now
        if (!record) return std::unexpected(std::move(record).error());
        PAL_TRY(kept, read_kept(std::move(record->value)));
        list.row(ids[row]).raw(completion_json(*kept));
    }
    return list.end(page.has_more);
}

Result<RouteReply> get_completion(Call& call) {
    PAL_TRY(kept, find_kept(call));
    return RouteReply{.body = completion_json(*kept)};
}

Result<RouteReply> update_completion(Call& call) {
    PAL_TRY(kept, find_kept(call));
    const StoredCompletion changed{.body = std::string(kept->at("completion").raw()),
                                   .messages = std::string(kept->at("messages").raw()),
                                   .metadata = std::string(call.field("metadata")->raw()),
                                   .model = kept->text_of("model"),
                                   .of = kept->of()};
    PAL_CHECK(store_completion(call.site, call.ids[0], changed));
    return get_completion(call);
}

Result<RouteReply> repeat_completion_update(Call& call, Seq) {
    return get_completion(call);
}

Result<RouteReply> delete_completion(Call& call) {
    PAL_TRY(kept, find_kept(call));
    PAL_CHECK(remove_kept(call.site, call.ids[0], *kept));
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
    std::vector<std::string> ids, messages;
    for (const JsonValue message : kept->at("messages").elements()) {
        ids.push_back(call.ids[0] + "-" + std::to_string(ids.size()));
        messages.push_back(with_member(message, "id", json_string(ids.back())));
    }
    PAL_TRY(page, find_page(call.query, ids.size(), place_by_id(ids, std::identity()),
                            {.limit = page_default}));
    return write_rows(
        page, "list", [&](std::size_t i) { return ids[i]; },
        [&](JsonWriter& out, std::size_t i) { out.raw(messages[i]); });
}

}  // namespace palimpsest
