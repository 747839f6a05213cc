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
    RedisScript put_record;
    RedisScript list_records;
    RedisScript prune_records;
};
RedisScripts make_redis_scripts();

}  // namespace palimpsest
