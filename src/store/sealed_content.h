// What an encrypted store does to bodies, headers and filters on their way in and out. Pure but for
// the randomness of a seal.
#pragma once
#include <string>

#include "palimpsest/store.h"
#include "store/seal.h"

namespace palimpsest {

struct SealedPlace {
    LogId log = {};
    Seq seq = {};
    EntryKind kind = EntryKind::message;
};
SealedEntry seal_body(const SealKey& key, const SealedPlace& place, const Body& body);
// `forbidden` when it does not open; `internal` when it is not sealed at all.
Result<Body> unseal_body(const SealKey& key, const SealedPlace& place, const Body& body);

// The patch that makes the fields of a sealed header those of `after`. `before` is the inner one.
HeaderPatch seal_header(const SealKey& key, const SealKey& store_key, const Header& before,
                        const Header& after);
Result<Header> unseal_header(const SealKey& key, Header header);
// Nothing in it was ever sealed: it has no name any more, or nobody wrote into it.
bool is_blank(const Header& header);

// The filters of a listing as the inner store knows them.
ListQuery seal_query(const SealKey& store_key, ListQuery query);

std::string seal_record(const SealKey& store_key, const RecordKey& key, std::string_view value);
Result<std::string> unseal_record(const SealKey& store_key, const RecordKey& key,
                                  std::string_view value);

}  // namespace palimpsest
