// The records in which an encrypted store keeps its keys: one for each log, and the store's own,
// each sealed with a master key. The store's own names the present master, the only one that may
// seal a new key, and tells that masters are being changed.
//
// A record is: state (1 byte), the master's id (text), the former masters' ids (text, in the state
// `changing` alone), the sealed key.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"
#include "store/seal.h"

namespace palimpsest {

constexpr std::string_view key_space = "pal.key";

RecordKey key_record(const std::string& tenant, const LogId& log);
RecordKey store_key_record();

enum class KeyState : std::uint8_t {
    kept = 1,
    changing = 2,   // of the store's own: some logs' keys may be sealed with a former master
    condemned = 3,  // of a log that was gone when somebody looked; it still opens
};
struct WrappedKey {
    KeyState state = KeyState::kept;
    std::string master = {};  // the id of the one that sealed it
    std::string former = {};
    std::string sealed = {};
};
// `internal` when it is none.
Result<WrappedKey> read_wrapped_key(const Record& record);
std::string write_wrapped_key(const WrappedKey& wrapped);

WrappedKey wrap_key(const MasterKey& master, const RecordKey& at, const SealKey& key);
// `forbidden` when none of the masters sealed it.
Result<SealKey> unwrap_key(const std::vector<MasterKey>& masters, const RecordKey& at,
                           const WrappedKey& wrapped);
// Null: it is none of these.
const MasterKey* find_master(const std::vector<MasterKey>& masters, std::string_view id);

// What the store's own key says to whoever has not its master.
std::string words_of_wrong_master(const WrappedKey& store_key);

// One page of the keys of a tenant.
Result<std::vector<Record>> list_keys_of(Store& store, const std::string& tenant,
                                         const std::string& after);
// Calls `visit(const Record&)`, which gives a Result<void>, with every key.
template <class Visit>
Result<void> each_key(Store& store, const Visit& visit) {
    PAL_TRY(contents, store.contents());
    for (const RecordSpace& space : contents.spaces) {
        if (space.space != key_space) continue;
        std::string after;
        for (;;) {
            PAL_TRY(page, list_keys_of(store, space.tenant, after));
            if (page.empty()) break;
            for (const Record& record : page) PAL_CHECK(visit(record));
            after = page.back().key.key;
        }
    }
    return {};
}

}  // namespace palimpsest
