#include "store/rules.h"

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "base/utf8.h"
#include "core/metadata.h"

namespace palimpsest {
namespace {

std::size_t content_bytes(const Body& body) {
    if (const auto* entry = std::get_if<MessageEntry>(&body))
        return view_of(entry->message.raw).size();
    if (const auto* note = std::get_if<NoteEntry>(&body)) return view_of(note->body).size();
    if (const auto* sealed = std::get_if<SealedEntry>(&body))
        return view_of(sealed->payload).size();
    std::size_t bytes = 0;
    if (const auto* entry = std::get_if<CompactionEntry>(&body))
        for (const Edit& edit : entry->edits) bytes += view_of(edit.result).size();
    return bytes;
}

Result<void> check_size(std::size_t bytes, std::size_t most, std::string_view what,
                        std::string_view param = {}) {
    if (bytes <= most) return {};
    return fail(ErrorCode::too_large,
                std::string(what) + " has " + std::to_string(bytes) + " bytes; at most " +
                    std::to_string(most) + " are stored",
                std::string(param));
}

Result<void> check_text(const std::optional<std::string>& text, std::size_t most,
                        std::string_view what, std::string_view param) {
    if (!text) return {};
    PAL_CHECK(check_size(text->size(), most, what, param));
    if (is_utf8(*text)) return {};
    return fail(ErrorCode::invalid_request, std::string(what) + " is not valid UTF-8",
                std::string(param));
}

Result<void> check_patch(const HeaderPatch& patch) {
    PAL_CHECK(check_text(patch.owner, key_bytes_max, "the owner", "owner"));
    // Different broken names would be one.
    if (patch.owner && stands_for_broken_text(*patch.owner))
        return fail(ErrorCode::invalid_request,
                    "the owner has U+FFFD, which stands for text that was broken", "owner");
    PAL_CHECK(check_text(patch.title, text_bytes_max, "the title", "title"));
    PAL_CHECK(
        check_text(patch.system_prompt, text_bytes_max, "the system prompt", "system_prompt"));
    if (patch.policy)
        PAL_CHECK(check_size(patch.policy->size(), text_bytes_max, "the policy", "policy"));
    if (patch.ttl && *patch.ttl && **patch.ttl <= Duration::zero())
        return fail(ErrorCode::invalid_request, "a time to live must be longer than 0", "ttl");
    return {};
}

constexpr std::string_view sort_names[] = {"created", "updated", "accessed"};

std::string order_name(const ListQuery& query) {
    return std::string(sort_names[static_cast<std::size_t>(query.sort)]) +
           (query.newest_first ? "-" : "~");  // Both stand in a URL as they are.
}

}  // namespace

Result<void> check_batch(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_size(batch.key.size(), key_bytes_max, "the idempotency key"));
    PAL_CHECK(check_patch(batch.patch));
    for (const Draft& draft : batch.entries)
        PAL_CHECK(check_size(content_bytes(draft.body), entry_bytes_max, "an entry"));
    return {};
}

Result<void> check_read(const ReadQuery& query) {
    Seq last{};
    bool first = true;
    for (const Range& range : query.ranges) {
        if (range.empty()) continue;
        if (!first && range.from <= last)
            return fail(ErrorCode::invalid_request, "ranges overlap or are not in order", "ranges");
        last = range.to;
        first = false;
    }
    return {};
}

Result<void> check_list(const ListQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    if (query.limit == 0)
        return fail(ErrorCode::invalid_request, "a page has at least one row", "limit");
    return {};
}

Result<void> check_record(const RecordKey& key) {
    PAL_CHECK(check_id(key.tenant, "tenant"));
    PAL_CHECK(check_id(key.space, "space"));
    if (key.key.empty()) return fail(ErrorCode::invalid_request, "a record needs a key", "key");
    return check_size(key.key.size(), key_bytes_max, "the key of a record");
}

Result<void> check_record(const RecordWrite& write) {
    PAL_CHECK(check_record(write.key));
    if (write.value) PAL_CHECK(check_size(write.value->size(), record_bytes_max, "a record"));
    if (write.ttl && *write.ttl <= Duration::zero())
        return fail(ErrorCode::invalid_request, "a time to live must be longer than 0", "ttl");
    return {};
}

Result<void> check_expected(const Header& header, bool exists, const Batch& batch) {
    const auto stale = [&](std::string_view what, std::uint64_t want, std::uint64_t have) {
        return fail(ErrorCode::conflict, std::string(what) + " of \"" + header.name.id + "\" is " +
                                             std::to_string(have) + ", not " +
                                             std::to_string(want) + " as expected; read it again");
    };
    if (batch.expected_log && (!exists || *batch.expected_log != header.log))
        return fail(ErrorCode::conflict, "\"" + header.name.id +
                                             "\" is another conversation than the one expected: "
                                             "that one was erased or has expired");
    if (batch.expected_end && *batch.expected_end != header.end)
        return stale("the end", batch.expected_end->value, header.end.value);
    if (batch.expected_basis && *batch.expected_basis != header.basis)
        return stale("the basis", batch.expected_basis->value, header.basis.value);
    if (batch.expected_epoch && *batch.expected_epoch != header.epoch)
        return stale("the epoch", *batch.expected_epoch, header.epoch);
    if (batch.expected_revision && *batch.expected_revision != header.revision)
        return stale("the revision", *batch.expected_revision, header.revision);
    return {};
}

Result<void> check_fork(const Header& parent, const ConversationId& child, const ForkPoint& fork) {
    if (parent.name.tenant != child.tenant)
        return fail(ErrorCode::not_found, "there is no such log to fork from");
    const bool owned = fork.at > parent.base || (fork.at == Seq{} && parent.base == Seq{});
    if (fork.at > parent.end || !owned)
        return fail(ErrorCode::invalid_request,
                    "the log owns the seqs " + std::to_string(parent.base.value + 1) + " to " +
                        std::to_string(parent.end.value) + ": it cannot be forked at " +
                        std::to_string(fork.at.value),
                    "at");
    return {};
}

Header new_header(const ConversationId& name, const LogId& log, const Batch& batch, Time now) {
    Header header{.name = name, .log = log};
    header.created = header.updated = header.accessed = now;
    if (!batch.fork) return header;
    header.parent = batch.fork->parent;
    header.base = header.end = batch.fork->at;
    header.basis = batch.fork->basis;
    header.messages = batch.fork->messages;
    header.epoch = batch.fork->epoch;
    return header;
}

void put_off_expiry(Header& header, Time now) {
    if (!header.ttl)
        header.expires.reset();
    else
        header.expires = std::max(header.expires.value_or(Time{}), now + *header.ttl);
}

Result<void> apply_batch(Header& header, const Batch& batch, Time now) {
    const std::optional<Duration> ttl_before = header.ttl;
    if (!batch.patch.empty()) PAL_CHECK(apply_patch(header, batch.patch));
    const bool fresh = header.created == now;
    for (const Draft& draft : batch.entries) {
        header.end = header.end + 1;
        if (kind_of(draft.body) == EntryKind::message) ++header.messages;
        if (basis_kinds.has(kind_of(draft.body))) header.basis = header.end;
    }
    if (!batch.patch.empty() || !batch.entries.empty()) header.updated = now;
    header.accessed = now;
    if (header.ttl != ttl_before) header.expires.reset();
    put_off_expiry(header, now);
    if (batch.stamp) {
        if (fresh) header.created = batch.stamp->created;
        header.updated = batch.stamp->updated;
        header.accessed = batch.stamp->accessed;
    }
    return {};
}

std::unexpected<Error> entry_trouble(const Header& header, Seq seq, std::string_view what) {
    const std::string name =
        header.name.id.empty() ? hex(header.log) : "\"" + header.name.id + "\"";
    return fail(ErrorCode::internal, "entry " + std::to_string(seq.value) + " of " + name + " is " +
                                         std::string(what) +
                                         "; run `pal doctor` to see what is whole");
}

void remove_content(Body& body) {
    if (auto* entry = std::get_if<MessageEntry>(&body)) entry->message.raw = nullptr;
    if (auto* note = std::get_if<NoteEntry>(&body)) note->body = nullptr;
    if (auto* sealed = std::get_if<SealedEntry>(&body)) sealed->payload = nullptr;
    if (auto* entry = std::get_if<CompactionEntry>(&body))
        for (Edit& edit : entry->edits) edit.result = nullptr;
}

Time sort_time(const Header& header, SortBy sort) {
    if (sort == SortBy::created) return header.created;
    return sort == SortBy::updated ? header.updated : header.accessed;
}

std::string write_cursor(const ListQuery& query, const Cursor& cursor) {
    return order_name(query) + std::to_string(cursor.time.time_since_epoch().count()) + "." +
           hex(cursor.log);
}

Result<Cursor> parse_cursor(const ListQuery& query) {
    const auto bad = [] {
        return fail(ErrorCode::invalid_request, "not a cursor of a listing in this order", "after");
    };
    std::string_view text = query.after;
    const std::string order = order_name(query);
    if (!text.starts_with(order)) return bad();
    text.remove_prefix(order.size());
    std::int64_t ms = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (fault != std::errc{} || end == text.data() + text.size() || *end != '.') return bad();
    const auto log = parse_log_id(text.substr(static_cast<std::size_t>(end - text.data()) + 1));
    if (!log) return bad();
    return Cursor{Time(std::chrono::milliseconds(ms)), *log};
}

}  // namespace palimpsest
