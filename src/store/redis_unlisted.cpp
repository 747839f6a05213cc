// Conversations that the listings do not give: their sets are written after the header, so they may
// lack one for ever when the writer died between. Found by the keys of headers and entries.
#include "base/ids.h"
#include "store/redis_check.h"
#include "store/rules.h"

namespace palimpsest {

Result<ConversationId> RedisStore::name_leading_to(const RedisPlace& place, const Census& census) {
    const std::string tenant = name_of(place.tag).value_or(ConversationId{}).tenant;
    std::vector<std::string> tags;
    std::vector<RedisCommand> asking;
    for (const std::string& tag : census.names) {
        const auto name = name_of(tag);
        if (!name || name->tenant != tenant) continue;
        const std::string n = key(tag, "n");
        tags.push_back(tag);
        asking.push_back({.key = n, .words = {"GET", n}});
    }
    PAL_TRY(replies, client_->run_all(asking));
    for (std::size_t i = 0; i < tags.size(); ++i)
        if (const auto found = parse_name_key(replies[i].text, tags[i]);
            found && found->place == place)
            return *name_of(tags[i]);
    return ConversationId{tenant, ""};
}

Result<void> RedisStore::add_unlisted(const RedisPlace& place, const Census& census,
                                      const Check& check, std::vector<Unlisted>& found) {
    const auto read = read_log(place.tag, place.log, nullptr, {});
    if (!read && read.error().code == ErrorCode::internal) {
        PAL_TRY(name, name_leading_to(place, census));
        found.push_back(
            {.name = std::move(name), .log = place.log, .damage = read.error().message});
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

Result<void> RedisStore::add_headless(const RedisPlace& place, const Census& census,
                                      std::vector<Unlisted>& found) {
    const Result<void> lost = check_not_lost(place);
    if (lost || lost.error().code != ErrorCode::internal) return lost;
    PAL_TRY(name, name_leading_to(place, census));
    found.push_back({.name = std::move(name), .log = place.log, .damage = lost.error().message});
    return {};
}

Result<std::vector<Unlisted>> RedisStore::unlisted(std::span<const std::string> tenants) {
    PAL_TRY(census, take_census());
    CheckReport unread;
    Check check{{tenants.begin(), tenants.end()}, false, unread, ChainCheck(*this, unread), {}};
    PAL_CHECK(find_foreign(census, check));
    std::vector<Unlisted> found;
    for (const auto& [tag, log] : census.headers)
        if (check.wants(name_of(tag))) PAL_CHECK(add_unlisted({tag, log}, census, check, found));
    for (const auto& [tag, log] : census.lists)
        if (check.wants(name_of(tag)) && !census.headers.contains({tag, log}))
            PAL_CHECK(add_headless({tag, log}, census, found));
    return found;
}

}  // namespace palimpsest
