#include "store/sealed_store.h"

#include <functional>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "store/damaged_log.h"
#include "store/rules.h"
#include "store/sealed_content.h"
#include "store/sealed_erasure.h"

namespace palimpsest {
namespace {

constexpr int attempts_max = 100;  // when others append to the same conversation elsewhere

Result<void> check_space(std::string_view space) {
    if (!is_own_space(space)) return {};
    return fail(ErrorCode::invalid_request,
                "the space " + std::string(space) + " is the store's own", "space");
}

// A fault of one log, not of the store or of this process.
bool is_of_one(const Error& error) {
    return error.code == ErrorCode::forbidden || error.code == ErrorCode::internal;
}

// What is known of a conversation without its key.
Header without_sealed(Header header) {
    header.owner.clear();
    header.system_prompt.clear();
    header.policy.clear();
    header.metadata = "{}";
    header.title = "(cannot be read: `pal doctor` says why)";
    return header;
}

// Digests of requests are digests of content: they are keyed like the rest.
void hide_key(const SealKey& store_key, Batch& batch) {
    if (batch.key.empty()) return;
    const std::string digest =
        keyed_digest(store_key, "request",
                     std::to_string(batch.digest.low) + " " + std::to_string(batch.digest.high));
    batch.digest = hash_bytes(digest);
    batch.key = keyed_digest(store_key, "key", batch.key);
}

}  // namespace

// ---- reading ------------------------------------------------------------------------------------

Result<Header> SealedStore::unsealed(Header header) {
    if (is_blank(header)) return header;
    PAL_TRY(key, key_of(header.name.tenant, header.log));
    return unseal_header(key, std::move(header));
}

Result<Header> SealedStore::head(const ConversationId& name) {
    PAL_TRY(header, inner_->head(name));
    return unsealed(std::move(header));
}

Result<Header> SealedStore::head(const LogId& log) {
    PAL_TRY(header, inner_->head(log));
    return unsealed(std::move(header));
}

Result<std::vector<Entry>> SealedStore::read(const LogId& log, const ReadQuery& query) {
    PAL_TRY(entries, inner_->read(log, query));
    if (entries.empty()) return std::move(entries);
    PAL_TRY(header, inner_->head(log));
    PAL_TRY(key, key_of(header.name.tenant, log));
    for (Entry& entry : entries) {
        PAL_TRY(body, unseal_body(key, {log, entry.seq, kind_of(entry.body)}, entry.body));
        entry.body = std::move(body);
    }
    return std::move(entries);
}

Result<Page> SealedStore::list(const ListQuery& query) {
    PAL_CHECK(check_master());
    PAL_TRY(page, inner_->list(seal_query(store_key_, query)));
    for (Header& header : page.headers) {
        auto plain = unsealed(header);
        if (!plain && !is_of_one(plain.error())) return std::unexpected(plain.error());
        header = plain ? *std::move(plain) : without_sealed(std::move(header));
    }
    return std::move(page);
}

Result<Record> SealedStore::get_record(const RecordKey& key) {
    PAL_CHECK(check_space(key.space));
    PAL_TRY(record, inner_->get_record(key));
    PAL_TRY(value, unseal_record(store_key_, key, record.value));
    record.value = value;
    return std::move(record);
}

Result<std::vector<Record>> SealedStore::list_records(const RecordQuery& query) {
    PAL_CHECK(check_space(query.space));
    PAL_TRY(records, inner_->list_records(query));
    for (Record& record : records) {
        PAL_TRY(value, unseal_record(store_key_, record.key, record.value));
        record.value = value;
    }
    return std::move(records);
}

// ---- writing ------------------------------------------------------------------------------------

Result<Appended> SealedStore::append(const ConversationId& name, const Batch& batch) {
    PAL_CHECK(check_batch(name, batch));
    PAL_CHECK(check_master());
    const std::size_t stripe = std::hash<std::string>{}(name.tenant + "\x1f" + name.id);
    const std::lock_guard hold(names_[stripe % names_.size()]);
    for (int attempt = 0;; ++attempt) {
        bool again = false;
        Result<Appended> done = append_once(name, batch, again);
        if (!again || attempt >= attempts_max) return done;
    }
}

// `again`: somebody else was faster, and the caller did not ask to be told.
Result<Appended> SealedStore::append_once(const ConversationId& name, const Batch& batch,
                                          bool& again) {
    auto found = inner_->head(name);
    if (!found && found.error().code != ErrorCode::not_found) return std::unexpected(found.error());
    const bool creates = !found;
    Batch sealed = batch;
    hide_key(store_key_, sealed);
    if (creates && batch.if_absent == IfAbsent::fail) return inner_->append(name, sealed);
    if (creates && sealed.new_log.empty()) sealed.new_log = random_log_id();
    const Header before = found ? *found : new_header(name, sealed.new_log, batch, Time{});
    // Sealed with the key of the log that it was sealed for, or not written.
    if (!creates && !sealed.expected_log) sealed.expected_log = before.log;
    if (!sealed.expected_end) sealed.expected_end = before.end;
    PAL_TRY(key, creates ? make_key(name.tenant, before.log) : key_of(name.tenant, before.log));
    for (std::size_t i = 0; i < sealed.entries.size(); ++i) {
        Body& body = sealed.entries[i].body;
        body = seal_body(key, {before.log, before.end + 1 + i, kind_of(body)}, body);
    }
    if (!batch.patch.empty()) {
        PAL_TRY(plain, unsealed(before));
        Header after = plain;
        if (const auto patched = apply_patch(after, batch.patch); !patched)
            return refuse(name, batch, patched.error());
        sealed.patch = seal_header(key, store_key_, before, after);
        sealed.patch.ttl = batch.patch.ttl;
        if (!sealed.expected_revision) sealed.expected_revision = before.revision;
    }
    auto done = inner_->append(name, sealed);
    if (!done) {
        const auto now = inner_->head(name);
        const bool moved = now.has_value() == creates ||
                           (now && (now->log != before.log || now->end != before.end ||
                                    now->revision != before.revision));
        again = done.error().code == ErrorCode::conflict && moved && !batch.fork;
        const bool unknown = done.error().code == ErrorCode::outcome_unknown;
        if (creates && !unknown) (void)forget_if_gone(name.tenant, before.log);
        return done;
    }
    if (done->created) PAL_CHECK(keep_new_key(done->header, key));
    PAL_TRY(plain, unsealed(std::move(done->header)));
    done->header = std::move(plain);
    return done;
}

// A patch that cannot be applied is refused last: what the inner store would refuse before, or has
// done already, comes first. It is asked with a patch that no store takes.
Result<Appended> SealedStore::refuse(const ConversationId& name, const Batch& batch,
                                     const Error& error) {
    Batch probe = batch;
    hide_key(store_key_, probe);
    probe.entries.clear();
    probe.patch = {.metadata_merge = "[]"};
    auto done = inner_->append(name, probe);
    if (!done && done.error().code == ErrorCode::invalid_request) return std::unexpected(error);
    if (!done) return done;
    PAL_TRY(plain, unsealed(std::move(done->header)));
    done->header = std::move(plain);
    return done;
}

Result<void> SealedStore::scrub(std::span<const Replacement> replacements) {
    PAL_CHECK(check_master());
    std::vector<Replacement> sealed(replacements.begin(), replacements.end());
    for (Replacement& replacement : sealed) {
        PAL_TRY(header, inner_->head(replacement.log));
        PAL_TRY(key, key_of(header.name.tenant, replacement.log));
        const SealedPlace place{replacement.log, replacement.seq, kind_of(replacement.body)};
        replacement.body = seal_body(key, place, replacement.body);
    }
    return inner_->scrub(sealed);
}

// The log of the name and those that it was forked from; none when it is not there.
Result<std::vector<LogId>> SealedStore::chain_of(const ConversationId& name) {
    std::vector<LogId> chain;
    PAL_TRY(log, log_behind(*inner_, name));
    if (!log) return chain;
    auto header = inner_->head(*log);
    if (!header) chain.push_back(*log);  // damaged: what it was forked from, a sweep finds
    while (header) {
        chain.push_back(header->log);
        if (!header->parent) break;
        header = inner_->head(LogId(*header->parent));
    }
    return chain;
}

// The log goes first, so that an erase that fails has destroyed nothing, and its key after it; what
// a process that dies in between leaves is finished by the next erase of the name.
Result<Receipt> SealedStore::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    PAL_TRY(chain, chain_of(name));
    PAL_TRY(left, read_erasure(*inner_, name));
    const bool finishes = chain.empty() && !left.empty();
    const bool begins = !chain.empty();
    chain.insert(chain.end(), left.begin(), left.end());
    if (begins) PAL_CHECK(write_erasure(*inner_, name, chain));
    auto erased = inner_->erase(name);
    const bool absent = !erased && erased.error().code == ErrorCode::not_found;
    if (!erased && !(absent && finishes)) return erased;
    for (const LogId& log : chain) PAL_CHECK(forget_if_gone(name.tenant, log));
    PAL_CHECK(remove_erasure(*inner_, name));
    Receipt receipt{.remains = {"backups and copies that were made before"}};
    if (erased) receipt = *std::move(erased);
    if (!receipt.remains.empty())
        receipt.remains.push_back(
            "all of that is sealed, and readable with the master key of that time: rotate it and "
            "destroy the old one to make it unreadable");
    return receipt;
}

Result<std::uint64_t> SealedStore::put_record(const RecordWrite& write) {
    PAL_CHECK(check_space(write.key.space));
    PAL_CHECK(check_master());
    RecordWrite sealed = write;
    if (write.value) sealed.value = seal_record(store_key_, write.key, *write.value);
    return inner_->put_record(sealed);
}

// ---- the rest -----------------------------------------------------------------------------------

Result<void> SealedStore::check_writable() {
    return inner_->check_writable();
}

Durability SealedStore::durability() const {
    Durability inner = inner_->durability();
    inner.level += ", sealed with AES-256-GCM";
    return inner;
}

Result<void> SealedStore::backup(const std::string& path) {
    return inner_->backup(path);
}

}  // namespace palimpsest
