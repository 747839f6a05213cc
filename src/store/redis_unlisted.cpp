// Conversations that the listings do not give: their sets are written after the header, so they may
// lack one for ever when the writer died between. Found by the keys of headers and entries.
#include "base/ids.h"
#include "store/redis_check.h"
#include "store/rules.h"

namespace palimpsest {

Result<void> RedisStore::add_unlisted(const RedisPlace& place, const Check& check,
                                      std::vector<Unlisted>& found) {
    const auto read = read_log(place.tag, place.log, nullptr, {});
    if (!read && read.error().code == ErrorCode::internal) {
        const std::string h = key(place.tag, "h:" + hex(place.log));
        const auto name = client_->run({.key = h, .words = {"HGET", h, "name"}});
        const auto root = name_of(place.tag);
        found.push_back({.name = (name ? name_of(name->text) : std::nullopt)
                                     .value_or(ConversationId{root ? root->tenant : "", ""}),
                         .log = place.log,
                         .damage = read.error().message});
        return {};
    }
    PAL_TRY(there, read);
    if (!there || !there->log.named() || expired(there->log.header, there->now)) return {};
    PAL_TRY(faults, faults_of(there->log, place, check));
    if (faults.listings == 0 && !faults.pointer) return {};
    Unlisted one{.name = there->log.header.name, .log = place.log};
    if (faults.pointer)
        one.damage =
            "nothing leads from its uid to its entries; `pal doctor --repair` writes that anew";
    found.push_back(std::move(one));
    return {};
}

Result<void> RedisStore::add_headless(const RedisPlace& place, std::vector<Unlisted>& found) {
    const Result<void> lost = check_not_lost(place);
    if (lost || lost.error().code != ErrorCode::internal) return lost;
    const auto name = name_of(place.tag);
    found.push_back({.name = name.value_or(ConversationId{}),
                     .log = place.log,
                     .damage = lost.error().message});
    return {};
}

Result<std::vector<Unlisted>> RedisStore::unlisted(std::span<const std::string> tenants) {
    PAL_TRY(census, take_census());
    CheckReport unread;
    Check check{{tenants.begin(), tenants.end()}, false, unread, ChainCheck(*this, unread), {}};
    PAL_CHECK(find_foreign(census, check));
    std::vector<Unlisted> found;
    for (const auto& [tag, log] : census.headers)
        if (check.wants(name_of(tag))) PAL_CHECK(add_unlisted({tag, log}, check, found));
    for (const auto& [tag, log] : census.lists)
        if (check.wants(name_of(tag)) && !census.headers.contains({tag, log}))
            PAL_CHECK(add_headless({tag, log}, found));
    return found;
}

}  // namespace palimpsest
