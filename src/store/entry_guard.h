// What the stores on servers keep beside every entry so that damage and gaps are noticed when it is
// read: sums of its meta and of its payload, in front of the meta.
//
// Bytes: 3, sum (8, little endian), sum of the payload (8), meta. The sum covers the kind, the sum
// of the payload and the meta, so a read without content is verified too. Seq, time and count are
// given by the server and not covered: a missing entry is found by its seq, see check_no_gap().
#pragma once
#include <string_view>
#include <vector>

#include "core/codec.h"
#include "palimpsest/store.h"

namespace palimpsest {

EncodedBody encode_guarded(const Body& body);

struct GuardedEntry {
    Seq seq = {};
    EntryKind kind = EntryKind::message;
    std::string_view meta = {};
    Bytes payload = {};
    bool content = true;  // whether the payload was asked for
};
// `internal` when it is not what was written.
Result<Body> decode_guarded(const GuardedEntry& entry);

// `internal` when an entry is missing among those that the log, as its header says, has for the
// query. Of reads that leave out some kinds, a missing message is noticed between two others, at
// the end of the log, and at the begin of one that is no fork; of reads without messages nothing.
Result<void> check_no_gap(const Header& header, const ReadQuery& query,
                          const std::vector<Entry>& found);

}  // namespace palimpsest
