// Names, headers and entries as the Redis store writes them. Pure. docs/FORMATS.md has the layout.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/store.h"
#include "store/fork_tree.h"
#include "store/redis_reply.h"

namespace palimpsest {

// "tenant/id", each escaped so that a tag has no brace, space or further slash.
std::string tag_of(const ConversationId& name);
std::string escaped(std::string_view text);
std::optional<ConversationId> name_of(std::string_view tag);
// A text that SCAN takes for nothing but itself.
std::string glob_escaped(std::string_view text);

// Where a log lives: the tag of its family's root.
struct RedisPlace {
    std::string tag = {};
    LogId log = {};
    bool operator==(const RedisPlace&) const = default;
};

// What a name key says: "UID" for a conversation that is its own root, "UID TAG" for a fork, and
// "UID TAG UNTIL" while a fork is being made.
struct NameKey {
    std::string raw = {};
    RedisPlace place = {};
    bool linked = false;
    std::optional<std::int64_t> until = {};
};
std::optional<NameKey> parse_name_key(std::string raw, const std::string& own_tag);

// Fields and values, as HGETALL gives them. `internal` when one is missing that every header of its
// kind has, or holds what it cannot hold: a header is whole, or it is damaged.
Result<TreeLog> read_header(const RedisReply& fields, const LogId& log);
// The value of one field; null when there is none.
const std::string* field_of(const RedisReply& fields, std::string_view name);
// The fields that it lacks. Empty: all are there.
std::vector<std::string> lacking_fields(const RedisReply& fields);
// Those, and the fields that hold what they cannot.
std::vector<std::string> unfit_fields(const RedisReply& fields);
// In words, behind "its header": "lacks `end`". Empty: it is whole.
std::string header_fault(const RedisReply& fields);
// "UID END BASIS MESSAGES EPOCH REVISION UPDATED ACCESSED EXPIRES TTL" over a header that has the
// rest. False: it is not that.
bool apply_hot(Header& header, std::string_view hot);
// What a batch that makes the log sets, but for name and times.
std::vector<std::string> new_fields(const TreeLog& log);
// What a patch changed.
std::vector<std::string> patched_fields(const Header& header, const HeaderPatch& patch);

// Five words for each entry: kind, time or nothing, whether there is a payload, meta, payload.
// True: some payloads are stored once; their hash stands in front of them.
bool add_entry_words(const Batch& batch, std::vector<std::string>& words);
Result<Entry> read_record(Seq seq, std::string_view record, const std::string& payload,
                          bool content);

std::string digest_hex(const Fingerprint& digest);

// The script found fewer entries, or more, than the header says.
std::unexpected<Error> entries_lost(const LogId& log, const RedisReply& reply);
// The same of the edits that their index has: by it alone, some would be taken for not made.
std::unexpected<Error> index_lost(const LogId& log, const RedisReply& reply);

}  // namespace palimpsest
