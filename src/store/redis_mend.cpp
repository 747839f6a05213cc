// A header that lost fields, or has some that hold what they cannot, made whole again from what the
// rest of the store tells: its entries, its name key, the listings. What people wrote into it
// (title, owner, ...) is empty afterwards.
#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/redis_store.h"

namespace palimpsest {
namespace {

using Number = std::optional<std::int64_t>;

Number number_in(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end == text.data()) return std::nullopt;
    return value;
}

// "KIND:TIME:ORDINAL:...": the field at that place.
Number part_of(const std::string& record, int place) {
    std::size_t at = 0;
    for (; place > 0 && at != record.npos; --place) at = record.find(':', at + 1);
    if (at == record.npos) return std::nullopt;
    return number_in(std::string_view(record).substr(at + (at > 0 ? 1 : 0)));
}

struct Remains {
    const RedisReply& fields;
    std::string tenant = {}, name = {};  // empty: nobody knows
    std::int64_t length = 0, now = 0;
    std::string first = {}, last = {};  // records
    Number basis = {}, created = {};

    Number has(std::string_view field) const {
        const std::string* value = field_of(fields, field);
        if (!value || value->find_first_not_of("0123456789") != value->npos) return std::nullopt;
        return number_in(*value);
    }
    Number base() const {
        if (const Number there = has("base")) return there;
        if (!field_of(fields, "parent")) return 0;
        const Number end = has("end");
        return end ? Number(*end - length) : std::nullopt;
    }
    std::int64_t updated() const {
        return has("updated").value_or(part_of(last, 1).value_or(created.value_or(now)));
    }
};

Number number_anew(const Remains& left, std::string_view field) {
    const Number base = left.base();
    if (field == "base") return base;
    if (field == "end") return base ? Number(*base + left.length) : std::nullopt;
    if (field == "messages")
        return part_of(left.last, 2).value_or(left.has("base_messages").value_or(0));
    if (field == "basis") return left.basis.value_or(left.has("base_basis").value_or(0));
    if (field == "created")
        return left.created.value_or(part_of(left.first, 1).value_or(left.updated()));
    if (field == "updated" || field == "accessed") return left.updated();
    // Higher than any that it had: whoever remembers the old one reads again.
    if (field == "epoch" || field == "revision") return left.now;
    const Number ttl = left.has("ttl"), expires = left.has("expires");
    if (field == "expires" && ttl) return left.now + *ttl;
    if (field == "ttl" && expires && *expires > left.updated()) return *expires - left.updated();
    return std::nullopt;
}

std::optional<std::string> value_anew(const Remains& left, const std::string& field) {
    if (field == "tenant" && !left.tenant.empty()) return left.tenant;
    if (field == "name" && !left.name.empty()) return left.name;
    if (field == "metadata") return "{}";
    if (field == "owner" || field == "title" || field == "prompt" || field == "policy") return "";
    const Number number = number_anew(left, field);
    if (!number) return std::nullopt;
    return std::to_string(*number);
}

// The newest entry that carries a basis, of members "KIND:SEQ", newest first.
Number newest_basis(const RedisReply& members) {
    for (const RedisReply& member : members.items)
        if (const Number kind = part_of(member.text, 0); kind && *kind >= 1 && *kind <= 5)
            return part_of(member.text, 1);
    return std::nullopt;
}

}  // namespace

Result<RedisStore::HeaderAnew> RedisStore::header_anew(const RedisPlace& place,
                                                       const RedisReply& fields) {
    const std::string uid = hex(place.log);
    const auto root = name_of(place.tag);
    const std::string e = key(place.tag, "e:" + uid);
    const std::string x = key(place.tag, "x:" + uid), n = key(place.tag, "n");
    const std::string c = key("i/" + escaped(root ? root->tenant : ""), "c");
    PAL_TRY(now, server_time());
    PAL_TRY(told, client_->run_all({{.key = e, .words = {"LLEN", e}},
                                    {.key = e, .words = {"LINDEX", e, "0"}},
                                    {.key = e, .words = {"LINDEX", e, "-1"}},
                                    {.key = x, .words = {"ZREVRANGE", x, "0", "-1"}},
                                    {.key = n, .words = {"GET", n}},
                                    {.key = c, .words = {"ZSCORE", c, uid + " " + place.tag}}}));
    const Remains left{.fields = fields,
                       .tenant = root ? root->tenant : "",
                       .name = told[4].text == uid ? place.tag : "",
                       .length = told[0].number,
                       .now = ms_of(now),
                       .first = told[1].text,
                       .last = told[2].text,
                       .basis = newest_basis(told[3]),
                       .created = number_in(told[5].text)};
    HeaderAnew anew{.entries = told[0].number};
    for (const std::string& field : unfit_fields(fields)) {
        auto value = value_anew(left, field);
        if (value)
            anew.known.insert_or_assign(field, std::move(*value));
        else
            anew.unknown.insert(field);
    }
    return anew;
}

Result<void> RedisStore::set_fields(const RedisPlace& place,
                                    const std::map<std::string, std::string>& fields) {
    const std::string h = key(place.tag, "h:" + hex(place.log));
    std::vector<std::string> words{"HSET", h};
    for (const auto& [field, value] : fields) words.insert(words.end(), {field, value});
    PAL_CHECK(client_->run({.key = h, .words = std::move(words), .effect = Effect::writes}));
    return {};
}

Result<void> RedisStore::drop_fields(const RedisPlace& place, const std::set<std::string>& fields) {
    const std::string h = key(place.tag, "h:" + hex(place.log));
    std::vector<std::string> words{"HDEL", h};
    words.insert(words.end(), fields.begin(), fields.end());
    if (fields.empty()) return {};
    PAL_CHECK(client_->run({.key = h, .words = std::move(words), .effect = Effect::writes}));
    return {};
}

// Nobody writes to a header that is torn, so nothing is overtaken here.
Result<bool> RedisStore::mend_header(const RedisPlace& place, const RedisReply& fields) {
    PAL_TRY(anew, header_anew(place, fields));
    if (anew.known.empty() || !anew.unknown.empty()) return false;
    PAL_CHECK(set_fields(place, anew.known));
    return true;
}

}  // namespace palimpsest
