// Taking content away on Redis: scrub, erase and expiry. What becomes of a family is decided here
// (fork_tree.h) for the version of the tree that was read, and done by one script that refuses it
// for another.
#include <map>
#include <set>

#include "base/ids.h"
#include "store/entry_guard.h"
#include "store/redis_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr int attempts_most = 200;

std::string text(std::uint64_t value) {
    return std::to_string(value);
}

// The steps that bring the server's tree to what the changes say.
void add_steps(const ForkTree& logs, const std::vector<TreeLog>& before,
               std::vector<std::string>& words) {
    for (const TreeLog& old : before) {
        const auto change = logs.changes().find(old.header.log);
        if (change == logs.changes().end()) continue;
        const std::string uid = hex(change->first);
        if (!change->second) {
            words.insert(words.end(), {"D", uid});
            continue;
        }
        const Header& now = change->second->header;
        if (old.named() && !change->second->named()) words.insert(words.end(), {"N", uid});
        if (now.name.id.empty())
            words.insert(words.end(),
                         {"T", uid, text(now.end.value - now.base.value), text(now.end.value),
                          text(now.basis.value), text(now.messages)});
    }
}

std::unexpected<Error> no_log(const LogId& log) {
    return fail(ErrorCode::not_found, "no log " + hex(log));
}

}  // namespace

// Names, pointers and listings of what is gone; they lie elsewhere and follow.
void RedisStore::forget_removed(const std::string& tag, const Tree& tree) {
    for (const TreeLog& old : tree.all) {
        const auto change = tree.logs.changes().find(old.header.log);
        if (change == tree.logs.changes().end()) continue;
        const bool unnamed = old.named() && (!change->second || !change->second->named());
        if (unnamed) {
            const std::string name = tag_of(old.header.name);
            places_.forget(name);
            if (name != tag)
                (void)call({scripts_.claim,
                            name,
                            {"n"},
                            {hex(old.header.log), "", "mine"},
                            Effect::writes});
            (void)unindex(old, tag);
        }
        if (!change->second) {
            places_.forget(old.header.log);
            const std::string u = key(hex(old.header.log), "u");
            (void)client_->run({.key = u, .words = {"DEL", u}, .effect = Effect::writes});
        }
    }
}

Result<RedisReply> RedisStore::change_tree(const std::string& tag, const Tree& tree,
                                           std::vector<std::string> words) {
    std::vector<std::string> keys{"n", "b", "s"};
    for (const TreeLog& log : tree.all) {
        add_log_keys(log.header.log, keys);
        if (tree.logs.changes().contains(log.header.log)) add_once_keys(log.header.log, keys);
    }
    return call({scripts_.change, tag, std::move(keys), std::move(words), Effect::writes});
}

// Nothing: the tree has changed meanwhile, or the log is not what it was taken for.
Result<std::optional<Receipt>> RedisStore::remove(const std::string& tag, const LogId& log,
                                                  bool has_expired) {
    PAL_TRY(tree, load_whole_tree(tag, log, Torn::guessed));
    const TreeLog* found = tree.logs.find(log);
    if (!found || !found->named()) return Receipt{};
    if (expired(found->header, tree.now) != has_expired) return Receipt{};
    std::vector<std::string> words{tree.version, has_expired ? "X" : "L", hex(log)};
    Receipt receipt = has_expired ? tree.logs.remove(log) : tree.logs.erase(log, tree.now);
    if (!has_expired)
        for (const TreeLog& old : tree.all)
            if (old.header.log != log && old.named() && expired(old.header, tree.now))
                words.insert(words.end(), {"X", hex(old.header.log)});
    add_steps(tree.logs, tree.all, words);
    PAL_CHECK(mend_changed(tag, tree));
    PAL_TRY(reply, change_tree(tag, tree, std::move(words)));
    if (reply.at(1) != "ok") return std::nullopt;
    forget_removed(tag, tree);
    receipt.remains = {"the append-only file until BGREWRITEAOF", "snapshots until the next",
                       "replicas and backups"};
    return receipt;
}

// False: others were faster.
Result<bool> RedisStore::remove_kept(const std::string& tag, const std::vector<LogId>& logs,
                                     const LogId& log) {
    PAL_TRY(tree, load_tree(tag, logs));
    const TreeLog* found = tree.logs.find(log);
    if (!found || found->named() || !tree.torn.empty()) return false;
    tree.logs.remove(log);
    std::vector<std::string> words{tree.version};
    add_steps(tree.logs, tree.all, words);
    PAL_TRY(reply, change_tree(tag, tree, std::move(words)));
    if (reply.at(1) != "ok") return false;
    forget_removed(tag, tree);
    return true;
}

Result<bool> RedisStore::settle(const std::string& tag, const LogId& log) {
    for (int i = 0; i < attempts_most; ++i) {
        PAL_TRY(done, remove(tag, log, true));
        if (done) return done->logs > 0 || done->entries > 0 || !done->kept_for.empty();
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

Result<Receipt> RedisStore::erase(const ConversationId& name) {
    std::optional<TornName> torn;
    for (int i = 0; i < attempts_most; ++i) {
        const auto found = head(name);
        if (!found && found.error().code == ErrorCode::internal && !torn) {
            PAL_TRY(made, make_erasable(name));
            torn = std::move(made);
            if (torn) continue;
        }
        PAL_TRY(header, found);
        PAL_TRY(tag, tag_of_log(header.log));
        if (!tag) return no_log(header.log);
        PAL_TRY(done, remove(*tag, header.log, false));
        const bool nothing =
            done && done->logs == 0 && done->entries == 0 && done->kept_for.empty();
        if (!done || nothing) continue;
        if (torn) PAL_CHECK(forget_torn(name, *torn));
        return std::move(*done);
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

// Checks, and unless `dry` writes; nothing: the tree has changed meanwhile.
Result<std::optional<bool>> RedisStore::scrub_family(const std::string& tag,
                                                     std::span<const Replacement> replacements,
                                                     bool dry) {
    PAL_TRY(tree, load_whole_tree(tag, replacements.front().log, Torn::refused));
    std::vector<std::string> words{tree.version}, writes;
    std::set<LogId> logs;
    for (const Replacement& one : replacements) {
        const std::optional<Header> header = tree.logs.as_of(one.log, tree.now);
        if (!header) return no_log(one.log);
        if (one.seq <= header->base || one.seq > header->end)
            return fail(ErrorCode::not_found, "the log owns no entry " + text(one.seq.value));
        EncodedBody body = encode_guarded(one.body);
        const std::string uid = hex(one.log), at = text(one.seq.value - header->base.value - 1);
        const auto kind = static_cast<unsigned>(kind_of(one.body));
        words.insert(words.end(), {"K", uid, at, std::to_string(kind)});
        writes.insert(writes.end(), {"R", uid, at, body.payload ? "1" : "0", std::move(body.meta),
                                     std::string(view_of(body.payload))});
        logs.insert(one.log);
    }
    tree.logs.grow_epochs(logs);
    for (const auto& [log, change] : tree.logs.changes())
        writes.insert(writes.end(), {"E", hex(log)});
    if (!dry) std::ranges::move(writes, std::back_inserter(words));
    PAL_TRY(reply, change_tree(tag, tree, std::move(words)));
    if (reply.at(1) == "kind")
        return fail(ErrorCode::invalid_request, "a scrubbed entry keeps its kind", "body");
    if (reply.at(1) == "missing") return fail(ErrorCode::not_found, "the log owns no such entry");
    if (reply.at(1) != "ok") return std::nullopt;
    return true;
}

Result<void> RedisStore::scrub_tag(const std::string& tag, std::span<const Replacement> some,
                                   bool dry) {
    for (int i = 0; i < attempts_most; ++i) {
        PAL_TRY(written, scrub_family(tag, some, dry));
        if (written) return {};
    }
    return fail(ErrorCode::unavailable, "others were faster every time; try again");
}

// Of several faults the first is told.
Result<void> RedisStore::check_each(std::span<const Replacement> replacements) {
    for (const Replacement& one : replacements) {
        PAL_TRY(tag, tag_of_log(one.log));
        if (!tag) return no_log(one.log);
        PAL_CHECK(scrub_tag(*tag, std::span(&one, 1), true));
    }
    return {};
}

Result<void> RedisStore::scrub(std::span<const Replacement> replacements) {
    std::map<std::string, std::vector<Replacement>> families;
    for (const Replacement& one : replacements) {
        PAL_TRY(tag, tag_of_log(one.log));
        families[tag.value_or("")].push_back(one);
    }
    // With several families all are checked before the first is written.
    if (families.size() > 1) PAL_CHECK(check_each(replacements));
    for (const auto& [tag, some] : families) {
        if (tag.empty()) return no_log(some.front().log);
        const Result<void> done = scrub_tag(tag, some, false);
        if (!done && done.error().code == ErrorCode::outcome_unknown) return done;
        if (!done) PAL_CHECK(check_each(some));
        if (!done) return done;
    }
    return {};
}

}  // namespace palimpsest
