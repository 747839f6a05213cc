// The defaults of the port: what a store gets for writing the required operations only.
#include "palimpsest/store.h"

#include "store/log_check.h"

namespace palimpsest {

Result<Appended> Store::append_ahead(const ConversationId& name, const Batch& batch,
                                     const OnWritten&) {
    return append(name, batch);
}

Result<std::size_t> Store::sweep(std::size_t) {
    return std::size_t{0};
}

Result<CheckReport> Store::check(std::span<const std::string> tenants) {
    CheckReport report;
    ChainCheck check(*this, report);
    PAL_TRY(wanted, tenants_or_all(*this, tenants));
    for (const std::string& tenant : wanted) {
        ListQuery query{.tenant = tenant, .sort = SortBy::created, .newest_first = false};
        do {
            PAL_TRY(page, list(query));
            for (Header& header : page.headers) PAL_CHECK(check.run(std::move(header)));
            query.after = page.next;
        } while (!query.after.empty());
    }
    return report;
}

Durability Store::durability() const {
    return {};
}

Result<std::vector<Unlisted>> Store::unlisted(std::span<const std::string>) {
    return std::vector<Unlisted>{};
}

Result<void> Store::check_writable() {
    return {};
}

bool Store::held_alone() const {
    return false;
}

Result<Contents> Store::contents() {
    return fail(ErrorCode::unprocessable, "this store cannot list its tenants; name one");
}

Result<void> Store::backup(const std::string&) {
    return fail(ErrorCode::unprocessable,
                "this store is not backed up here: use the tools of its server, or `pal copy`");
}

Result<CheckReport> Store::repair(std::span<const std::string> tenants) {
    return check(tenants);
}

}  // namespace palimpsest
