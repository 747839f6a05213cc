// Scripts that compare what a family keeps beside its logs (the set of them, how many forks each
// has, who uses which body) with the headers and entries, and write it anew; and the one that
// claims and frees a name.
#include "store/redis_scripts.h"

namespace palimpsest {
namespace {

// ARGV 3 '' (look only), 'more' (puts back what is lost), 'all' (also gives up forks that nobody
// finds), then the uids under the tag. Gives how many logs the set lacks and how many counts
// of forks are wrong.
constexpr const char* gather_text = R"lua(
local write, listed, uids, forks = A[3] ~= '', {}, {}, {}
local function note(uid)
  if listed[uid] == nil then uids[#uids + 1] = uid end
  listed[uid] = listed[uid] or false
end
for i = 4, #A do note(A[i]) end
for _, uid in ipairs(redis.call('SMEMBERS', base .. 't')) do
  note(uid)
  listed[uid] = true
end
local member = {}
for _, uid in ipairs(uids) do
  local parent = redis.call('HGET', base .. 'h:' .. uid, 'parent')
  if parent then
    forks[parent] = (forks[parent] or 0) + 1
    member[uid], member[parent] = true, true
  end
end
local lost, wrong, gone = 0, 0, 0
for _, uid in ipairs(uids) do
  local H = base .. 'h:' .. uid
  local h = redis.call('HMGET', H, 'base', 'forks', 'tree')
  if A[3] == 'all' and redis.call('EXISTS', H, base .. 'e:' .. uid) == 0 then
    gone = gone + redis.call('SREM', base .. 't', uid)
  end
  if h[1] and member[uid] and (not listed[uid] or h[3] ~= '1') then
    lost = lost + 1
    if write then
      redis.call('SADD', base .. 't', uid)
      redis.call('HSET', H, 'tree', '1', 'native', '0')
      for _, key in ipairs(keys_of(uid, true)) do redis.call('PERSIST', key) end
      if redis.call('GET', N) == uid then redis.call('PERSIST', N) end
    end
  end
  local has, says = forks[uid] or 0, tonumber(h[2] or '') or 0
  if h[1] and has ~= says then
    wrong = wrong + 1
    if A[3] == 'all' or (write and has > says) then redis.call('HSET', H, 'forks', num(has)) end
  end
end
if write and lost + wrong + gone > 0 then redis.call('INCR', base .. 'v') end
if redis.call('EXISTS', base .. 't') == 0 and gone > 0 then redis.call('DEL', base .. 'v') end
return {A[1], num(lost), num(wrong)}
)lua";

// ARGV 3 the uid. Gives how many messages its header said and how many its last entry counts, where
// these were not the same, and lets the header say that.
constexpr const char* count_text = R"lua(
local H, tail = base .. 'h:' .. A[3], counted(A[3])
local says = redis.call('HGET', H, 'messages')
if not tail or not says or tonumber(says) == tail then return {A[1], 'ok'} end
redis.call('HSET', H, 'messages', num(tail))
return {A[1], 'mended', says, num(tail)}
)lua";

// ARGV 3 '' (look only) or 'all', 4 the uid. Gives how many of its edits the index lacks, and how
// many it names that are none. A log that is not whole is not looked at.
constexpr const char* index_text = R"lua(
local uid, want, lacks, strange = A[4], {}, 0, 0
local E, X = base .. 'e:' .. uid, base .. 'x:' .. uid
local h = redis.call('HMGET', base .. 'h:' .. uid, 'base', 'end')
local whole = tonumber(h[1] or '') and tonumber(h[2] or '') and not lost(uid, h[1], h[2])
if not whole then return {A[1], '0', '0'} end
for from = 0, redis.call('LLEN', E) - 1, 500 do
  for j, record in ipairs(redis.call('LRANGE', E, from, from + 499)) do
    local kind, seq = string.match(record, '^(%d+):'), num(h[1] + from + j)
    if not kind then return {A[1], '0', '0'} end
    if kind ~= '0' then
      want[kind .. ':' .. seq] = seq
      if redis.call('ZSCORE', X, kind .. ':' .. seq) ~= seq then lacks = lacks + 1 end
    end
  end
end
for _, member in ipairs(redis.call('ZRANGE', X, 0, -1)) do
  if not want[member] then strange = strange + 1 end
end
if A[3] ~= '' and lacks + strange > 0 then
  redis.call('DEL', X)
  for member, seq in pairs(want) do redis.call('ZADD', X, seq, member) end
  local left = redis.call('PTTL', E)
  if left > 0 then redis.call('PEXPIRE', X, left) end
end
return {A[1], num(lacks), num(strange)}
)lua";

// ARGV 3 '' (look only) or 'all', then the uids under the tag. Gives how many uses are missing, and
// how many bodies nobody uses. What belongs to a log that is not whole stays as it is.
constexpr const char* uses_text = R"lua(
local write, want, used, ends = A[3] ~= '', {}, {}, {}
local missing, idle = 0, 0
local have, all = {}, redis.call('HGETALL', base .. 's')
for i = 1, #all, 2 do have[all[i]] = all[i + 1] end
for i = 4, #A do
  local uid = A[i]
  local h = redis.call('HMGET', base .. 'h:' .. uid, 'base', 'end', 'shares')
  if tonumber(h[1] or '') and tonumber(h[2] or '') and not lost(uid, h[1], h[2]) then
    ends[uid] = tonumber(h[2])
    each_use(uid, function(use, hash)
      used[hash] = true
      if have[use] ~= hash or not h[3] then missing = missing + 1 end
      if write then
        redis.call('HSET', base .. 's', use, hash)
        redis.call('HSET', base .. 'h:' .. uid, 'shares', '1')
      end
    end)
  end
end
for i = 1, #all, 2 do
  local uid, seq = string.match(all[i], '^(%x+):(%d+)$')
  local gone = uid and redis.call('EXISTS', base .. 'h:' .. uid, base .. 'e:' .. uid) == 0
  if gone or (uid and ends[uid] and tonumber(seq) > ends[uid]) then
    if write then redis.call('HDEL', base .. 's', all[i]) end
  else
    used[all[i + 1]] = true
  end
end
for _, hash in ipairs(redis.call('HKEYS', base .. 'b')) do
  if not used[hash] then
    idle = idle + 1
    if write then redis.call('HDEL', base .. 'b', hash) end
  end
end
return {A[1], num(missing), num(idle)}
)lua";

// ARGV 3 the value that it must have ('' = none; a uid alone matches every value that begins with
// it when 5 is 'mine'), 4 the new one ('' = none). A claim on a name that is not yet kept lapses.
constexpr const char* claim_text = R"lua(
local n = redis.call('GET', N) or ''
local fits = n == A[3]
if A[5] == 'mine' then fits = string.sub(n, 1, #A[3]) == A[3] end
if not fits then return {A[1], 'moved'} end
if A[4] == '' then
  redis.call('DEL', N)
elseif tonumber(A[6] or '') then
  redis.call('SET', N, A[4] .. ' ' .. num(now + tonumber(A[6])))
else
  redis.call('SET', N, A[4])
end
return {A[1], 'ok', num(now)}
)lua";

}  // namespace

RedisFamilyTexts redis_family_texts() {
    return {gather_text, count_text, index_text, uses_text, claim_text};
}

}  // namespace palimpsest
