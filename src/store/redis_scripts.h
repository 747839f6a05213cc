// The scripts of the Redis store: each is one atomic step on the keys of one hash tag.
// docs/FORMATS.md has the layout of the keys.
#pragma once
#include "store/redis_client.h"

namespace palimpsest {

struct RedisScripts {
    RedisScript append;  // a batch, on a conversation that is there or that it makes
    RedisScript read;    // entries of one log
    RedisScript tree;    // the logs that share a tag, and the version of their tree
    RedisScript change;  // what became of a tree: names taken, logs trimmed, gone, scrubbed
    RedisScript claim;   // a name key from one value to another
    RedisScript look_at_family, gather_family;  // what the set of a family's logs has lost
    RedisScript mend_count;                     // how many messages a header says
    RedisScript look_at_index, mend_index;      // what the index of a log's edits has lost
    RedisScript look_at_uses, mend_uses;        // what the uses of bodies have lost
    RedisScript draw;                           // a version for a record
    RedisScript put_record;
    RedisScript put_small_record;  // the same, also while memory is full
    RedisScript list_records;
    RedisScript prune_records;
};
RedisScripts make_redis_scripts();

// `flags` as Redis knows them: no-writes, allow-oom, or none.
RedisScript make_redis_script(std::string_view flags, std::string_view body);

struct RedisRecordTexts {
    std::string_view put, list, prune, draw;
};
RedisRecordTexts redis_record_texts();

struct RedisFamilyTexts {
    std::string_view gather, count, index, uses, claim;
};
RedisFamilyTexts redis_family_texts();

}  // namespace palimpsest
