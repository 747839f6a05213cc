// What is in the store and nothing removes any more: what was erased and is kept for forks that are
// not there, and what has expired and stands in no set that a sweep looks at.
#include <algorithm>

#include "base/ids.h"
#include "store/redis_check.h"

namespace palimpsest {
namespace {

// Of a log without a name, behind the last of its forks. Nothing: it is as it should be.
std::optional<std::uint64_t> unshared(const ForkTree& logs, const TreeLog& log) {
    if (log.named()) return std::nullopt;
    const std::vector<LogId> forks = logs.children_of(log.header.log);
    Seq top = log.header.base;
    for (const LogId& fork : forks) top = std::max(top, logs.find(fork)->header.base);
    if (!forks.empty() && log.header.end <= top) return std::nullopt;
    return log.header.end.value - top.value;
}

}  // namespace

// Where a fork lost its header it may have shared them, and has to go first.
Result<void> RedisStore::check_kept(const std::string& tag, const std::vector<LogId>& logs,
                                    const Census& census, Check& check) {
    PAL_TRY(tree, load_tree(tag, logs));
    const bool lost = std::ranges::any_of(census.lists, [&](const auto& one) {
        return one.first == tag && !census.headers.contains(one);
    });
    for (const TreeLog& log : tree.all) {
        const auto entries = unshared(tree.logs, log);
        if (!entries) continue;
        std::string message = "was erased, and " + std::to_string(*entries) +
                              " entries are kept of it that no fork shares";
        if (check.repair && (lost || !tree.torn.empty())) {
            message += "; they stay while the header of a fork is damaged: erase that first";
        } else if (check.repair) {
            PAL_TRY(removed, remove_kept(tag, logs, log.header.log));
            message += removed ? "; they were removed" : "; others change them just now";
        }
        check.note("kept", hex(log.header.log), std::move(message));
    }
    return {};
}

// The set that a sweep looks at is written behind the header, so it may be on its way.
Result<void> RedisStore::check_due(const TreeLog& log, const RedisPlace& place, Check& check,
                                   bool first_look) {
    const std::string in = expiry_key(place.tag);
    if (check.foreign.contains(in)) return {};
    for (const RedisCommand& write : listing_writes(log.header, place, nullptr)) {
        if (write.key != in) continue;
        PAL_TRY(due, client_->run({.key = in, .words = {"ZSCORE", in, write.words[3]}}));
        if (!due.is_nil()) continue;
        if (first_look) {
            check.suspects.push_back(place);
            continue;
        }
        if (check.repair) PAL_CHECK(client_->run_all({write}));
        check.note("expired", log.header.name.id,
                   std::string("has expired, and no sweep finds it") +
                       (check.repair ? "; the next one does" : ""));
    }
    return {};
}

}  // namespace palimpsest
