#include "store/damaged_log.h"

namespace palimpsest {

Result<std::optional<LogId>> log_behind(Store& store, const ConversationId& name) {
    const auto header = store.head(name);
    if (header) return header->log;
    const ErrorCode code = header.error().code;
    if (code == ErrorCode::not_found) return std::nullopt;
    if (code != ErrorCode::forbidden && code != ErrorCode::internal)
        return std::unexpected(header.error());
    constexpr std::size_t at_once = 1000;
    ListQuery query{.tenant = name.tenant, .limit = at_once};
    do {
        PAL_TRY(page, store.list(query));
        for (const Header& one : page.headers)
            if (one.name == name) return one.log;
        query.after = page.next;
    } while (!query.after.empty());
    PAL_TRY(unlisted, store.unlisted(std::vector{name.tenant}));
    for (const Unlisted& one : unlisted)
        if (one.name == name) return one.log;
    return std::nullopt;
}

}  // namespace palimpsest
