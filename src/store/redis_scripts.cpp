#include "store/redis_scripts.h"

namespace palimpsest {
namespace {

// All keys have one tag, "P:{TAG}:..."; their names are made from that. KEYS names those that a
// script reads: while a slot moves from node to node, a script runs only where all of them are.
// ARGV[1] comes back, so that an answer can be told from another's. ARGV[2] is the time, or empty
// for the server's.
constexpr const char* prelude = R"lua(
local A, base = ARGV, string.match(KEYS[1], '^[^{]*{[^}]*}:')
local N = base .. 'n'
local now = tonumber(A[2])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local function num(v) return string.format('%.0f', v) end
-- How many entries there are, when that is not what the header says.
local function lost(uid, below, last)
  local e, p = redis.call('LLEN', base .. 'e:' .. uid), redis.call('LLEN', base .. 'p:' .. uid)
  local want = tonumber(last) - tonumber(below)
  if e ~= want or p ~= want then return num(math.min(e, p)) end
end
-- How many messages there are by the last entry, where there is one.
local function counted(uid)
  local tail = redis.call('LINDEX', base .. 'e:' .. uid, -1)
  return tail and tonumber(string.match(tail, '^%d+:%-?%d+:(%d+):') or '')
end
-- How many entries of a log are no messages: what its first and its last counted tells.
local function edits_of(uid)
  local E = base .. 'e:' .. uid
  local first, last = redis.call('LINDEX', E, 0), counted(uid)
  local kind, before = string.match(first or '', '^(%d+):%-?%d+:(%d+):')
  if not first then return 0 end
  if kind and last then return redis.call('LLEN', E) - last + before - (kind == '0' and 1 or 0) end
end
local function keys_of(uid, shares)
  local keys = {base .. 'h:' .. uid, base .. 'e:' .. uid, base .. 'p:' .. uid, base .. 'x:' .. uid}
  if shares then
    keys[5] = base .. 'b'
    keys[6] = base .. 's'
  end
  return keys
end
-- Entries of a log whose payloads are stored once: UID:SEQ and hash of each.
local function each_use(uid, visit)
  local below, E = redis.call('HGET', base .. 'h:' .. uid, 'base'), base .. 'e:' .. uid
  for from = 0, below and redis.call('LLEN', E) - 1 or -1, 500 do
    for j, record in ipairs(redis.call('LRANGE', E, from, from + 499)) do
      local at = from + j - 1
      local hash = string.match(record, '^%d+:%-?%d+:%d+:2:') and
                   redis.call('LINDEX', base .. 'p:' .. uid, at)
      if hash then visit(uid .. ':' .. num(below + at + 1), hash) end
    end
  end
end
local function named(key)
  for _, one in ipairs(KEYS) do
    if one == key then return true end
  end
end
)lua";

// ARGV 3 uid, 4 name, 5 key, 6 digest, 7 log, 8 end, 9 basis, 10 epoch,
// 11 revision, 12 revision that the patch was made for, 13 number of entries, 14 how it may be made
// ('' not, 'own', 'fork'), 15 the name key's value then, 16 version of the tree (fork), 17 parent
// (fork); 16 else: 'fork' when an existing one is refused, 'dry' when nothing shall be written. 18
// uid and revision of the header that the caller has, 19 number of fields to set, times that the
// caller brings among them; then field and value each; then for each entry kind, time, has a
// payload (2: one that is stored once), meta, payload (2: its hash in front).
constexpr const char* append_text = R"lua(
local uid, made = A[3], A[14]
local H, K = base .. 'h:' .. uid, base .. 'k:' .. uid .. ':'
local h = redis.call('HMGET', H, 'name', 'end', 'basis', 'messages', 'epoch', 'revision', 'updated',
                     'expires', 'ttl', 'native', 'tree', 'base', 'shares', 'accessed', 'created',
                     'parent', 'forks')
-- Of a header that has a name: 16 fields are always there, a fork has 3 more.
local function torn()
  for _, at in ipairs({2, 3, 4, 5, 6, 7, 12, 14, 15}) do
    if not tonumber(h[at] or '') then return true end
  end
  local count = 16 + (h[16] and 3 or 0)
  for _, at in ipairs({8, 9, 10, 11, 13, 17}) do count = count + (h[at] and 1 or 0) end
  for _, at in ipairs({8, 9}) do
    if h[at] and not tonumber(h[at]) then return true end
  end
  return redis.call('HLEN', H) < count or (not h[8]) ~= (not h[9]) or
         (h[12] ~= '0' and not h[16])
end
local day = math.floor(now / 86400000)
local function header()
  local hot = redis.call('HMGET', H, 'end', 'basis', 'messages', 'epoch', 'revision', 'updated',
                         'accessed', 'expires', 'ttl')
  for i = 8, 9 do hot[i] = hot[i] or '-' end
  local cold = false
  if A[18] ~= uid .. ':' .. hot[5] then cold = redis.call('HGETALL', H) end
  return uid .. ' ' .. table.concat(hot, ' '), cold
end
if made ~= '' then
  if made == 'own' and (redis.call('GET', N) or '') ~= A[15] then return {A[1], 'moved'} end
  if redis.call('EXISTS', H) == 1 then return {A[1], 'taken'} end
  if made == 'fork' and (redis.call('GET', base .. 'v') or '0') ~= A[16] then
    return {A[1], 'moved'}
  end
  h = {A[4], '0', '0', '0', '0', '0', '0', false, false, false, false, '0', false}
else
  if h[1] ~= A[4] then return {A[1], 'absent'} end
  if torn() then return {A[1], 'damaged', redis.call('HGETALL', H)} end
  if h[8] and tonumber(h[8]) <= now then return {A[1], 'expired', uid} end
  if A[5] ~= '' then
    local o = redis.call('HGET', K .. num(day), A[5]) or redis.call('HGET', K .. num(day - 1), A[5])
    local digest, first, last, at = string.match(o or '', '^(%x+):(%d+):(%d+):(%d+)$')
    if digest and tonumber(at) + 86400000 >= now then
      if digest ~= A[6] then return {A[1], 'reused'} end
      local hot, cold = header()
      return {A[1], 'again', first, last, hot, cold, num(now)}
    end
  end
  if A[16] == 'fork' then return {A[1], 'exists'} end
  if (A[7] ~= '' and A[7] ~= uid) or (A[8] ~= '' and A[8] ~= h[2]) or
     (A[9] ~= '' and A[9] ~= h[3]) or (A[10] ~= '' and A[10] ~= h[5]) or
     (A[11] ~= '' and A[11] ~= h[6]) then
    local hot, cold = header()
    return {A[1], 'conflict', '', '', hot, cold, num(now)}
  end
  if A[12] ~= '' and A[12] ~= h[6] then return {A[1], 'moved'} end
  if A[16] == 'dry' then return {A[1], 'dry'} end
  local have = tonumber(A[13]) > 0 and lost(uid, h[12], h[2])
  if have then return {A[1], 'short', have, h[2]} end
  local tail = tonumber(A[13]) > 0 and counted(uid)
  if tail and tail ~= tonumber(h[4]) then return {A[1], 'count', num(tail), h[4]} end
  -- Its bodies expire with it, so they must be here too.
  if h[13] and not h[11] and not named(base .. 'b') then return {A[1], 'shares'} end
end
-- Every check is done: from here on only writes.
local set, i, patched = {}, 20, tonumber(A[19]) > 0
local ttl, basis, tree, stamp = h[9], h[3], h[11], {}
local last, messages = tonumber(h[2]), tonumber(h[4])
for _ = 1, tonumber(A[19]) do
  local field, value = A[i], A[i + 1]
  if field == 'ttl' then
    ttl = value ~= '' and value
    if value == '' then redis.call('HDEL', H, 'ttl', 'expires') end
  end
  if field == 'end' then last = tonumber(value) end
  if field == 'messages' then messages = tonumber(value) end
  if field == 'basis' then basis = value end
  if field == 'created' or field == 'updated' or field == 'accessed' then
    stamp[field] = value
  elseif value ~= '' or field ~= 'ttl' then
    set[#set + 1] = field
    set[#set + 1] = value
  end
  i = i + 2
end
local first, count = last + 1, tonumber(A[13])
local records, payloads, fresh, shares = {}, {}, made ~= '', h[13]
local function flush()
  if redis.call('RPUSH', base .. 'e:' .. uid, unpack(records)) == #records then fresh = true end
  redis.call('RPUSH', base .. 'p:' .. uid, unpack(payloads))
  records, payloads = {}, {}
end
for _ = 1, count do
  local kind = A[i]
  last = last + 1
  if kind == '0' then
    messages = messages + 1
  else
    redis.call('ZADD', base .. 'x:' .. uid, last, kind .. ':' .. num(last))
    fresh = true
  end
  if kind >= '1' and kind <= '5' then basis = num(last) end
  local at = A[i + 1] ~= '' and A[i + 1] or num(now)
  local head = kind .. ':' .. at .. ':' .. num(messages) .. ':'
  records[#records + 1] = head .. A[i + 2] .. ':' .. A[i + 3]
  local payload = A[i + 4]
  if A[i + 2] == '2' then
    local hash = string.sub(payload, 1, 32)
    redis.call('HSETNX', base .. 'b', hash, string.sub(payload, 33))
    redis.call('HSET', base .. 's', uid .. ':' .. num(last), hash)
    payload, fresh, shares = hash, true, '1'
  end
  payloads[#payloads + 1] = payload
  i = i + 5
  if #records == 500 then flush() end
end
if #records > 0 then flush() end
local function put(field, value)
  set[#set + 1] = field
  set[#set + 1] = value
end
put('end', num(last)) put('messages', num(messages)) put('basis', basis)
put('accessed', stamp.accessed or num(now))
if count > 0 or patched or made ~= '' then put('updated', stamp.updated or num(now)) end
if made ~= '' then put('name', A[4]) put('created', stamp.created or num(now)) end
if made == 'own' then redis.call('SET', N, uid) end
if made == 'fork' then
  redis.call('SADD', base .. 't', uid, A[17])
  redis.call('INCR', base .. 'v')
  tree = '1'
  put('tree', '1')
  local P = base .. 'h:' .. A[17]
  if redis.call('EXISTS', P) == 1 then
    redis.call('HSET', P, 'tree', '1', 'native', '0')
    redis.call('HINCRBY', P, 'forks', 1)
  end
  for _, key in ipairs(keys_of(A[17], true)) do redis.call('PERSIST', key) end
  if redis.call('GET', N) == A[17] then redis.call('PERSIST', N) end
end
-- Beside a family that stays, bodies do not expire by themselves: what shares them does not either.
if shares and not h[13] then
  put('shares', '1')
  if not tree and redis.call('EXISTS', base .. 't') == 1 then
    tree = '2'
    put('tree', '2')
  end
end
-- As put_off_expiry() does it.
local expires = ttl and now + ttl
if ttl and ttl == h[9] and h[8] then expires = math.max(expires, tonumber(h[8])) end
if ttl then put('expires', num(expires)) end
-- The server itself forgets a conversation without forks an hour after it has expired.
local native = tonumber(h[10] or '0') or 0
if ttl and not tree and (fresh or expires > native) then
  local slack = math.max(60000, math.floor(ttl / 10))
  put('native', num(expires + slack))
  redis.call('HSET', H, unpack(set))
  local keep = num(expires - now + slack + 3600000)
  for _, key in ipairs(keys_of(uid, shares)) do redis.call('PEXPIRE', key, keep) end
  redis.call('PEXPIRE', N, keep)
else
  redis.call('HSET', H, unpack(set))
  if native > 0 and (tree or not ttl) then
    for _, key in ipairs(keys_of(uid, shares)) do redis.call('PERSIST', key) end
    redis.call('PERSIST', N)
    redis.call('HSET', H, 'native', '0')
  end
end
if A[5] ~= '' then
  local range = ':' .. num(first) .. ':' .. num(last) .. ':' .. num(now)
  redis.call('HSET', K .. num(day), A[5], A[6] .. range)
  redis.call('PEXPIRE', K .. num(day), 176400000)
end
if patched or A[18] ~= uid .. ':' .. h[6] then
  local hot, cold = header()
  return {A[1], 'ok', num(first), num(last), hot, cold, num(now)}
end
local hot = {uid, num(last), basis, num(messages), h[5], h[6], count > 0 and num(now) or h[7],
             num(now), ttl and num(expires) or '-', ttl or '-'}
return {A[1], 'ok', num(first), num(last), table.concat(hot, ' '), false, num(now)}
)lua";

// ARGV 3 uid, 4 kinds as bits, 5 limit, 6 newest first, 7 content, 8 the last seq to give ('' = the
// log's own), then from and to of each range. Gives the header, then seq, record, payload each.
constexpr const char* read_text = R"lua(
local uid = A[3]
local H = base .. 'h:' .. uid
local h = redis.call('HMGET', H, 'base', 'end')
if not tonumber(h[1] or '') or not tonumber(h[2] or '') then
  local torn = redis.call('HGETALL', H)
  if #torn == 0 then return {A[1], 'absent'} end
  return {A[1], 'ok', num(now), torn}
end
local kinds, left, newest, content = tonumber(A[4]), tonumber(A[5]), A[6] == '1', A[7] == '1'
if #A > 8 then
  local have = lost(uid, h[1], h[2])
  if have then return {A[1], 'short', have, h[2]} end
  local indexed = redis.call('ZCARD', base .. 'x:' .. uid)
  local edits = kinds % 2 == 0 and edits_of(uid)
  if edits and edits ~= indexed then return {A[1], 'index', num(indexed), num(edits)} end
end
local out = {A[1], 'ok', num(now), redis.call('HGETALL', H)}
local below, last = tonumber(h[1]), tonumber(A[8]) or tonumber(h[2])
local function give(seq, record, payload)
  local kind = bit.lshift(1, tonumber(string.sub(record, 1, 1)))
  if left == 0 or bit.band(kinds, kind) == 0 then return end
  left = left - 1
  if payload and #payload == 32 and string.match(record, '^%d+:%-?%d+:%d+:2:') then
    payload = redis.call('HGET', base .. 'b', payload)
  end
  out[#out + 1] = num(seq)
  out[#out + 1] = record
  out[#out + 1] = payload or ''
end
local function walk(from, to)
  local step = 128
  while from <= to and left > 0 do
    local a, b = from, math.min(to, from + step - 1)
    if newest then a, b = math.max(from, to - step + 1), to end
    local at, to_at = a - below - 1, b - below - 1
    local records = redis.call('LRANGE', base .. 'e:' .. uid, at, to_at)
    local payloads = content and redis.call('LRANGE', base .. 'p:' .. uid, at, to_at)
    for j = 1, #records do
      local k = newest and #records - j + 1 or j
      give(a + k - 1, records[k], payloads and payloads[k])
    end
    if newest then to = a - 1 else from = b + 1 end
  end
end
local function pick(from, to)
  local range = newest and redis.call('ZREVRANGEBYSCORE', base .. 'x:' .. uid, to, from)
    or redis.call('ZRANGEBYSCORE', base .. 'x:' .. uid, from, to)
  for _, member in ipairs(range) do
    if left == 0 then return end
    local kind, seq = string.match(member, '^(%d+):(%d+)$')
    seq = tonumber(seq)
    if bit.band(kinds, bit.lshift(1, tonumber(kind))) ~= 0 then
      local at = seq - below - 1
      give(seq, redis.call('LINDEX', base .. 'e:' .. uid, at),
           content and redis.call('LINDEX', base .. 'p:' .. uid, at))
    end
  end
end
for i = 9, #A, 2 do
  local from, to = math.max(tonumber(A[i]), below + 1), math.min(tonumber(A[i + 1]), last)
  if from <= to then
    if kinds % 2 == 1 then walk(from, to) else pick(from, to) end
  end
end
return out
)lua";

// ARGV 3 and further: the uids that the tree had when it was last asked for. Another set of them is
// 'moved'. A log without forks is its own tree.
constexpr const char* tree_text = R"lua(
local wanted = {}
for i = 3, #A do wanted[A[i]] = true end
for _, uid in ipairs(redis.call('SMEMBERS', base .. 't')) do
  if not wanted[uid] then return {A[1], 'moved'} end
end
local out = {A[1], redis.call('GET', base .. 'v') or '0', num(now)}
for i = 3, #A do
  local h = redis.call('HGETALL', base .. 'h:' .. A[i])
  if #h > 0 then
    out[#out + 1] = A[i]
    out[#out + 1] = h
  end
end
return out
)lua";

// ARGV 3 version of the tree, then steps, each a letter, a uid and what it takes:
// checks: L is there and has its name; X has expired; K index kind: that entry has that kind.
// writes: N loses its name; T count end basis messages: is cut to that many entries; D goes;
// E its epoch grows; R index flag meta payload: that entry's new body.
// What is stored once goes with its last use: `s` has one for each entry, UID:SEQ.
// Gives how many entries went with each T and D.
constexpr const char* change_text = R"lua(
if (redis.call('GET', base .. 'v') or '0') ~= A[3] then return {A[1], 'moved'} end
local sizes = {L = 0, X = 0, K = 2, N = 0, T = 4, D = 0, E = 0, R = 4}
local day = math.floor(now / 86400000)
local i = 4
while i <= #A do
  local step, uid = A[i], A[i + 1]
  local H = base .. 'h:' .. uid
  if not tonumber(redis.call('HGET', H, 'base') or '') then return {A[1], 'moved'} end
  if step == 'L' or step == 'X' then
    local h = redis.call('HMGET', H, 'name', 'expires')
    local expired = h[2] and tonumber(h[2]) <= now
    if not h[1] or (step == 'X') ~= (expired or false) then return {A[1], 'moved'} end
  end
  if step == 'K' then
    local record = redis.call('LINDEX', base .. 'e:' .. uid, A[i + 2])
    if not record then return {A[1], 'missing'} end
    if string.sub(record, 1, 1) ~= A[i + 3] then return {A[1], 'kind'} end
  end
  i = i + 2 + sizes[step]
end
local went, cut, replaced, removes = {}, {}, {}, false
local function drop_keys(uid)
  for d = day - 2, day + 1 do redis.call('DEL', base .. 'k:' .. uid .. ':' .. num(d)) end
end
i = 4
while i <= #A do
  local step, uid = A[i], A[i + 1]
  local H, E, P = base .. 'h:' .. uid, base .. 'e:' .. uid, base .. 'p:' .. uid
  if step == 'N' or step == 'D' then
    local n = redis.call('GET', N)
    if n and string.sub(n, 1, #uid) == uid then redis.call('DEL', N) end
  end
  if step == 'N' then
    redis.call('HDEL', H, 'name', 'owner', 'title', 'prompt', 'metadata', 'policy', 'ttl',
               'expires')
    drop_keys(uid)
  elseif step == 'T' then
    local count = tonumber(A[i + 2])
    cut[uid], removes = tonumber(A[i + 3]), true
    went[#went + 1] = redis.call('LLEN', E) - count
    if count == 0 then
      redis.call('DEL', E, P)
    else
      redis.call('LTRIM', E, 0, count - 1)
      redis.call('LTRIM', P, 0, count - 1)
    end
    redis.call('ZREMRANGEBYSCORE', base .. 'x:' .. uid, '(' .. A[i + 3], '+inf')
    redis.call('HSET', H, 'end', A[i + 3], 'basis', A[i + 4], 'messages', A[i + 5])
  elseif step == 'D' then
    cut[uid], removes = 0, true
    went[#went + 1] = redis.call('LLEN', E)
    local above = base .. 'h:' .. (redis.call('HGET', H, 'parent') or '')
    if redis.call('HEXISTS', above, 'forks') == 1 then redis.call('HINCRBY', above, 'forks', -1) end
    redis.call('DEL', unpack(keys_of(uid)))
    drop_keys(uid)
    redis.call('SREM', base .. 't', uid)
  elseif step == 'E' then
    redis.call('HINCRBY', H, 'epoch', 1)
  elseif step == 'R' then
    local head = string.match(redis.call('LINDEX', E, A[i + 2]), '^%d+:%-?%d+:%d+:')
    redis.call('LSET', E, A[i + 2], head .. A[i + 3] .. ':' .. A[i + 4])
    redis.call('LSET', P, A[i + 2], A[i + 5])
    local seq = tonumber(redis.call('HGET', H, 'base')) + tonumber(A[i + 2]) + 1
    replaced[uid .. ':' .. num(seq)], removes = true, true
  end
  i = i + 2 + sizes[step]
end
local uses, used, idle = redis.call('HGETALL', base .. 's'), {}, {}
for j = 1, removes and #uses or 0, 2 do
  local uid, seq = string.match(uses[j], '^(%x+):(%d+)$')
  if replaced[uses[j]] or (cut[uid] and tonumber(seq) > cut[uid]) then
    redis.call('HDEL', base .. 's', uses[j])
  else
    used[uses[j + 1]] = true
  end
end
for _, hash in ipairs(removes and redis.call('HKEYS', base .. 'b') or {}) do
  if not used[hash] then idle[#idle + 1] = hash end
end
-- Before a body goes, the entries themselves are asked: `s` may have lost one of its uses.
for _, key in ipairs(#idle > 0 and KEYS or {}) do
  local uid = string.match(key, '}:h:(%x+)$')
  if uid and redis.call('HEXISTS', key, 'shares') == 1 then
    each_use(uid, function(use, hash)
      used[hash] = true
      redis.call('HSETNX', base .. 's', use, hash)
    end)
  end
end
for _, hash in ipairs(idle) do
  if not used[hash] then redis.call('HDEL', base .. 'b', hash) end
end
if redis.call('EXISTS', base .. 't') == 1 then
  redis.call('INCR', base .. 'v')
else
  redis.call('DEL', base .. 'v')
end
return {A[1], 'ok', went}
)lua";

}  // namespace

RedisScript make_redis_script(std::string_view flags, std::string_view body) {
    return RedisScript("#!lua flags=" + std::string(flags) + "\n" + prelude + std::string(body));
}

// Reads go on while memory is full or replicas are missing, and what takes away makes room. A claim
// is freed by whoever erases; whoever makes one has written the uid before, which was refused.
RedisScripts make_redis_scripts() {
    const RedisRecordTexts records = redis_record_texts();
    const RedisFamilyTexts families = redis_family_texts();
    return {.append = make_redis_script("", append_text),
            .read = make_redis_script("no-writes", read_text),
            .tree = make_redis_script("no-writes", tree_text),
            .change = make_redis_script("allow-oom", change_text),
            .claim = make_redis_script("allow-oom", families.claim),
            .look_at_family = make_redis_script("no-writes", families.gather),
            .gather_family = make_redis_script("allow-oom", families.gather),
            .mend_count = make_redis_script("allow-oom", families.count),
            .look_at_index = make_redis_script("no-writes", families.index),
            .mend_index = make_redis_script("allow-oom", families.index),
            .look_at_uses = make_redis_script("no-writes", families.uses),
            .mend_uses = make_redis_script("allow-oom", families.uses),
            .draw = make_redis_script("allow-oom", records.draw),
            .put_record = make_redis_script("", records.put),
            .put_small_record = make_redis_script("allow-oom", records.put),
            .list_records = make_redis_script("no-writes", records.list),
            .prune_records = make_redis_script("allow-oom", records.prune)};
}

}  // namespace palimpsest
