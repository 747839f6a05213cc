#include "store/wrapped_key.h"

#include <algorithm>

#include "base/ids.h"
#include "base/wire.h"

namespace palimpsest {
namespace {

constexpr std::string_view store_tenant = "pal", store_name = "store";
constexpr std::size_t page_records = 500;

std::string bound_to(const RecordKey& key) {
    return "key " + key.tenant + "\x1f" + key.key;
}

}  // namespace

RecordKey key_record(const std::string& tenant, const LogId& log) {
    return {tenant, std::string(key_space), hex(log)};
}

RecordKey store_key_record() {
    return {std::string(store_tenant), std::string(key_space), std::string(store_name)};
}

Result<WrappedKey> read_wrapped_key(const Record& record) {
    WireReader in(record.value);
    WrappedKey wrapped;
    const std::uint8_t state = in.byte();
    wrapped.state = static_cast<KeyState>(state);
    wrapped.master = in.text();
    if (wrapped.state == KeyState::changing) wrapped.former = in.text();
    wrapped.sealed = in.bytes(in.left());
    const bool known = state >= 1 && state <= 3;
    if (known && in.ok()) return wrapped;
    return fail(ErrorCode::internal, "the key \"" + record.key.key + "\" does not decode");
}

std::string write_wrapped_key(const WrappedKey& wrapped) {
    WireWriter out;
    out.byte(static_cast<std::uint8_t>(wrapped.state));
    out.text(wrapped.master);
    if (wrapped.state == KeyState::changing) out.text(wrapped.former);
    out.bytes(wrapped.sealed);
    return out.take();
}

WrappedKey wrap_key(const MasterKey& master, const RecordKey& at, const SealKey& key) {
    return {.master = master.id, .sealed = seal(master.key, key.bytes(), bound_to(at))};
}

Result<SealKey> unwrap_key(const std::vector<MasterKey>& masters, const RecordKey& at,
                           const WrappedKey& wrapped) {
    const MasterKey* master = find_master(masters, wrapped.master);
    if (!master)
        return fail(ErrorCode::forbidden,
                    "the key \"" + at.key + "\" is sealed with the master key " + wrapped.master);
    PAL_TRY(bytes, unseal(master->key, wrapped.sealed, bound_to(at)));
    if (bytes.size() == SealKey::size) return SealKey::from(bytes);
    return fail(ErrorCode::internal, "the key \"" + at.key + "\" has no 32 bytes");
}

const MasterKey* find_master(const std::vector<MasterKey>& masters, std::string_view id) {
    const auto found = std::ranges::find(masters, id, &MasterKey::id);
    return found == masters.end() ? nullptr : &*found;
}

std::string words_of_wrong_master(const WrappedKey& store_key) {
    if (store_key.state != KeyState::changing)
        return "this store is sealed with the master key " + store_key.master +
               "; give that one with --encryption-key";
    return "the master key of this store is being changed from " + store_key.former + " to " +
           store_key.master +
           ", or that was broken off: `pal keys rotate --encryption-key OLD --to NEW` finishes "
           "it; then give the new one with --encryption-key";
}

Result<std::vector<Record>> list_keys_of(Store& store, const std::string& tenant,
                                         const std::string& after) {
    return store.list_records(
        {.tenant = tenant, .space = std::string(key_space), .after = after, .limit = page_records});
}

}  // namespace palimpsest
