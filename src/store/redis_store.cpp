#include "store/redis_store.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/clock.h"
#include "base/ids.h"
#include "store/entry_guard.h"
#include "store/epoch_ms.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

std::unexpected<Error> no_log(const LogId& log) {
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

std::unexpected<Error> odd_answer() {
    return fail(ErrorCode::internal, "Redis gave an answer that no script of ours gives");
}

std::int64_t number_in(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

RedisStore::RedisStore(Options options, std::unique_ptr<RedisClient> client)
    : options_(std::move(options)), client_(std::move(client)), scripts_(make_redis_scripts()) {}

Result<std::unique_ptr<RedisStore>> RedisStore::open(Options options) {
    PAL_TRY(client, RedisClient::open(options.connection, options.wait));
    std::unique_ptr<RedisStore> store(new RedisStore(std::move(options), std::move(client)));
    PAL_CHECK(store->learn_durability());
    return store;
}

// ---- keys and scripts ---------------------------------------------------------------------------

std::string RedisStore::key(std::string_view tag, std::string_view rest) const {
    std::string out = options_.prefix;
    out.append(":{").append(tag).append("}:").append(rest);
    return out;
}

std::string RedisStore::now_word() const {
    return options_.clock ? std::to_string(ms_of(options_.clock())) : "";
}

Result<RedisReply> RedisStore::call(Script script) {
    const std::string echo = std::to_string(++calls_);
    RedisCommand command{.effect = script.effect, .script = &script.script};
    command.words.reserve(script.keys.size() + script.words.size() + 3);
    command.words.push_back(std::to_string(script.keys.size()));
    for (const std::string& rest : script.keys) command.words.push_back(key(script.tag, rest));
    command.key = command.words[1];
    command.words.push_back(echo);
    command.words.push_back(now_word());
    std::ranges::move(script.words, std::back_inserter(command.words));
    PAL_TRY(reply, client_->run(command));
    if (reply.at(0) == echo) return std::move(reply);
    return fail(script.effect == Effect::writes ? ErrorCode::outcome_unknown : ErrorCode::internal,
                "Redis answered another question than the one asked");
}

void RedisStore::add_log_keys(const LogId& log, std::vector<std::string>& keys) {
    const std::string uid = hex(log);
    for (const char* kind : {"h:", "e:", "p:", "x:"}) keys.push_back(kind + uid);
}

void RedisStore::add_once_keys(const LogId& log, std::vector<std::string>& keys) const {
    const Time now = options_.clock ? options_.clock() : system_now();
    const std::int64_t day = ms_of(now) / key_lifetime.count();
    for (const std::int64_t one : {day, day - 1})
        keys.push_back("k:" + hex(log) + ":" + std::to_string(one));
}

Result<Time> RedisStore::server_time() {
    if (options_.clock) return options_.clock();
    PAL_TRY(reply, client_->run({.key = key("i", ""), .words = {"TIME"}}));
    return time_of(number_in(reply.at(0)) * 1000 + number_in(reply.at(1)) / 1000);
}

// ---- finding ------------------------------------------------------------------------------------

Result<std::optional<NameKey>> RedisStore::name_key(const std::string& tag) {
    const std::string n = key(tag, "n");
    PAL_TRY(reply, client_->run({.key = n, .words = {"GET", n}}));
    if (reply.is_nil()) return std::nullopt;
    auto name = parse_name_key(reply.text, tag);
    if (name) return name;
    return fail(ErrorCode::internal,
                "the key " + n +
                    " holds what is no name of ours: rename or delete it, or keep the store apart "
                    "with ?prefix=NAME in the setting `store`; `pal doctor --repair` then puts a "
                    "name back that was lost");
}

Result<std::optional<std::string>> RedisStore::tag_of_log(const LogId& log) {
    if (auto known = places_.tag_of_log(log)) return known;
    const std::string u = key(hex(log), "u");
    PAL_TRY(reply, client_->run({.key = u, .words = {"GET", u}}));
    if (reply.is_nil()) return std::nullopt;
    places_.keep(log, reply.text);
    return reply.text;
}

// The uids first, then all of them at once: none that is on its way to another node is missed.
Result<RedisStore::Tree> RedisStore::load_tree(const std::string& tag,
                                               const std::vector<LogId>& logs) {
    const std::string t = key(tag, "t");
    for (int i = 0; i < 100; ++i) {
        PAL_TRY(members, client_->run({.key = t, .words = {"SMEMBERS", t}}));
        std::set<std::string> uids;
        for (const LogId& log : logs) uids.insert(hex(log));
        for (const RedisReply& member : members.items) uids.insert(member.text);
        std::vector<std::string> keys, words;
        for (const std::string& uid : uids) {
            keys.push_back("h:" + uid);
            words.push_back(uid);
        }
        if (!members.items.empty()) keys.insert(keys.end(), {"t", "v"});
        PAL_TRY(reply, call({scripts_.tree, tag, std::move(keys), std::move(words)}));
        if (reply.at(1) == "moved") continue;
        if (reply.items.size() < 3) return odd_answer();
        return read_tree(reply);
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

RedisStore::Tree RedisStore::read_tree(const RedisReply& reply) {
    Tree tree{.version = reply.at(1), .now = time_of(number_in(reply.at(2)))};
    for (std::size_t at = 3; at + 1 < reply.items.size(); at += 2) {
        const auto uid = parse_log_id(reply.at(at));
        if (!uid) continue;
        auto log = read_header(reply.items[at + 1], *uid);
        if (!log) {
            tree.damage = log.error();
            tree.torn.emplace(*uid, reply.items[at + 1]);
            continue;
        }
        const std::string* forks = field_of(reply.items[at + 1], "forks");
        if (forks) tree.forks[*uid] = number_in(*forks);
        tree.all.push_back(std::move(*log));
    }
    tree.logs = ForkTree(tree.all);
    return tree;
}

Result<std::optional<RedisStore::Found>> RedisStore::read_log(const std::string& tag,
                                                              const LogId& log,
                                                              const ReadQuery* query,
                                                              std::optional<Seq> last) {
    std::vector<std::string> words{hex(log), "0", "0",
                                   "0",      "0", last ? std::to_string(last->value) : ""};
    if (query) {
        words[1] = std::to_string(query->kinds.bits);
        words[2] = std::to_string(std::min<std::size_t>(query->limit, INT32_MAX));
        words[3] = query->newest_first ? "1" : "0";
        words[4] = query->content ? "1" : "0";
        std::vector<Range> ranges = query->ranges;
        if (ranges.empty()) ranges.push_back({Seq{1}, seq_max});
        if (query->newest_first) std::ranges::reverse(ranges);
        for (const Range& range : ranges) {
            words.push_back(std::to_string(range.from.value));
            words.push_back(std::to_string(range.to.value));
        }
    }
    std::vector<std::string> keys;
    if (query) add_log_keys(log, keys);
    if (query && query->content) keys.push_back("b");
    if (!query) keys.push_back("h:" + hex(log));
    PAL_TRY(reply, call({scripts_.read, tag, std::move(keys), std::move(words)}));
    if (reply.at(1) == "absent") return std::nullopt;
    if (reply.at(1) == "short") return entries_lost(log, reply);
    if (reply.at(1) == "index") return index_lost(log, reply);
    if (reply.items.size() < 4) return odd_answer();
    PAL_TRY(header, read_header(reply.items[3], log));
    Found found{std::move(header), time_of(number_in(reply.at(2))), {}};
    for (std::size_t i = 4; i + 2 < reply.items.size(); i += 3) {
        const Seq seq{static_cast<std::uint64_t>(number_in(reply.at(i)))};
        PAL_TRY(entry, read_record(seq, reply.at(i + 1), reply.at(i + 2), query->content));
        found.entries.push_back(std::move(entry));
    }
    return found;
}

// A name may outlive its log for a while; entries never outlive their header. That is asked for
// before and after: it may be written just now.
Result<void> RedisStore::check_not_lost(const RedisPlace& place) {
    const std::string h = key(place.tag, "h:" + hex(place.log));
    const std::string e = key(place.tag, "e:" + hex(place.log));
    PAL_TRY(there, client_->run_all({{.key = h, .words = {"EXISTS", h}},
                                     {.key = e, .words = {"EXISTS", e}},
                                     {.key = h, .words = {"EXISTS", h}}}));
    if (there[0].number == 1) PAL_CHECK(read_log(place.tag, place.log, nullptr, {}));
    if (there[0].number == 1 || there[1].number == 0 || there[2].number == 1) return {};
    return fail(ErrorCode::internal,
                "log " + hex(place.log) +
                    " is damaged: its entries are there, its header is not; run `pal doctor` to "
                    "see what is whole");
}

// The log as it is seen now: itself, or what its living forks share.
Result<Header> RedisStore::living(const std::string& tag, const Found& found) {
    const Header& header = found.log.header;
    if (found.log.named() && !expired(header, found.now)) return header;
    PAL_TRY(tree, load_tree(tag, {header.log}));
    if (auto kept = tree.logs.as_of(header.log, found.now)) return std::move(*kept);
    if (tree.damage) return std::unexpected(*tree.damage);
    return no_log(header.log);
}

// ---- reading ------------------------------------------------------------------------------------

Result<Header> RedisStore::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    const std::string tag = tag_of(name);
    const auto known = places_.find(tag);
    for (const bool cached : {true, false}) {
        std::optional<RedisPlace> place;
        if (cached && known) place = known->place;
        if (!cached) {
            PAL_TRY(found, name_key(tag));
            if (found) place = found->place;
        }
        if (!place) continue;
        PAL_TRY(found, read_log(place->tag, place->log, nullptr, {}));
        if (!found && !cached) PAL_CHECK(check_not_lost(*place));
        const bool mine = found && found->log.header.name == name;
        if (mine && !expired(found->log.header, found->now)) {
            places_.keep(place->log, place->tag);
            return std::move(found->log.header);
        }
        if (mine) break;
    }
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

Result<Header> RedisStore::head(const LogId& log) {
    PAL_TRY(tag, tag_of_log(log));
    if (!tag) return no_log(log);
    PAL_TRY(found, read_log(*tag, log, nullptr, {}));
    if (!found) return lost_or_absent({*tag, log});
    return living(*tag, *found);
}

std::unexpected<Error> RedisStore::lost_or_absent(const RedisPlace& place) {
    const Result<void> lost = check_not_lost(place);
    if (!lost) return std::unexpected(lost.error());
    return no_log(place.log);
}

Result<std::vector<Entry>> RedisStore::read(const LogId& log, const ReadQuery& query) {
    PAL_CHECK(check_read(query));
    PAL_TRY(tag, tag_of_log(log));
    if (!tag) return no_log(log);
    PAL_TRY(found, read_log(*tag, log, &query, {}));
    if (!found) return lost_or_absent({*tag, log});
    PAL_TRY(header, living(*tag, *found));
    if (header.end >= found->log.header.end) {
        PAL_CHECK(check_no_gap(header, query, found->entries));
        return std::move(found->entries);
    }
    PAL_TRY(rest, read_log(*tag, log, &query, header.end));
    if (!rest) return no_log(log);
    PAL_CHECK(check_no_gap(header, query, rest->entries));
    return std::move(rest->entries);
}

}  // namespace palimpsest
