// Removing what is damaged: a conversation can be erased whatever its header lacks, and a relative
// whose header is damaged keeps nobody from it while it is known what the two share.
#include <utility>

#include "base/ids.h"
#include "store/redis_store.h"

namespace palimpsest {
namespace {

RedisReply with_fields(const RedisReply& fields, const std::map<std::string, std::string>& known,
                       const std::set<std::string>& unknown) {
    RedisReply all;
    for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
        if (known.contains(fields.at(i)) || unknown.contains(fields.at(i))) continue;
        all.items.push_back(fields.items[i]);
        all.items.push_back(fields.items[i + 1]);
    }
    for (const auto& [field, value] : known)
        for (const std::string& text : {field, value})
            all.items.push_back({.kind = RedisReply::Kind::text, .text = text});
    return all;
}

}  // namespace

// As far as the tree goes. It is not taken for expired, and has a name if it had one, so that
// nothing of it goes.
Result<TreeLog> RedisStore::guessed(const RedisPlace& place, const RedisReply& fields) {
    PAL_TRY(anew, header_anew(place, fields));
    if (anew.unknown.erase("name") > 0)
        anew.known["name"] =
            tag_of({name_of(place.tag).value_or(ConversationId{}).tenant, hex(place.log)});
    if (!anew.unknown.empty()) {
        PAL_TRY(whole, read_header(fields, place.log));  // which fails, and says why
        return whole;
    }
    PAL_TRY(log, read_header(with_fields(fields, anew.known, {}), place.log));
    log.header.ttl = std::nullopt;
    log.header.expires = std::nullopt;
    return std::move(log);
}

Result<void> RedisStore::add_torn(const std::string& tag, Tree& tree) {
    for (const auto& [uid, fields] : tree.torn) {
        auto log = guessed({tag, uid}, fields);
        if (!log && log.error().code == ErrorCode::internal)
            log.error().message += ". It may share what would go: erase it first, or repair it";
        PAL_TRY(added, log);
        tree.all.push_back(std::move(added));
    }
    tree.logs = ForkTree(tree.all);
    return {};
}

// Those of them that the tree changes are written, as the script compares them.
Result<void> RedisStore::mend_changed(const std::string& tag, const Tree& tree) {
    for (const auto& [uid, fields] : tree.torn) {
        if (!tree.logs.changes().contains(uid)) continue;
        PAL_TRY(anew, header_anew({tag, uid}, fields));
        PAL_CHECK(set_fields({tag, uid}, anew.known));
    }
    return {};
}

// ---- the one that is erased ---------------------------------------------------------------------

Result<RedisReply> RedisStore::fields_of(const RedisPlace& place) {
    const std::string h = key(place.tag, "h:" + hex(place.log));
    PAL_TRY(kind, client_->run({.key = h, .words = {"TYPE", h}}));
    if (kind.text != "hash" && kind.text != "none")
        PAL_CHECK(client_->run({.key = h, .words = {"DEL", h}, .effect = Effect::writes}));
    return client_->run({.key = h, .words = {"HGETALL", h}});
}

// What a log was forked from: its header says it, or one log alone counts more forks than there
// are.
const TreeLog* RedisStore::origin_of(const Tree& tree, const RedisReply& fields) {
    const std::string* said = field_of(fields, "parent");
    if (const auto parent = said ? parse_log_id(*said) : std::nullopt)
        return tree.logs.find(*parent);
    const TreeLog* origin = nullptr;
    for (const auto& [log, forks] : tree.forks) {
        if (std::cmp_less_equal(forks, tree.logs.children_of(log).size())) continue;
        if (origin || !tree.torn.empty()) return nullptr;
        origin = tree.logs.find(log);
    }
    return origin;
}

// Where it begins nobody knows: it is taken to share all of what it was forked from, so that this
// goes with its last fork; where that is not known either, it is one of its own. Forks of it know
// more than it does, so they go first.
Result<void> RedisStore::begin_somewhere(const RedisPlace& place, const RedisReply& fields,
                                         HeaderAnew& anew) {
    PAL_TRY(uids, uids_under(place.tag));
    PAL_CHECK(look_beside(scripts_.gather_family, place.tag, uids, "more"));
    PAL_TRY(tree, load_tree(place.tag, {place.log}));
    std::string forks;
    for (const LogId& fork : tree.logs.children_of(place.log))
        forks += (forks.empty() ? "" : ", ") + tree.logs.find(fork)->header.name.id;
    if (!forks.empty())
        return fail(ErrorCode::internal,
                    "log " + hex(place.log) +
                        " is damaged: nobody knows where it begins, nor what these forks of it "
                        "share: " +
                        forks + ". Erase them first");
    tree.torn.erase(place.log);
    const TreeLog* origin = origin_of(tree, fields);
    const Header above = origin ? origin->header : Header{};
    const auto set = [&](const std::string& field, const std::string& value) {
        anew.known[field] = value;
        anew.unknown.erase(field);
    };
    set("base", std::to_string(above.end.value));
    set("end", std::to_string(above.end.value + static_cast<std::uint64_t>(anew.entries)));
    set("parent", hex(above.log));
    set("base_basis", std::to_string(above.basis.value));
    set("base_messages", std::to_string(above.messages));
    if (!origin)
        for (const char* field : {"parent", "base_basis", "base_messages"})
            if (anew.known.erase(field) > 0) anew.unknown.insert(field);
    return {};
}

Result<std::optional<RedisStore::TornName>> RedisStore::make_erasable(const ConversationId& name) {
    const std::string tag = tag_of(name);
    places_.forget(tag);
    PAL_TRY(at, name_key(tag));
    if (!at) return std::nullopt;
    PAL_TRY(fields, fields_of(at->place));
    PAL_TRY(anew, header_anew(at->place, fields));
    for (const char* field : {"owner", "title", "prompt", "policy"})
        if (!field_of(fields, field)) anew.known[field] = "";
    if (!field_of(fields, "metadata")) anew.known["metadata"] = "{}";
    anew.known["name"] = tag;
    anew.unknown.erase("name");
    TornName torn{.place = at->place};
    torn.begins_nowhere = !anew.unknown.empty() || (at->linked && !field_of(fields, "parent"));
    if (torn.begins_nowhere) PAL_CHECK(begin_somewhere(at->place, fields, anew));
    // Where the removal will be refused, nothing is made up.
    PAL_TRY(log, read_header(with_fields(fields, anew.known, anew.unknown), at->place.log));
    PAL_CHECK(load_whole_tree(at->place.tag, at->place.log, Torn::guessed, &log));
    PAL_CHECK(drop_fields(at->place, anew.unknown));
    PAL_CHECK(set_fields(at->place, anew.known));
    // What a header says beside that: whether it has forks, and bodies.
    PAL_TRY(uids, uids_under(at->place.tag));
    PAL_CHECK(look_beside(scripts_.gather_family, at->place.tag, uids, "more"));
    PAL_CHECK(look_beside(scripts_.mend_uses, at->place.tag, uids, "all"));
    return torn;
}

// What led to it and was not known from its header: sets of owners, and the count of forks of what
// it was forked from, where it is clear which that is.
Result<void> RedisStore::forget_torn(const ConversationId& name, const TornName& torn) {
    const std::string member = hex(torn.place.log) + " " + torn.place.tag;
    std::vector<RedisCommand> commands;
    const std::string sets = key("i/" + escaped(name.tenant), "o:");
    PAL_CHECK(client_->each_key(glob_escaped(sets) + "*", [&](const std::string& in) {
        commands.push_back({.key = in, .words = {"ZREM", in, member}});
    }));
    PAL_CHECK(client_->run_all(commands));
    if (!torn.begins_nowhere) return {};
    PAL_TRY(tree, load_tree(torn.place.tag, {torn.place.log}));
    std::int64_t surplus = 0;
    for (const auto& [log, forks] : tree.forks)
        surplus += forks - static_cast<std::int64_t>(tree.logs.children_of(log).size());
    if (surplus != 1 || !tree.torn.empty()) return {};
    PAL_TRY(uids, uids_under(torn.place.tag));
    PAL_CHECK(look_beside(scripts_.gather_family, torn.place.tag, uids, "all"));
    return {};
}

}  // namespace palimpsest
