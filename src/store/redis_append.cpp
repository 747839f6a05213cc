// The batch on Redis. One script call when the conversation is known and there; making one, forking
// and changing the header take a few more, each atomic, and begin again when another was faster.
#include <thread>

#include "base/clock.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "store/epoch_ms.h"
#include "store/redis_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr int attempts_most = 200;
// A fork's name is claimed for this long while it is made; others wait a little longer.
constexpr std::int64_t claim_ms = 10'000, claim_margin_ms = 5'000;

std::string maybe(const std::optional<Seq>& seq) {
    return seq ? std::to_string(seq->value) : "";
}
std::string maybe(const std::optional<std::uint64_t>& number) {
    return number ? std::to_string(*number) : "";
}

std::vector<std::string> stamp_fields(const Batch& batch) {
    if (!batch.stamp) return {};
    return {"created",  std::to_string(ms_of(batch.stamp->created)),
            "updated",  std::to_string(ms_of(batch.stamp->updated)),
            "accessed", std::to_string(ms_of(batch.stamp->accessed))};
}

std::unexpected<Error> no_conversation(const ConversationId& name) {
    return fail(ErrorCode::not_found, "no conversation \"" + name.id + "\"");
}

}  // namespace

// A batch on its way through the checks.
struct RedisStore::Pending {
    const ConversationId& name;
    const Batch& batch;
    std::string tag;        // of the name
    LogId fresh;            // the uid for a log that this batch makes
    std::string mode = {};  // 'fork' or 'dry', see the script
    std::vector<std::string> fields = {};
    std::string guard = {};                  // the revision that the fields were made for
    std::string made = {}, name_value = {};  // how it is made, over what the name key says
    std::string version = {}, parent = {};   // of the tree, for a fork
    std::optional<Error> refusal = {};       // of the patch
    std::optional<std::string> owner = {};   // before the patch
    bool shares = false;                     // names or keeps payloads that are stored once
};

Result<Appended> RedisStore::append(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_batch(name, batch));
    const LogId fresh = batch.new_log.empty() ? random_log_id() : batch.new_log;
    for (int i = 0; i < attempts_most; ++i) {
        Pending pending{.name = name, .batch = batch, .tag = tag_of(name), .fresh = fresh};
        PAL_TRY(done, attempt(pending));
        if (done) return std::move(*done);
        if (i > 4) std::this_thread::sleep_for(std::chrono::milliseconds(random_u64() % 8));
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

std::vector<std::string> RedisStore::words_of(Pending& pending, const KnownConversation& at) const {
    const Batch& batch = pending.batch;
    std::vector<std::string> words;
    words.reserve(20 + pending.fields.size() + 5 * batch.entries.size());
    words.push_back(hex(at.place.log));
    words.push_back(pending.tag);
    words.push_back(batch.key);
    words.push_back(digest_hex(batch.digest));
    words.push_back(batch.expected_log ? hex(*batch.expected_log) : "");
    words.push_back(maybe(batch.expected_end));
    words.push_back(maybe(batch.expected_basis));
    words.push_back(maybe(batch.expected_epoch));
    words.push_back(maybe(batch.expected_revision));
    words.push_back(pending.guard);
    words.push_back(pending.mode.empty() ? std::to_string(batch.entries.size()) : "0");
    words.push_back(pending.made);
    words.push_back(pending.name_value);
    words.push_back(pending.made == "fork" ? pending.version : pending.mode);
    words.push_back(pending.parent);
    words.push_back(at.header ? hex(at.place.log) + ":" + std::to_string(at.header->revision) : "");
    const std::vector<std::string> times = stamp_fields(batch);
    words.push_back(std::to_string((pending.fields.size() + times.size()) / 2));
    words.insert(words.end(), pending.fields.begin(), pending.fields.end());
    words.insert(words.end(), times.begin(), times.end());
    if (pending.mode.empty() && add_entry_words(batch, words)) pending.shares = true;
    return words;
}

// Nothing: begin again.
Result<std::optional<Appended>> RedisStore::attempt(Pending& pending) {
    if (pending.batch.fork) pending.mode = "fork";
    auto known = places_.find(pending.tag);
    const bool fresh = !known;
    if (fresh) {
        PAL_TRY(found, name_key(pending.tag));
        if (!found) return make(pending);
        pending.name_value = found->raw;
        known = KnownConversation{.place = found->place, .linked = found->linked};
    }
    if (!pending.batch.fork && !pending.batch.patch.empty())
        return write_patched(pending, *known, fresh);
    return write_to(pending, *known, fresh);
}

std::vector<std::string> RedisStore::keys_of(const Pending& pending,
                                             const KnownConversation& at) const {
    std::vector<std::string> keys;
    if (pending.made == "own") keys.push_back("n");
    if (pending.made == "own" && pending.shares) keys.insert(keys.end(), {"b", "s", "t"});
    if (pending.made == "own") return keys;
    if (pending.made == "fork") {
        add_log_keys(pending.batch.fork->parent, keys);
        keys.insert(keys.end(), {"t", "v", "b", "s"});
        return keys;
    }
    add_log_keys(at.place.log, keys);
    if (pending.shares) keys.insert(keys.end(), {"b", "s", "t"});
    if (!pending.batch.key.empty()) add_once_keys(at.place.log, keys);
    return keys;
}

Result<std::optional<Appended>> RedisStore::write_to(Pending& pending, const KnownConversation& at,
                                                     bool fresh) {
    pending.shares = pending.shares || at.shares;
    std::vector<std::string> words = words_of(pending, at);
    PAL_TRY(reply, call({scripts_.append, at.place.tag, keys_of(pending, at), std::move(words),
                         Effect::writes}));
    if (reply.at(1) == "shares" && !pending.shares) {
        pending.shares = true;
        return write_to(pending, at, fresh);
    }
    return outcome(pending, at, reply, fresh);
}

// A patch is merged here, for the revision that was read; the script refuses it for another.
Result<std::optional<Appended>> RedisStore::write_patched(Pending& pending,
                                                          const KnownConversation& at, bool fresh) {
    auto header = head(pending.name);
    if (!header && header.error().code != ErrorCode::not_found)
        return std::unexpected(header.error());
    if (header) {
        pending.guard = std::to_string(header->revision);
        pending.owner = header->owner;
        const Result<void> patched = apply_patch(*header, pending.batch.patch);
        if (patched) pending.fields = patched_fields(*header, pending.batch.patch);
        if (!patched) pending.refusal = patched.error();
        if (!patched) pending.mode = "dry";
    }
    return write_to(pending, at, fresh);
}

Result<std::optional<Appended>> RedisStore::outcome(Pending& pending, const KnownConversation& at,
                                                    const RedisReply& reply, bool fresh) {
    const std::string& what = reply.at(1);
    if (what == "ok" || what == "again") {
        PAL_TRY(done, finished(pending, at, reply, !pending.made.empty()));
        if (what == "ok" && pending.owner && *pending.owner != done.header.owner)
            leave_owner(done.header, at.place, *pending.owner);
        return done;
    }
    if (what == "absent") return absent(pending, fresh);
    if (what == "expired") {
        if (pending.batch.if_absent == IfAbsent::fail) return no_conversation(pending.name);
        const auto log = parse_log_id(reply.at(2));
        if (log) PAL_CHECK(settle(at.place.tag, *log));
        places_.forget(pending.tag);
        return std::nullopt;
    }
    if (what == "reused")
        return fail(ErrorCode::unprocessable,
                    "the idempotency key was used for another request on this conversation", "key");
    if (what == "exists")
        return fail(ErrorCode::conflict,
                    "\"" + pending.name.id + "\" exists: a fork needs a new id");
    if (what == "dry") return std::unexpected(*pending.refusal);
    if (what == "short") return entries_lost(at.place.log, reply);
    if (what == "count")
        return fail(ErrorCode::internal, "log " + hex(at.place.log) +
                                             " is damaged: its entries count " + reply.at(2) +
                                             " messages, its header says " + reply.at(3) +
                                             "; `pal doctor --repair` sets that right");
    if (what == "damaged" && reply.items.size() > 2)
        PAL_CHECK(read_header(reply.items[2], at.place.log));
    if (what == "taken") return fail(ErrorCode::conflict, "a log " + hex(at.place.log) + " exists");
    if (what != "conflict") return std::nullopt;  // moved
    PAL_TRY(now, finished(pending, at, reply, false));
    PAL_CHECK(check_expected(now.header, true, pending.batch));
    return std::nullopt;
}

// There is no such conversation where its name says. Its name is free, unless we looked in the
// wrong place or a fork is being made under it right now.
Result<std::optional<Appended>> RedisStore::absent(Pending& pending, bool fresh) {
    places_.forget(pending.tag);
    if (!fresh) return std::nullopt;
    const auto link = parse_name_key(pending.name_value, pending.tag);
    if (link && link->until) {
        PAL_TRY(now, server_time());
        if (ms_of(now) < *link->until + claim_margin_ms) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return std::nullopt;
        }
    }
    if (link) PAL_CHECK(check_not_lost(link->place));
    return make(pending);
}

// A uid names one log for ever.
Result<void> RedisStore::check_uid_is_free(const Pending& pending) {
    if (pending.batch.new_log.empty()) return {};
    PAL_TRY(tag, tag_of_log(pending.fresh));
    if (!tag) return {};
    PAL_TRY(taken, read_log(*tag, pending.fresh, nullptr, {}));
    if (taken) return fail(ErrorCode::conflict, "a log " + hex(pending.fresh) + " exists");
    return {};
}

Result<std::optional<Appended>> RedisStore::make(Pending& pending) {
    const Batch& batch = pending.batch;
    if (batch.if_absent == IfAbsent::fail) return no_conversation(pending.name);
    TreeLog fresh;
    fresh.header = new_header(pending.name, pending.fresh, batch, Time{});
    fresh.header.ttl = options_.ttl;
    pending.mode.clear();
    pending.guard.clear();
    if (batch.fork) return make_fork(pending, std::move(fresh));
    PAL_CHECK(check_uid_is_free(pending));
    PAL_CHECK(check_expected(fresh.header, false, batch));
    if (!batch.patch.empty()) PAL_CHECK(apply_patch(fresh.header, batch.patch));
    const std::string u = key(hex(pending.fresh), "u");
    PAL_CHECK(client_->run({.key = u, .words = {"SET", u, pending.tag}, .effect = Effect::writes}));
    pending.made = "own";
    pending.fields = new_fields(fresh);
    return write_to(pending, {.place = {pending.tag, pending.fresh}}, true);
}

// The name is claimed first, then the fork is made in its family, where it is seen at once; a claim
// without a fork lapses.
Result<std::optional<Appended>> RedisStore::make_fork(Pending& pending, TreeLog fresh) {
    const ForkPoint& fork = *pending.batch.fork;
    const auto no_parent = [&] { return fail(ErrorCode::not_found, "no log " + hex(fork.parent)); };
    PAL_TRY(tag, tag_of_log(fork.parent));
    if (!tag) return no_parent();
    PAL_TRY(tree, load_tree(*tag, {fork.parent}));
    const std::optional<Header> parent = tree.logs.as_of(fork.parent, tree.now);
    if (!parent && tree.damage) return std::unexpected(*tree.damage);
    if (!parent) return no_parent();
    PAL_CHECK(check_fork(*parent, pending.name, fork));
    PAL_CHECK(check_uid_is_free(pending));
    fresh.header.epoch = std::max(fresh.header.epoch, parent->epoch);
    fresh.base_basis = fork.basis;
    fresh.base_messages = fork.messages;
    PAL_CHECK(check_expected(fresh.header, false, pending.batch));
    if (!pending.batch.patch.empty()) PAL_CHECK(apply_patch(fresh.header, pending.batch.patch));
    const std::string uid = hex(pending.fresh), u = key(uid, "u");
    PAL_CHECK(client_->run({.key = u, .words = {"SET", u, *tag}, .effect = Effect::writes}));
    const std::string claim = uid + " " + *tag;
    PAL_TRY(claimed, call({scripts_.claim,
                           pending.tag,
                           {"n"},
                           {pending.name_value, claim, "", std::to_string(claim_ms)},
                           Effect::writes}));
    if (claimed.at(1) != "ok") return std::nullopt;
    pending.made = "fork";
    pending.version = tree.version;
    pending.parent = hex(fork.parent);
    pending.fields = new_fields(fresh);
    auto done = write_to(pending, {.place = {*tag, pending.fresh}, .linked = true}, true);
    // Refused, or another changed the family: the name goes back.
    const bool unknown = !done && done.error().code == ErrorCode::outcome_unknown;
    if (!unknown && !(done && *done))
        PAL_CHECK(call({scripts_.claim, pending.tag, {"n"}, {uid, "", "mine"}, Effect::writes}));
    return done;
}

// The header out of the answer and of what was known; remembers both and writes the listings.
Result<Appended> RedisStore::finished(Pending& pending, const KnownConversation& at,
                                      const RedisReply& reply, bool created) {
    const auto number = [&](std::size_t i) {
        return Seq{std::strtoull(reply.at(i).c_str(), nullptr, 10)};
    };
    const std::string& hot = reply.at(4);
    const auto uid = parse_log_id(std::string_view(hot).substr(0, 32));
    if (!uid) return fail(ErrorCode::internal, "Redis gave a header that is none");
    Header header;
    if (reply.items.size() > 5 && !reply.items[5].items.empty()) {
        PAL_TRY(cold, read_header(reply.items[5], *uid));
        header = std::move(cold.header);
    } else if (at.header) {
        header = *at.header;
    }
    if (!apply_hot(header, hot))
        return fail(ErrorCode::internal, "Redis gave a header that is none");
    KnownConversation known{.place = {at.place.tag, *uid},
                            .linked = at.linked,
                            .shares = pending.shares,
                            .header = std::make_shared<const Header>(header)};
    if (at.place.log == *uid) known.indexed = at.indexed;
    index(pending.tag, std::move(known));
    return Appended{number(2), number(3), std::move(header), reply.at(1) == "again", created};
}

}  // namespace palimpsest
