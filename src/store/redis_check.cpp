// What is under the prefix, by its keys: contents, and what they say against each other. Headers
// count; names, pointers and listings follow them and can be written anew.
#include <map>
#include <thread>

#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/redis_check.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

// So long after the first look nothing that was half written then still is.
constexpr auto second_look = std::chrono::milliseconds(100);

std::optional<RedisPlace> place_of(const std::string& tag, std::string_view rest) {
    const auto log = parse_log_id(rest.substr(2));
    if (!log) return std::nullopt;
    return RedisPlace{tag, *log};
}

bool is_listing(std::string_view tag, std::string_view rest) {
    return tag.starts_with("i/") &&
           (rest == "c" || rest == "u" || rest == "a" || rest.starts_with("o:"));
}

std::optional<RecordSpace> space_of(std::string_view tag, std::string_view rest) {
    if (!tag.starts_with("r/") || (rest != "r" && rest != "z")) return std::nullopt;
    const auto pair = name_of(tag.substr(2));  // the same form: two words with a slash between
    if (!pair) return std::nullopt;
    return RecordSpace{pair->tenant, pair->id};
}

std::string shown(const RedisPlace& place) {
    const auto name = name_of(place.tag);
    return name ? name->id : hex(place.log);
}

}  // namespace

Result<void> RedisStore::each_key(
    const std::function<void(const std::string&, const std::string&)>& visit) {
    if (part_of_cluster_)
        return fail(ErrorCode::invalid_request,
                    "redis: this server is a node of a cluster, and has some of the keys only: say "
                    "cluster=1",
                    "store");
    const std::size_t begin = options_.prefix.size() + 2;
    return client_->each_key(glob_escaped(options_.prefix) + ":{*", [&](const std::string& key) {
        const std::size_t end = key.find("}:", begin);
        if (end != key.npos) visit(key.substr(begin, end - begin), key.substr(end + 2));
    });
}

Result<Contents> RedisStore::contents() {
    std::set<std::string> tenants;
    std::set<RecordSpace> spaces;
    PAL_CHECK(each_key([&](const std::string& tag, const std::string& rest) {
        const auto name = rest.starts_with("h:") ? name_of(tag) : std::nullopt;
        if (name) tenants.insert(name->tenant);
        if (auto space = space_of(tag, rest)) spaces.insert(std::move(*space));
    }));
    return Contents{{tenants.begin(), tenants.end()}, {spaces.begin(), spaces.end()}};
}

// ---- checking -----------------------------------------------------------------------------------

Result<RedisStore::Census> RedisStore::take_census() {
    Census census;
    PAL_CHECK(each_key([&](const std::string& tag, const std::string& rest) {
        if (is_listing(tag, rest)) census.listings.insert(key(tag, rest));
        if (space_of(tag, rest)) census.spaces.insert(tag);
        if (rest == "b" || rest == "s") census.sharing.insert(tag);
        if (rest == "t") census.families.insert(tag);
        if (rest == "n") census.names.insert(tag);
        if (rest == "x" && tag.starts_with("x")) census.due.insert(key(tag, rest));
        const bool header = rest.starts_with("h:");
        if (!header && !rest.starts_with("e:") && !rest.starts_with("p:")) return;
        const auto place = place_of(tag, rest);
        if (place) (header ? census.headers : census.lists).insert({place->tag, place->log});
    }));
    return census;
}

// Into those listings that are some.
std::vector<RedisCommand> RedisStore::writes_of(const TreeLog& log, const RedisPlace& place,
                                                const Check& check) const {
    std::vector<RedisCommand> writes = listing_writes(log.header, place, nullptr);
    std::erase_if(writes, [&](const RedisCommand& one) { return check.foreign.contains(one.key); });
    return writes;
}

// Of one that lost its name to live on in its forks only the pointer counts.
Result<RedisStore::Faults> RedisStore::faults_of(const TreeLog& log, const RedisPlace& place,
                                                 const Check& check) {
    const std::string name_tag = tag_of(log.header.name);
    const std::string n = key(name_tag, "n"), u = key(hex(place.log), "u");
    std::vector<RedisCommand> commands{{.key = u, .words = {"GET", u}}};
    if (log.named()) {
        commands.push_back({.key = n, .words = {"GET", n}});
        for (const RedisCommand& write : writes_of(log, place, check))
            commands.push_back({.key = write.key, .words = {"ZSCORE", write.key, write.words[3]}});
    }
    PAL_TRY(replies, client_->run_all(commands));
    Faults faults{.pointer = replies[0].text != place.tag};
    if (!log.named()) return faults;
    const auto name = parse_name_key(replies[1].text, name_tag);
    faults.name = !name || name->place != place;
    if (faults.name) faults.name_has = replies[1].text;
    faults.of = replies.size() - 2;
    for (std::size_t i = 2; i < replies.size(); ++i)
        if (replies[i].is_nil()) ++faults.listings;
    return faults;
}

// The name only where it is free.
Result<void> RedisStore::mend(const TreeLog& log, const RedisPlace& place, const Faults& faults,
                              const Check& check) {
    const std::string name_tag = tag_of(log.header.name), uid = hex(place.log);
    const std::string n = key(name_tag, "n"), u = key(uid, "u"), h = key(place.tag, "h:" + uid);
    if (faults.name && faults.name_has.empty()) {
        const bool own = name_tag == place.tag && !log.header.parent;
        const std::string value = own ? uid : uid + " " + place.tag;
        PAL_CHECK(
            client_->run({.key = n, .words = {"SET", n, value, "NX"}, .effect = Effect::writes}));
        PAL_TRY(left, client_->run({.key = h, .words = {"PTTL", h}}));
        if (left.number > 0)
            PAL_CHECK(client_->run({.key = n,
                                    .words = {"PEXPIRE", n, std::to_string(left.number)},
                                    .effect = Effect::writes}));
    }
    if (faults.pointer)
        PAL_CHECK(
            client_->run({.key = u, .words = {"SET", u, place.tag}, .effect = Effect::writes}));
    if (faults.listings > 0) PAL_CHECK(client_->run_all(writes_of(log, place, check)));
    return {};
}

// The entries count: a check names it by reading all of them.
Result<void> RedisStore::mend_count(const TreeLog& log, const RedisPlace& place, Check& check) {
    const std::string uid = hex(place.log);
    PAL_TRY(
        reply,
        call({scripts_.mend_count, place.tag, {"h:" + uid, "e:" + uid}, {uid}, Effect::writes}));
    if (reply.at(1) == "mended")
        check.note("count", log.named() ? log.header.name.id : uid,
                   "has " + reply.at(3) + " messages, its header said " + reply.at(2) +
                       "; it was set right");
    return {};
}

// A log that is kept for its forks has one, too.
Result<void> RedisStore::check_index(const TreeLog& log, const RedisPlace& place, Check& check) {
    const std::string uid = hex(place.log);
    PAL_TRY(reply, call({check.repair ? scripts_.mend_index : scripts_.look_at_index,
                         place.tag,
                         {"h:" + uid, "e:" + uid, "p:" + uid, "x:" + uid},
                         {check.repair ? "all" : "", uid},
                         check.repair ? Effect::writes : Effect::reads}));
    if (reply.at(1) == "0" && reply.at(2) == "0") return {};
    check.note("index", log.named() ? log.header.name.id : uid,
               "the index of its edits lacks " + reply.at(1) + " of them, and names " +
                   reply.at(2) + " that are none" + (check.repair ? "; it was written anew" : ""));
    return {};
}

// Nobody merges into what is no JSON, so nothing is overtaken here.
Result<void> RedisStore::mend_metadata(const TreeLog& log, const RedisPlace& place, Check& check) {
    if (!log.named() || is_metadata(log.header.metadata)) return {};
    PAL_CHECK(set_fields(
        place, {{"metadata", "{}"}, {"revision", std::to_string(log.header.revision + 1)}}));
    check.note("metadata", log.header.name.id,
               "its metadata was no JSON object; it is empty now, and can be set again");
    return {};
}

// What is being written while we look is not damaged: at the first look it is a suspect only.
Result<void> RedisStore::check_place(const RedisPlace& place, Check& check, bool first_look) {
    const auto read = read_log(place.tag, place.log, nullptr, {});
    if (!read && read.error().code == ErrorCode::internal)
        return first_look ? note_torn(place, read.error(), check) : Result<void>{};
    PAL_TRY(found, read);
    if (!found) return {};
    const TreeLog& log = found->log;
    if (!check.wants(log.header.name.tenant)) return {};
    if (log.header.parent || !log.named()) check.forked.insert(place.tag);
    if (log.named() && expired(log.header, found->now))
        return check_due(log, place, check, first_look);
    if (first_look) PAL_CHECK(check_index(log, place, check));
    if (check.repair && first_look) PAL_CHECK(mend_count(log, place, check));
    if (check.repair && first_look) PAL_CHECK(mend_metadata(log, place, check));
    PAL_TRY(faults, faults_of(log, place, check));
    if (faults.any() && first_look) {
        check.suspects.push_back(place);
        return {};
    }
    if (check.repair && faults.any()) PAL_CHECK(mend(log, place, faults, check));
    note_faults(log, faults, check);
    places_.keep(place.log, place.tag);  // without its pointer nothing of it could be read
    return {};
}

// Nothing of it can be read; it is counted all the same.
Result<void> RedisStore::note_torn(const RedisPlace& place, const Error& why, Check& check) {
    const std::string uid = hex(place.log);
    const std::string h = key(place.tag, "h:" + uid), e = key(place.tag, "e:" + uid);
    PAL_TRY(kind, client_->run({.key = h, .words = {"TYPE", h}}));
    if (kind.text != "hash") {
        check.note("damaged", shown(place), why.message);
        return {};
    }
    PAL_TRY(fields, client_->run({.key = h, .words = {"HGETALL", h}}));
    const std::string fault = header_fault(fields);
    if (fault.empty() || fields.items.empty()) return {};  // it was written anew, or is gone
    PAL_TRY(length, client_->run({.key = e, .words = {"LLEN", e}}));
    const std::string* name = field_of(fields, "name");
    const auto id = name ? name_of(*name) : std::nullopt;
    std::string message = "the header of log " + uid + " " + fault + "; " +
                          std::to_string(length.number) + " entries of it are there";
    bool mended = false;
    if (check.repair) {
        PAL_TRY(done, mend_header(place, fields));
        mended = done;
        message += done ? "; it was made whole again from what is left"
                        : "; what it lacks cannot be made anew";
    }
    check.note("damaged", id ? id->id : uid, std::move(message));
    if (mended) return check_place(place, check, true);
    ++check.report.logs;
    return {};
}

// A log without a name is reached from its forks.
Result<void> RedisStore::check_entries(const RedisPlace& place, Check& check) {
    const auto read = read_log(place.tag, place.log, nullptr, {});
    if (!read && read.error().code == ErrorCode::internal) return {};  // it was told
    PAL_TRY(found, read);
    if (!found || !found->log.named() || expired(found->log.header, found->now)) return {};
    if (!check.wants(found->log.header.name.tenant)) return {};
    return check.chain.run(std::move(found->log.header));
}

// Under which name people know a tag: that of the conversation that it began with.
Result<void> RedisStore::check_family(const std::string& tag, const std::vector<std::string>& uids,
                                      Check& check) {
    PAL_TRY(faults, look_beside(check.repair ? scripts_.gather_family : scripts_.look_at_family,
                                tag, uids, check.repair ? "all" : ""));
    const std::string where = name_of(tag).value_or(ConversationId{"", tag}).id;
    const std::string done = check.repair ? "; it was put back" : "";
    if (faults.first > 0)
        check.note("family", where,
                   "the set of its forks lacks " + std::to_string(faults.first) +
                       " logs: what they share with others is not guarded" + done);
    if (faults.second > 0)
        check.note("family", where,
                   "of " + std::to_string(faults.second) +
                       " logs the count of forks is not that of the forks that are there" +
                       (check.repair ? "; it was set right" : ""));
    return {};
}

Result<void> RedisStore::check_uses(const std::string& tag, const std::vector<std::string>& uids,
                                    Check& check) {
    PAL_TRY(faults, look_beside(check.repair ? scripts_.mend_uses : scripts_.look_at_uses, tag,
                                uids, check.repair ? "all" : ""));
    const std::string where = name_of(tag).value_or(ConversationId{"", tag}).id;
    if (faults.first > 0)
        check.note("bodies", where,
                   "of " + std::to_string(faults.first) +
                       " large payloads it is not noted that they are used" +
                       (check.repair ? "; it was noted" : ""));
    if (faults.second > 0)
        check.note("bodies", where,
                   std::to_string(faults.second) + " large payloads are used by no entry" +
                       (check.repair ? "; they were removed" : ""));
    return {};
}

// What lies beside the logs of each tag, of which all headers were seen.
Result<void> RedisStore::check_beside(const Census& census, Check& check) {
    std::map<std::string, std::vector<LogId>> tags;
    check.forked.insert(census.families.begin(), census.families.end());
    for (const auto& [tag, log] : census.headers)
        if (check.forked.contains(tag) || census.sharing.contains(tag)) tags[tag].push_back(log);
    for (const auto& [tag, logs] : tags) {
        if (!check.wants(name_of(tag))) continue;
        std::vector<std::string> uids;
        for (const LogId& log : logs) uids.push_back(hex(log));
        if (check.forked.contains(tag))
            PAL_CHECK(check.behind(check_family(tag, uids, check), tag));
        if (check.forked.contains(tag))
            PAL_CHECK(check.behind(check_kept(tag, logs, census, check), tag));
        if (census.sharing.contains(tag))
            PAL_CHECK(check.behind(check_uses(tag, uids, check), tag));
    }
    return {};
}

// A key of somebody else's under the name of a listing: it is told once and left alone.
Result<void> RedisStore::find_foreign(const Census& census, Check& check) {
    std::set<std::string> all = census.listings;
    all.insert(census.due.begin(), census.due.end());
    for (const std::string& in : all) {
        PAL_TRY(kind, client_->run({.key = in, .words = {"TYPE", in}}));
        if (kind.text == "zset" || kind.text == "none") continue;
        check.foreign.insert(in);
        check.note("listing", in,
                   "holds a " + kind.text +
                       ", which is not ours, so nothing is listed by it; rename or delete that "
                       "key, then `pal doctor --repair` writes it anew");
    }
    return {};
}

void RedisStore::note_faults(const TreeLog& log, const Faults& faults, Check& check) {
    const std::string uid = hex(log.header.log);
    const std::string id = log.named() ? log.header.name.id : uid;
    const std::string done = check.repair ? "; it was written anew" : "";
    if (faults.name && faults.name_has.empty())
        check.note("name", id, "its name key is missing: nobody finds it by its name" + done);
    if (faults.name && !faults.name_has.empty())
        check.note("name", id,
                   "its name leads elsewhere, to " + faults.name_has + "; this is log " + uid);
    if (faults.pointer)
        check.note("pointer", id, "nothing leads from its uid to its entries" + done);
    if (faults.listings > 0)
        check.note("listing", id,
                   "is missing in " + std::to_string(faults.listings) + " of the " +
                       std::to_string(faults.of) + " sets that list it" + done);
}

Result<void> RedisStore::check_orphan(const RedisPlace& place, Check& check) {
    const std::string uid = hex(place.log);
    const std::string h = key(place.tag, "h:" + uid), e = key(place.tag, "e:" + uid);
    PAL_TRY(replies, client_->run_all(
                         {{.key = h, .words = {"EXISTS", h}}, {.key = e, .words = {"LLEN", e}}}));
    if (replies[0].number != 0 || replies[1].number == 0) return {};
    check.note("orphan", shown(place),
               "the header of log " + uid + " is lost; " + std::to_string(replies[1].number) +
                   " entries of it are there; where it has a name, they go with it when it is "
                   "erased, otherwise they are left for you to delete: " +
                   e + " and " + key(place.tag, "p:" + uid));
    return {};
}

// What the server itself has forgotten stays in the sets until the sweep; that is no fault. In an
// owner's set it stays longer, because the sweep does not know whose it was: repair() takes it out
// and need not tell.
Result<void> RedisStore::check_listing(const std::string& in, Check& check) {
    PAL_TRY(members, client_->run({.key = in, .words = {"ZRANGE", in, "0", "-1"}}));
    for (const RedisReply& member : members.items) {
        const auto place = parse_name_key(member.text, "");
        if (place) {
            const std::string h = key(place->place.tag, "h:" + hex(place->place.log));
            const std::string x = expiry_key(place->place.tag);
            PAL_TRY(there, client_->run({.key = h, .words = {"EXISTS", h}}));
            if (there.number == 1 || check.foreign.contains(x)) continue;
            PAL_TRY(due, client_->run({.key = x, .words = {"ZSCORE", x, member.text}}));
            if (!due.is_nil()) continue;
        }
        if (in.find("}:o:") == in.npos)
            check.note("listing", in,
                       "\"" + member.text + "\" names no conversation" +
                           (check.repair ? "; it was taken out" : ""));
        if (check.repair)
            PAL_CHECK(client_->run(
                {.key = in, .words = {"ZREM", in, member.text}, .effect = Effect::writes}));
    }
    return {};
}

// Records of one space: each has its place in the order of keys.
Result<void> RedisStore::check_space(const std::string& tag, Check& check) {
    const std::string r = key(tag, "r"), z = key(tag, "z");
    PAL_TRY(values, client_->run({.key = r, .words = {"HKEYS", r}}));
    PAL_TRY(ordered, client_->run({.key = z, .words = {"ZRANGE", z, "0", "-1"}}));
    check.report.records += values.items.size();
    std::set<std::string> listed;
    for (const RedisReply& item : ordered.items) listed.insert(item.text);
    std::vector<RedisCommand> writes;
    for (const RedisReply& item : values.items)
        if (!listed.contains(item.text)) {
            PAL_TRY(still, client_->run({.key = r, .words = {"HEXISTS", r, item.text}}));
            if (still.number == 1)
                writes.push_back({.key = z, .words = {"ZADD", z, "0", item.text}});
        }
    if (writes.empty()) return {};
    if (check.repair) PAL_CHECK(client_->run_all(writes));
    check.note("records", space_of(tag, "r")->tenant + "/" + space_of(tag, "r")->space,
               std::to_string(writes.size()) + " records are missing in the order of their keys" +
                   (check.repair ? "; they were put back" : ""));
    return {};
}

Result<CheckReport> RedisStore::check_keys(std::span<const std::string> tenants, bool repair) {
    PAL_TRY(census, take_census());
    CheckReport report;
    Check check{{tenants.begin(), tenants.end()}, repair, report, ChainCheck(*this, report), {}};
    PAL_CHECK(find_foreign(census, check));
    for (const auto& [tag, log] : census.headers)
        if (check.wants(name_of(tag)))
            PAL_CHECK(check.behind(check_place({tag, log}, check, true), shown({tag, log})));
    std::this_thread::sleep_for(second_look);
    for (const RedisPlace& place : check.suspects)
        PAL_CHECK(check.behind(check_place(place, check, false), shown(place)));
    PAL_CHECK(check_beside(census, check));
    for (const auto& [tag, log] : census.headers)
        if (check.wants(name_of(tag)))
            PAL_CHECK(check.behind(check_entries({tag, log}, check), shown({tag, log})));
    for (const auto& [tag, log] : census.lists)
        if (check.wants(name_of(tag)) && !census.headers.contains({tag, log}))
            PAL_CHECK(check.behind(check_orphan({tag, log}, check), shown({tag, log})));
    for (const std::string& in : census.listings) {
        if (check.foreign.contains(in)) continue;
        const std::size_t tag = options_.prefix.size() + 2;
        const auto tenant = name_of(in.substr(tag, in.find("}:", tag) - tag));
        if (!tenant || check.wants(tenant->id))
            PAL_CHECK(check.behind(check_listing(in, check), in));
    }
    for (const std::string& tag : census.spaces)
        if (check.wants(space_of(tag, "r")->tenant))
            PAL_CHECK(check.behind(check_space(tag, check), tag));
    return report;
}

Result<CheckReport> RedisStore::check(std::span<const std::string> tenants) {
    return check_keys(tenants, false);
}

Result<CheckReport> RedisStore::repair(std::span<const std::string> tenants) {
    return check_keys(tenants, true);
}

}  // namespace palimpsest
