// What a family of forks keeps beside its logs: the set of them, how many forks each has, who uses
// which body. Headers and entries count; the rest is compared with them and written anew.
#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "store/redis_store.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

std::int64_t number_in(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

Result<std::vector<std::string>> RedisStore::uids_under(const std::string& tag) {
    const std::string stem = key(tag, "h:");
    std::vector<std::string> uids;
    PAL_CHECK(client_->each_key(glob_escaped(stem) + "*", [&](const std::string& found) {
        if (parse_log_id(found.substr(stem.size()))) uids.push_back(found.substr(stem.size()));
    }));
    return uids;
}

Result<RedisStore::FamilyFaults> RedisStore::look_beside(const RedisScript& script,
                                                         const std::string& tag,
                                                         const std::vector<std::string>& uids,
                                                         std::string how) {
    std::vector<std::string> keys{"n", "t", "v", "b", "s"}, words{std::move(how)};
    for (const std::string& uid : uids) {
        if (const auto log = parse_log_id(uid)) add_log_keys(*log, keys);
        words.push_back(uid);
    }
    const Effect effect = words.front().empty() ? Effect::reads : Effect::writes;
    PAL_TRY(reply, call({script, tag, std::move(keys), std::move(words), effect}));
    return FamilyFaults{number_in(reply.at(1)), number_in(reply.at(2))};
}

// Of a log of which something may go: itself, or one that is kept for its forks only.
bool RedisStore::lost_a_fork(const Tree& tree, const LogId& log) {
    for (const TreeLog& one : tree.all) {
        const auto counted = tree.forks.find(one.header.log);
        if (counted == tree.forks.end() ||
            (one.named() && one.header.log != log && !expired(one.header, tree.now)))
            continue;
        const std::size_t forks = tree.logs.children_of(one.header.log).size();
        if (counted->second > static_cast<std::int64_t>(forks)) return true;
    }
    return false;
}

Result<RedisStore::Tree> RedisStore::load_whole_tree(const std::string& tag, const LogId& log,
                                                     Torn torn, const TreeLog* instead) {
    for (const bool gathered : {false, true}) {
        // Whoever has the name of the root now may share its bodies.
        PAL_TRY(name, name_key(tag));
        const LogId own = name && !name->linked ? name->place.log : log;
        PAL_TRY(tree, load_tree(tag, {log, own}));
        if (tree.damage && torn == Torn::refused) return std::unexpected(*tree.damage);
        if (instead) tree.torn.erase(log);
        if (instead) std::erase_if(tree.all, [&](auto& one) { return one.header.log == log; });
        if (instead) tree.all.push_back(*instead);
        PAL_CHECK(add_torn(tag, tree));
        const bool fewer = lost_a_fork(tree, log);
        const bool strayed = std::ranges::any_of(tree.all, [&](const TreeLog& one) {
            return one.header.parent && !tree.logs.find(*one.header.parent);
        });
        if (!strayed && !fewer) return tree;
        if (gathered && !fewer) return tree;  // what it was forked from is lost for good
        if (gathered) break;
        PAL_TRY(uids, uids_under(tag));
        PAL_CHECK(look_beside(scripts_.gather_family, tag, uids, "more"));
    }
    return fail(ErrorCode::internal,
                "log " + hex(log) +
                    " is damaged: a fork of its family is lost, and what they share would go with "
                    "it; run `pal doctor` to see what is whole, and `pal doctor --repair` to give "
                    "the fork up");
}

}  // namespace palimpsest
