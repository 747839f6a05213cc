// Rows of a header that are lost, made anew from what the other tables tell.
#include "store/postgres_mend.h"

namespace palimpsest {
namespace {

// $1 now, $2 the time to live of conversations that bring none, then what `where` asks for. Where a
// log ends, its entries tell. Epoch and revision are higher than any that it had, so that whoever
// remembers the old ones reads again.
std::string heads_anew(const std::string& where) {
    return "INSERT INTO pal_head(log, tenant, named, last, basis, messages, epoch, revision, ttl, "
           "updated, accessed, expires, updated_minute, accessed_minute, expires_minute) "
           "SELECT log, tenant, named, last, basis, messages, now, now, ttl, updated, updated, "
           "now + ttl, updated / 60000, updated / 60000, (now + ttl) / 60000 FROM ("
           "SELECT l.log, l.tenant, l.id IS NOT NULL AS named, COALESCE(e.seq, l.base) AS last, "
           "COALESCE((SELECT max(b.seq) FROM pal_entry b WHERE b.log = l.log AND b.kind BETWEEN 1 "
           "AND 5), l.base_basis) AS basis, COALESCE(e.ordinal, l.base_messages) AS messages, "
           "CASE WHEN l.id IS NULL THEN NULL ELSE $2::bigint END AS ttl, "
           "COALESCE(e.at, l.created) AS updated, " +
           pg_now +
           " AS now FROM pal_log l LEFT JOIN LATERAL (SELECT seq, ordinal, at FROM pal_entry WHERE "
           "log = l.log ORDER BY seq DESC LIMIT 1) AS e ON true WHERE " +
           where +
           " AND NOT EXISTS (SELECT 1 FROM pal_head h WHERE h.log = l.log) ORDER BY l.log) AS anew "
           "ON CONFLICT DO NOTHING";
}
static_assert(basis_kinds.bits == 0b111110, "kinds 1 to 5");

const PgStatement mending_family{"mend_family", heads_anew("l.root = $3::uuid")};

// $1 now. Of a conversation of which only the name is left, and its entries. What it was forked
// from is clear where it alone lost its row, and one log alone that ends where it begins is kept
// without a fork; otherwise nobody knows.
const PgStatement mending_log{
    "mend_log",
    "WITH torn AS (SELECT n.log, n.tenant, n.id, COALESCE((SELECT min(seq) FROM pal_entry e WHERE "
    "e.log = n.log), 1) - 1 AS base FROM pal_name n WHERE n.tenant = $2::text AND NOT EXISTS "
    "(SELECT 1 FROM pal_log l WHERE l.log = n.log)), "
    "one AS (SELECT * FROM torn WHERE id = $3::text), "
    "kept AS (SELECT p.log, p.root, h.basis, h.messages FROM one JOIN pal_log p ON p.tenant = "
    "one.tenant JOIN pal_head h ON h.log = p.log WHERE p.id IS NULL AND h.last = one.base AND NOT "
    "EXISTS (SELECT 1 FROM pal_log c WHERE c.parent = p.log)), "
    "origin AS (SELECT * FROM kept WHERE (SELECT count(*) FROM kept) = 1 AND (SELECT count(*) FROM "
    "torn) = 1) "
    "INSERT INTO pal_log(log, root, tenant, id, parent, base, base_basis, base_messages, owner, "
    "title, system_prompt, metadata, policy, labels, created, revision) SELECT one.log, "
    "COALESCE(o.root, (SELECT c.root FROM pal_log c WHERE c.parent = one.log LIMIT 1), one.log), "
    "one.tenant, one.id, o.log, one.base, COALESCE(o.basis, 0), COALESCE(o.messages, 0), "
    "'', '', '', '{}', '', '{}', " +
        pg_now + ", 1 FROM one LEFT JOIN origin o ON true ON CONFLICT DO NOTHING"};
const PgStatement finding_root{
    "root_of_name",
    "SELECT l.root FROM pal_name n JOIN pal_log l ON l.log = n.log WHERE n.tenant = $1::text AND "
    "n.id = $2::text"};
// Where the bodies of a log lie, which its own row does not tell any more.
const PgStatement finding_bodies{
    "bodies_of_log",
    "SELECT DISTINCT b.root FROM pal_entry e JOIN pal_body b ON b.hash = e.shared WHERE e.log = "
    "(SELECT log FROM pal_name WHERE tenant = $1::text AND id = $2::text) ORDER BY b.root"};

PgCall named(const PgStatement& statement, const ConversationId& name) {
    PgCall call{statement};
    call.params.bytes(name.tenant).bytes(name.id);
    return call;
}

}  // namespace

PgCall mend_heads(PgNow now, std::optional<Duration> ttl, const LogId& root) {
    PgCall call{mending_family};
    call.params.maybe(now);
    ttl ? call.params.integer(ttl->count()) : call.params.null();
    call.params.uid(root);
    return call;
}

PgCall mend_log(PgNow now, const ConversationId& name) {
    PgCall call{mending_log};
    call.params.maybe(now).bytes(name.tenant).bytes(name.id);
    return call;
}

PgCall find_root(const ConversationId& name) {
    return named(finding_root, name);
}

PgCall find_body_roots(const ConversationId& name) {
    return named(finding_bodies, name);
}

}  // namespace palimpsest
