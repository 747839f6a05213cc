#include "store/log_check.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "core/metadata.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_entries = 64;  // bounds what one check holds in memory

// Walks the entries of one log in order and notes what is not as its header says.
class LogCheck {
public:
    LogCheck(Store& store, CheckReport& report) : store_(store), report_(report) {}

    Result<void> run(const Header& header) {
        ++report_.logs;
        if (!is_metadata(header.metadata))
            note("metadata", header,
                 "its metadata is no JSON object, so listings by metadata miss it");
        PAL_TRY(before, messages_before(header));
        messages_ = before;
        Seq next = header.base + 1;
        while (next <= header.end) {
            const Range page{next, std::min(header.end, next + (page_entries - 1))};
            const auto entries = store_.read(header.log, {.ranges = {page}});
            if (!entries && entries.error().code == ErrorCode::not_found) return {};  // just erased
            if (!entries) PAL_CHECK(visit_each(header, page, entries.error(), next));
            if (entries && entries->empty()) break;
            if (entries)
                for (const Entry& entry : *entries) visit(header, entry, next);
        }
        if (next <= header.end)
            note("gap", header,
                 "ends before entry " + std::to_string(next.value) + ", its header says " +
                     std::to_string(header.end.value));
        else if (!unsure_ && messages_ != header.messages)
            note("count", header,
                 "has " + std::to_string(messages_) + " messages, its header says " +
                     std::to_string(header.messages));
        if (basis_ > header.basis)
            note("basis", header,
                 "entry " + std::to_string(basis_.value) +
                     " has a newer basis than its header says");
        return {};
    }

private:
    // Something in the page cannot be read: each entry by itself, to name those that cannot.
    Result<void> visit_each(const Header& header, const Range& page, const Error& why, Seq& next) {
        if (why.code != ErrorCode::internal) return std::unexpected(why);
        std::string said;
        for (Seq seq = page.from; seq <= page.to; seq = seq + 1) {
            const auto entry = store_.read(header.log, {.ranges = {{seq, seq}}});
            if (entry && !entry->empty()) {
                visit(header, entry->front(), next);
                continue;
            }
            if (!entry && entry.error().code != ErrorCode::internal)
                return std::unexpected(entry.error());
            unsure_ = true;
            next = seq + 1;
            const std::string what = entry ? "entry " + std::to_string(seq.value) + " is missing"
                                           : entry.error().message;
            if (what != said) note("damaged", header, what);
            said = what;
        }
        return {};
    }

    void visit(const Header& header, const Entry& entry, Seq& next) {
        ++report_.entries;
        if (entry.seq != next)
            note("gap", header, "entry " + std::to_string(next.value) + " is missing");
        next = entry.seq + 1;
        if (kind_of(entry.body) == EntryKind::message) ++messages_;
        if (std::exchange(unsure_, false)) messages_ = entry.ordinal;
        if (entry.ordinal != messages_)
            note("count", header,
                 "entry " + std::to_string(entry.seq.value) + " counts " +
                     std::to_string(entry.ordinal) + " messages, not " + std::to_string(messages_));
        messages_ = entry.ordinal;
        if (basis_kinds.has(kind_of(entry.body))) basis_ = entry.seq;
    }

    // How many messages the lineage has at the base, from the parent's own entry there.
    Result<std::uint64_t> messages_before(const Header& header) {
        if (!header.parent || header.base == Seq{}) return std::uint64_t{0};
        auto entries =
            store_.read(*header.parent, {.ranges = {{header.base, header.base}}, .content = false});
        if (entries && !entries->empty()) return entries->front().ordinal;
        const bool readable = entries || entries.error().code == ErrorCode::not_found;
        if (!readable && entries.error().code != ErrorCode::internal)
            return std::unexpected(entries.error());
        unsure_ = !readable;  // the parent's own check names it
        if (!readable) return std::uint64_t{0};
        note("orphan", header, "its parent has no entry " + std::to_string(header.base.value));
        return header.messages;
    }

    void note(std::string what, const Header& header, std::string message) {
        const std::string name = header.name.id.empty() ? hex(header.log) : header.name.id;
        report_.findings.push_back({std::move(what), name, std::move(message)});
    }

    Store& store_;
    CheckReport& report_;
    std::uint64_t messages_ = 0;
    bool unsure_ = false;  // an entry could not be read: the count goes on from the next
    Seq basis_ = {};
};

}  // namespace

bool is_metadata(std::string_view text) {
    const auto merged = merge_metadata(text, "{}");
    return merged || merged.error().code != ErrorCode::invalid_request;
}

Result<void> ChainCheck::run(Header header) {
    while (checked_.insert(header.log).second) {
        PAL_CHECK(LogCheck(store_, report_).run(header));
        if (!header.parent) return {};
        auto parent = store_.head(*header.parent);
        if (!parent && parent.error().code == ErrorCode::not_found) return {};
        if (!parent && parent.error().code == ErrorCode::internal) {
            const std::string name = header.name.id.empty() ? hex(header.log) : header.name.id;
            report_.findings.push_back({"damaged", name, "what it was forked from is damaged"});
            return {};
        }
        if (!parent) return std::unexpected(parent.error());
        header = std::move(*parent);
    }
    return {};
}

Result<std::vector<std::string>> tenants_or_all(Store& store,
                                                std::span<const std::string> tenants) {
    if (!tenants.empty()) return std::vector<std::string>(tenants.begin(), tenants.end());
    PAL_TRY(contents, store.contents());
    return std::move(contents.tenants);
}

}  // namespace palimpsest
