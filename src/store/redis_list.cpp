// Listings on Redis. For each tenant three sorted sets hold its conversations: by creation, and by
// the minutes of the last change and of the last access; a fourth for each owner. They are written
// after the header that they follow and compared with it when they are read: what is not there any
// more is left out, and removed by the sweep or by repair(); what stands at the wrong minute is put
// right.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ids.h"
#include "store/epoch_ms.h"
#include "store/listing.h"
#include "store/redis_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr std::int64_t minute_ms = 60'000;
constexpr std::size_t chunk = 256;
constexpr unsigned expiry_shards = 16;
constexpr std::string_view sort_keys[] = {"c", "u", "a"};

std::string index_tag(std::string_view tenant) {
    return "i/" + escaped(tenant);
}
std::string member_of(const LogId& log, std::string_view tag) {
    return hex(log) + " " + std::string(tag);
}

std::int64_t score_of(const Header& header, SortBy sort) {
    const std::int64_t ms = ms_of(sort_time(header, sort));
    return sort == SortBy::created ? ms : ms / minute_ms;
}

}  // namespace

std::string RedisStore::expiry_key(std::string_view tag) const {
    return key("x" + std::to_string(slot_of(tag) % expiry_shards), "x");
}

// All of them, or what is not as it was.
std::vector<RedisCommand> RedisStore::listing_writes(const Header& header, const RedisPlace& place,
                                                     const IndexedTimes* before) const {
    const std::string tag = index_tag(header.name.tenant);
    const std::string member = member_of(place.log, place.tag);
    std::vector<RedisCommand> commands;
    const auto add = [&](std::string in, std::int64_t score) {
        std::vector<std::string> words{"ZADD", in, std::to_string(score), member};
        commands.push_back({.key = std::move(in), .words = std::move(words)});
    };
    if (!before) add(key(tag, "c"), ms_of(header.created));
    if (!before || before->owner != header.owner)
        add(key(tag, "o:" + escaped(header.owner)), ms_of(header.created));
    add(key(tag, "u"), ms_of(header.updated) / minute_ms);
    add(key(tag, "a"), ms_of(header.accessed) / minute_ms);
    if (header.expires) add(expiry_key(place.tag), ms_of(*header.expires) / minute_ms);
    return commands;
}

void RedisStore::index(const std::string& name_tag, KnownConversation known) {
    const Header& header = *known.header;
    IndexedTimes times{ms_of(header.updated) / minute_ms, ms_of(header.accessed) / minute_ms,
                       header.expires ? ms_of(*header.expires) / minute_ms : -1, header.owner};
    if (known.indexed != times) {
        const auto commands =
            listing_writes(header, known.place, known.indexed ? &*known.indexed : nullptr);
        // What could not be written is written by the next that comes along.
        if (client_->run_all(commands)) known.indexed = std::move(times);
    }
    places_.keep(name_tag, std::move(known));
}

// Best effort, as all of the listings; doctor finds what stays behind.
void RedisStore::leave_owner(const Header& header, const RedisPlace& place,
                             const std::string& owner) {
    const std::string in = key(index_tag(header.name.tenant), "o:" + escaped(owner));
    (void)client_->run({.key = in,
                        .words = {"ZREM", in, member_of(place.log, place.tag)},
                        .effect = Effect::writes});
}

Result<void> RedisStore::unindex(const TreeLog& log, const std::string& tag) {
    const std::string at = index_tag(log.header.name.tenant);
    const std::string member = member_of(log.header.log, tag);
    std::vector<RedisCommand> commands;
    for (const std::string& in : {key(at, "c"), key(at, "u"), key(at, "a"),
                                  key(at, "o:" + escaped(log.header.owner)), expiry_key(tag)})
        commands.push_back({.key = in, .words = {"ZREM", in, member}});
    PAL_CHECK(client_->run_all(commands));
    return {};
}

// Puts the sorted set right where it and the header disagree; best effort.
void RedisStore::put_right(const Member& member, const TreeLog& log, const ListQuery& query) {
    const std::string in =
        key(index_tag(query.tenant), sort_keys[static_cast<std::size_t>(query.sort)]);
    (void)client_->run(
        {.key = in,
         .words = {"ZADD", in, std::to_string(score_of(log.header, query.sort)), member.raw},
         .effect = Effect::writes});
}

namespace {

// Of one that is damaged: its owner by the set that has it. Whoever opens it is told. Where nobody
// knows how old it is, it is not taken for old.
std::optional<Header> named_only(const RedisPlace& place, const RedisReply& fields,
                                 const ListQuery& query, Time now) {
    const std::string* name = field_of(fields, "name");
    auto id = name ? name_of(*name) : std::nullopt;
    if (!id && !field_of(fields, "parent")) id = name_of(place.tag);
    if (!id) return std::nullopt;
    return Header{.name = std::move(*id),
                  .log = place.log,
                  .owner = *query.owner,
                  .created = now,
                  .updated = now,
                  .accessed = now};
}

}  // namespace

// The headers of those that are there, in the place that the sorted set says, and match. One that
// is damaged keeps nobody from the others: whoever opens it is told, and unlisted() names it; the
// set of an owner still tells whose it is.
Result<std::vector<Header>> RedisStore::headers_of(const std::vector<Member>& members,
                                                   const ListQuery& query, Time now) {
    std::vector<RedisCommand> commands;
    for (const Member& member : members) {
        const std::string h = key(member.place.tag, "h:" + hex(member.place.log));
        commands.push_back({.key = h, .words = {"HGETALL", h}});
    }
    PAL_TRY(replies, client_->run_all(commands));
    std::vector<Header> headers;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (replies[i].items.empty()) continue;
        auto log = read_header(replies[i], members[i].place.log);
        if (!log && query.owner)
            if (auto damaged = named_only(members[i].place, replies[i], query, now))
                headers.push_back(std::move(*damaged));
        if (!log || !log->named()) continue;
        const bool placed = query.owner || std::cmp_equal(score_of(log->header, query.sort),
                                                          std::llround(members[i].score));
        if (!placed) put_right(members[i], *log, query);
        if (placed && !expired(log->header, now)) headers.push_back(std::move(log->header));
    }
    return headers;
}

namespace {

std::vector<std::string> range_words(const std::string& in, bool newest, const std::string& from) {
    if (newest)
        return {"ZREVRANGEBYSCORE", in,      from, "-inf",
                "WITHSCORES",       "LIMIT", "0",  std::to_string(chunk)};
    return {"ZRANGEBYSCORE", in, from, "+inf", "WITHSCORES", "LIMIT", "0", std::to_string(chunk)};
}

}  // namespace

// Score by score from the cursor on: all of one score are sorted by the exact time before the next
// is looked at.
Result<Page> RedisStore::walk(const ListQuery& query) {
    std::string from = query.newest_first ? "+inf" : "-inf";
    if (!query.after.empty()) {
        PAL_TRY(cursor, parse_cursor(query));
        const std::int64_t ms = ms_of(cursor.time);
        from = std::to_string(query.sort == SortBy::created ? ms : ms / minute_ms);
    }
    PAL_TRY(now, server_time());
    const std::string in =
        key(index_tag(query.tenant), sort_keys[static_cast<std::size_t>(query.sort)]);
    std::vector<Header> found;
    Page page;
    for (bool more = true; more && page.next.empty();) {
        PAL_TRY(reply,
                client_->run({.key = in, .words = range_words(in, query.newest_first, from)}));
        std::vector<Member> members;
        for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
            if (const auto place = parse_name_key(reply.at(i), ""))
                members.push_back(
                    {place->place, std::strtod(reply.at(i + 1).c_str(), nullptr), reply.at(i)});
        more = reply.items.size() == 2 * chunk;
        if (more) PAL_CHECK(complete_scores(in, members));
        if (more) from = "(" + std::to_string(std::llround(members.back().score));
        PAL_TRY(headers, headers_of(members, query, now));
        std::ranges::move(headers, std::back_inserter(found));
        PAL_TRY(sorted, page_of(found, query));
        page = std::move(sorted);
    }
    return page;
}

// A chunk that ends inside of a score is cut back to the score before, or, when it is all of one
// score, completed.
Result<void> RedisStore::complete_scores(const std::string& in, std::vector<Member>& members) {
    const double last = members.back().score;
    if (members.front().score != last) {
        while (members.back().score == last) members.pop_back();
        return {};
    }
    const std::string score = std::to_string(std::llround(last));
    PAL_TRY(reply, client_->run({.key = in, .words = {"ZRANGEBYSCORE", in, score, score}}));
    members.clear();
    for (const RedisReply& item : reply.items)
        if (const auto place = parse_name_key(item.text, ""))
            members.push_back({place->place, last, item.text});
    return {};
}

Result<Page> RedisStore::list_owned(const ListQuery& query) {
    PAL_TRY(now, server_time());
    const std::string in = key(index_tag(query.tenant), "o:" + escaped(*query.owner));
    PAL_TRY(reply, client_->run({.key = in, .words = {"ZRANGE", in, "0", "-1"}}));
    std::vector<Member> members;
    for (const RedisReply& item : reply.items)
        if (const auto place = parse_name_key(item.text, ""))
            members.push_back({place->place, 0, item.text});
    PAL_TRY(headers, headers_of(members, query, now));
    return page_of(std::move(headers), query);
}

Result<Page> RedisStore::list_forks(const ListQuery& query) {
    PAL_TRY(tag, tag_of_log(*query.children_of));
    if (!tag) return Page{};
    PAL_TRY(tree, load_tree(*tag, {*query.children_of}));
    std::vector<Header> headers;
    for (const LogId& fork : tree.logs.children_of(*query.children_of))
        if (auto header = tree.logs.as_of(fork, tree.now)) headers.push_back(std::move(*header));
    return page_of(std::move(headers), query);
}

Result<Page> RedisStore::list(const ListQuery& query) {
    PAL_CHECK(check_list(query));
    if (query.children_of) return list_forks(query);
    return query.owner ? list_owned(query) : walk(query);
}

// ---- expiry -------------------------------------------------------------------------------------

// True: it has expired and went.
Result<bool> RedisStore::sweep_one(const std::string& in, const std::string& member,
                                   const NameKey& at, Time now) {
    PAL_TRY(found, read_log(at.place.tag, at.place.log, nullptr, {}));
    const bool named = found && found->log.named();
    if (named && expired(found->log.header, found->now)) return settle(at.place.tag, at.place.log);
    if (named && found->log.header.expires) {
        const std::int64_t minute = ms_of(*found->log.header.expires) / minute_ms;
        if (minute > ms_of(now) / minute_ms) PAL_CHECK(come_back_at(in, member, minute));
    } else {
        PAL_CHECK(forget_expired(in, member, at, !found));
    }
    return false;
}

Result<std::size_t> RedisStore::sweep_shard(unsigned shard, std::size_t limit) {
    const std::string in = key("x" + std::to_string(shard), "x");
    PAL_TRY(now, server_time());
    const std::string due = std::to_string(ms_of(now) / minute_ms);
    PAL_TRY(reply,
            client_->run(
                {.key = in, .words = {"ZRANGEBYSCORE", in, "-inf", due, "LIMIT", "0", "1000"}}));
    std::size_t went = 0;
    for (const RedisReply& item : reply.items) {
        if (went == limit) break;
        if (item.text.starts_with("r ")) {
            PAL_CHECK(prune(in, item.text, now));
            continue;
        }
        const auto place = parse_name_key(item.text, "");
        if (!place) continue;
        const auto gone = sweep_one(in, item.text, *place, now);
        if (gone && *gone) ++went;
        if (gone) continue;
        // What is damaged stays, and stands in nobody's way: it is looked at again in an hour.
        if (gone.error().code != ErrorCode::internal) return std::unexpected(gone.error());
        PAL_CHECK(come_back_at(in, item.text, ms_of(now) / minute_ms + 60));
    }
    return went;
}

// A sweep makes room: that memory is full does not stop it. What is not noted is due still.
Result<void> RedisStore::come_back_at(const std::string& in, const std::string& member,
                                      std::int64_t minute) {
    const auto done = client_->run({.key = in,
                                    .words = {"ZADD", in, std::to_string(minute), member},
                                    .effect = Effect::writes});
    if (done || done.error().code == ErrorCode::no_space) return {};
    return std::unexpected(done.error());
}

// Of a log that is gone already, as by the server's own expiry, or that does not expire any more.
Result<void> RedisStore::forget_expired(const std::string& in, const std::string& member,
                                        const NameKey& at, bool gone) {
    std::vector<RedisCommand> commands{{.key = in, .words = {"ZREM", in, member}}};
    const std::string u = key(hex(at.place.log), "u");
    if (gone) commands.push_back({.key = u, .words = {"DEL", u}});
    const auto name = name_of(at.place.tag);
    if (gone && name)
        for (const char* one : {"c", "u", "a"}) {
            const std::string index_key = key(index_tag(name->tenant), one);
            commands.push_back({.key = index_key, .words = {"ZREM", index_key, member}});
        }
    PAL_CHECK(client_->run_all(commands));
    return {};
}

Result<std::size_t> RedisStore::sweep(std::size_t limit) {
    std::size_t went = 0;
    for (unsigned shard = 0; shard < expiry_shards && went < limit; ++shard) {
        PAL_TRY(gone, sweep_shard(shard, limit - went));
        went += gone;
    }
    return went;
}

}  // namespace palimpsest
