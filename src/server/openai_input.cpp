#include "server/openai_input.h"

#include <algorithm>
#include <span>

#include "base/ids.h"
#include "base/json_write.h"
#include "base/media.h"
#include "format/json_edit.h"
#include "palimpsest/format.h"
#include "server/openai_items.h"

namespace palimpsest {
namespace {

constexpr std::string_view seal_prefix = "pal1.";
constexpr std::string_view item_references = "item_reference";

std::string_view text_at(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->string() : std::string_view();
}

std::string encode_base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::string_view three = bytes.substr(at, 3);
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            out += i <= three.size() ? digits[group >> (18 - 6 * i) & 63U] : '=';
    }
    return out;
}

std::string user_message(std::string_view text) {
    return R"({"type":"message","role":"user","content":)" + json_string(text) + "}";
}

// The item may be in any conversation of the tenant.
std::optional<ShownItem> find_anywhere(Site& site, std::string_view id) {
    const std::optional<LogId> log = log_of_item(id);
    if (!log) return {};
    Store& store = site.memory.store();
    const auto header = store.head(*log);
    if (!header || header->name.tenant != site.tenant || header->name.id.empty()) return {};
    auto item = find_item(store, *header, id);
    return item ? std::optional(*std::move(item)) : std::nullopt;
}

std::string without_id(std::string_view json) {
    const auto document = parse_json(json);
    return document ? with_member(document->root(), "id", std::nullopt) : std::string(json);
}

// An item that we have shown goes back under the id that its maker gave it, if that is known:
// reasoning is worth nothing under another one.
std::string without_own_id(Site& site, JsonValue item) {
    const std::string_view id = text_at(item, "id");
    if (!log_of_item(id)) return std::string(item.raw());
    if (text_at(item, "type") == "reasoning")
        if (const auto known = find_anywhere(site, id); known && !known->raw.empty())
            return known->raw;
    return with_member(item, "id", std::nullopt);
}

Result<std::string> referenced(Site& site, std::string_view id) {
    const auto item = find_anywhere(site, id);
    if (!item)
        return fail(ErrorCode::not_found, "there is no item '" + std::string(id) + "'", "input");
    return item->raw.empty() ? without_id(item->json) : item->raw;
}

Fingerprint print_of(std::string_view item) {
    const auto read = read_messages(item_format, make_bytes("[" + std::string(item) + "]"));
    return read && read->size() == 1 ? read->front().fingerprint : Fingerprint{};
}

std::vector<Fingerprint> prints_of(std::span<const std::string> items) {
    std::vector<Fingerprint> prints;
    for (const std::string& item : items) prints.push_back(print_of(item));
    return prints;
}

void insert_first(auto& into, std::size_t place, const auto& from, std::size_t count) {
    into.insert(into.begin() + static_cast<std::ptrdiff_t>(place), from.begin(),
                from.begin() + static_cast<std::ptrdiff_t>(count));
}

// What was read, oldest first.
class ReadItems {
public:
    void add(std::string item) { list_.push_back(std::move(item)); }
    const std::vector<std::string>& list() const { return list_; }

    // What the user said, where the client has cut it off: before those of the user's messages that
    // still stand there.
    void put_back(std::span<const std::string> said) {
        const std::vector<Fingerprint> wanted = prints_of(said);
        for (std::size_t i = prints_.size(); i < list_.size(); ++i)
            prints_.push_back(print_of(list_[i]));
        std::size_t missing = said.size(), place = list_.size();
        const std::size_t first = place - std::min(place, 2 * missing + looked_back);
        for (std::size_t i = place; i-- > first && missing > 0;)
            if (prints_[i] == wanted[missing - 1]) {
                place = i;
                --missing;
            }
        insert_first(prints_, place, wanted, missing);
        insert_first(list_, place, said, missing);
    }

private:
    // Between what the user said stands what earlier compactions kept. A bound for lists that are
    // nothing but compactions.
    static constexpr std::size_t looked_back = 1000;

    std::vector<std::string> list_;
    std::vector<Fingerprint> prints_;  // of as many of them as were compared
};

std::vector<std::string> items_of(Site& site, JsonValue list) {
    std::vector<std::string> items;
    for (const JsonValue one : list.elements()) items.push_back(without_own_id(site, one));
    return items;
}

// What a compaction of ours stands for, at the end of `items`.
Result<void> unseal(Site& site, JsonValue item, const std::string& place, ReadItems& items) {
    const std::string_view sealed = text_at(item, "encrypted_content");
    const std::string json = decode_base64(sealed.substr(seal_prefix.size()));
    const auto document = parse_json(json);
    const auto summary = document ? document->root().find("summary") : std::nullopt;
    const auto kept = document ? document->root().find("items") : std::nullopt;
    if (!summary || !summary->is_string() || !kept || !kept->is_array())
        return fail(ErrorCode::invalid_request,
                    "the encrypted_content of this compaction is damaged: send it as it came",
                    place);
    if (const auto said = document->root().find("said"); said && said->is_array())
        items.put_back(items_of(site, *said));
    if (!summary->string().empty()) items.add(user_message(summary->string()));
    for (std::string& one : items_of(site, *kept)) items.add(std::move(one));
    return {};
}

Result<void> add_item(Site& site, JsonValue item, const std::string& place, ReadItems& items) {
    const std::string_view type = text_at(item, "type");
    if (type == item_references || (type.empty() && item.size() == 1 && item.find("id"))) {
        PAL_TRY(one, referenced(site, text_at(item, "id")));
        items.add(std::move(one));
        return {};
    }
    if (type == "compaction_trigger")
        return fail(ErrorCode::invalid_request,
                    "compaction_trigger is not supported; use context_management, or POST "
                    "/v1/responses/compact",
                    "input");
    if (is_own_compaction(item)) return unseal(site, item, place, items);
    items.add(without_own_id(site, item));
    return {};
}

}  // namespace

Result<std::string> read_input_items(Site& site, JsonValue input) {
    if (input.is_string()) return "[" + user_message(input.string()) + "]";
    ReadItems items;
    std::size_t index = 0;
    for (const JsonValue item : input.elements())
        PAL_CHECK(add_item(site, item, "input[" + std::to_string(index++) + "]", items));
    return json_list(items.list());
}

Error blame_items(Error error, std::string_view field, JsonValue items) {
    static constexpr std::string_view here = "message";
    if (error.code != ErrorCode::invalid_request || !error.param.starts_with(here)) return error;
    const auto placed = [](std::string& text, const std::string& place) {
        if (text.starts_with(here)) text.replace(0, here.size(), place);
    };
    std::size_t index = 0;
    for (const JsonValue item : items.elements()) {
        const std::string place = std::string(field) + "[" + std::to_string(index++) + "]";
        const auto read = read_message(item_format, make_bytes(std::string(item.raw())));
        if (read) continue;
        error = read.error();
        placed(error.message, place);
        placed(error.param, place);
        return error;
    }
    if (error.param == "messages") error.param = field;
    return error;
}

bool is_own_compaction(JsonValue item) {
    return text_at(item, "type") == "compaction" &&
           text_at(item, "encrypted_content").starts_with(seal_prefix);
}

std::string seal_compaction(const Compacted& compacted) {
    std::string json;
    JsonWriter out(json);
    out.begin_object().field("summary", compacted.summary);
    out.key("said").raw(compacted.said).key("items").raw(compacted.kept).end_object();
    return std::string(seal_prefix) + encode_base64(json);
}

}  // namespace palimpsest
