// The scripts of records. The prelude of redis_scripts.cpp stands in front of each.
#include "store/redis_scripts.h"

namespace palimpsest {
namespace {

// Records: a hash key -> "VERSION:EXPIRES:" and the value, and a sorted set for the order of keys.
// ARGV 3 key, 4 version, 5 expected ('' any), 6 time to live ('' none), 7 'set' or 'remove', 8
// value.
constexpr const char* put_record_text = R"lua(
local R, Z = base .. 'r', base .. 'z'
local old = redis.call('HGET', R, A[3])
local have, expires = '0', nil
if old then
  have, expires = string.match(old, '^(%d+):(%d*):')
  if tonumber(have) >= tonumber(A[4]) then return {A[1], 'late'} end
  if expires ~= '' and tonumber(expires) <= now then have = '0' end
end
if A[5] ~= '' and A[5] ~= have then return {A[1], 'conflict', have} end
if A[7] == 'remove' then
  redis.call('HDEL', R, A[3])
  redis.call('ZREM', Z, A[3])
  return {A[1], 'ok', num(now)}
end
local at = A[6] ~= '' and num(now + A[6]) or ''
redis.call('HSET', R, A[3], A[4] .. ':' .. at .. ':' .. A[8])
redis.call('ZADD', Z, 0, A[3])
return {A[1], 'ok', num(now)}
)lua";

// ARGV 3 prefix, 4 where to begin, with '[' or '(' in front, 5 limit.
constexpr const char* list_records_text = R"lua(
local R, Z = base .. 'r', base .. 'z'
local left, from = tonumber(A[5]), A[4]
local out = {A[1], 'ok'}
while left > 0 do
  local some = redis.call('ZRANGEBYLEX', Z, from, '+', 'LIMIT', 0, 128)
  for _, key in ipairs(some) do
    if string.sub(key, 1, #A[3]) ~= A[3] then return out end
    local record = redis.call('HGET', R, key)
    local expires = record and string.match(record, '^%d+:(%d*):')
    if record and left > 0 and (expires == '' or tonumber(expires) > now) then
      out[#out + 1] = key
      out[#out + 1] = record
      left = left - 1
    end
  end
  if #some < 128 then return out end
  from = '(' .. some[#some]
end
return out
)lua";

constexpr const char* prune_records_text = R"lua(
local R, Z = base .. 'r', base .. 'z'
local later = ''
for _, key in ipairs(redis.call('ZRANGE', Z, 0, -1)) do
  local record = redis.call('HGET', R, key)
  local expires = record and string.match(record, '^%d+:(%d*):')
  if not record or (expires ~= '' and tonumber(expires) <= now) then
    redis.call('HDEL', R, key)
    redis.call('ZREM', Z, key)
  elseif expires ~= '' and (later == '' or tonumber(expires) < tonumber(later)) then
    later = expires
  end
end
return {A[1], 'ok', later}
)lua";

// The next version. By a script, because a command of its own is refused while memory is full.
constexpr const char* draw_text = R"lua(
return {A[1], num(redis.call('INCR', base .. 'v'))}
)lua";

}  // namespace

RedisRecordTexts redis_record_texts() {
    return {put_record_text, list_records_text, prune_records_text, draw_text};
}

}  // namespace palimpsest
