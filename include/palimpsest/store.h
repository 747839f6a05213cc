// The store port: logs by name, and small records. Nothing else.
//
// A store keeps append-only logs, each under a name (tenant, id), as the batches arrive, and gives
// them back. It knows entries only as kinds and bytes (encode_body, decode_body); what they mean is
// decided above. Chains of forks are walked above it too (lineage.h of src/store): a log answers
// for the seqs that it owns.
//
// Every call may come from any thread. Every call is atomic: all of it, or nothing. Nothing is
// acknowledged before it is as durable as durability() says. An error other than `outcome_unknown`
// means that nothing was written. Times are the store's clock.
//
// A store of your own writes the operations that are pure virtual here; the others have defaults
// built from them. Run the conformance suite (conformance.h) over it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/entry.h"
#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

struct Header {
    ConversationId name = {};  // the id is empty when the conversation was erased but has forks
    LogId log = {};
    std::optional<LogId> parent = {};
    Seq base = {};               // the log owns the seqs above it; the parent owns the rest
    Seq end = {};                // the last seq
    Seq basis = {};              // the newest entry that carries a basis, in the lineage; 0: none
    std::uint64_t messages = 0;  // in the lineage
    std::uint64_t revision = 0;  // grows with every change of the fields below
    std::uint64_t epoch = 0;     // grows with every scrub in the lineage: what was read is stale
    std::string owner = {}, title = {}, system_prompt = {};
    std::string metadata = "{}";  // a JSON object
    std::string policy = {};      // JSON; empty: none
    Time created = {}, updated = {}, accessed = {};
    std::optional<Duration> ttl = {};  // sliding; none: kept for ever
    std::optional<Time> expires = {};
};

// What a batch changes in the header; absent fields stay. `metadata_merge` is a JSON object whose
// fields replace those of the same name, null removes (RFC 7396, top level).
struct HeaderPatch {
    std::optional<std::string> owner = {}, title = {}, system_prompt = {}, policy = {};
    std::optional<std::string> metadata_merge = {};
    std::optional<std::optional<Duration>> ttl = {};  // set to nullopt: for ever
    bool empty() const {
        return !owner && !title && !system_prompt && !policy && !metadata_merge && !ttl;
    }
};

struct Draft {
    Body body = {};
    std::optional<Time> at = {};  // imports bring their own time; otherwise the store's clock
};

enum class IfAbsent : std::uint8_t { create, fail };

struct ForkPoint {
    LogId parent = {};  // the log that owns `at` (see owner_of in src/store/lineage.h)
    Seq at = {};
    Seq basis = {};              // the newest basis at or below `at`
    std::uint64_t messages = 0;  // messages at or below `at`
    std::uint64_t epoch = 0;
};

// What an import or a copy brings with it instead of the store's clock.
struct Stamp {
    Time created = {}, updated = {}, accessed = {};
};

// One atomic write: create, append, fork, change of header, or any of them together. An empty batch
// (no entries, no patch) only counts as an access: it moves `accessed` and `expires`.
// Checks, in this order: key, incarnation, end, basis, epoch, revision.
struct Batch {
    std::string key = {};     // idempotency; empty: none. Kept per log for at least 24 h
    Fingerprint digest = {};  // of the request: the same key with another one is `unprocessable`
    std::optional<LogId> expected_log = {};  // these fail with `conflict`
    std::optional<Seq> expected_end = {};
    std::optional<Seq> expected_basis = {};
    std::optional<std::uint64_t> expected_epoch = {};
    std::optional<std::uint64_t> expected_revision = {};
    IfAbsent if_absent = IfAbsent::create;  // `fail` gives not_found
    LogId new_log = {};                  // the uid a created log gets; empty: the store draws one
    std::optional<ForkPoint> fork = {};  // creates a fork: the name must be absent, else conflict
    HeaderPatch patch = {};
    std::vector<Draft> entries = {};
    std::optional<Stamp> stamp = {};  // `created` counts only when the batch creates
};

struct Appended {
    Seq first = {}, last = {};  // first == previous end + 1; last < first when nothing was appended
    Header header = {};
    bool again = false;  // the key was seen: `first` and `last` are those of the first time
    bool created = false;
};

// Which entries of one log. Ranges must not overlap and are given in ascending order; none: all.
struct ReadQuery {
    std::vector<Range> ranges = {};
    Kinds kinds = all_kinds;
    std::size_t limit = SIZE_MAX;
    bool newest_first = false;
    bool content = true;  // false: messages come without raw, edits and notes without their bytes
};

enum class SortBy : std::uint8_t { created, updated, accessed };

struct ListQuery {
    std::string tenant = {};
    std::optional<std::string> owner = {};
    std::map<std::string, std::string> metadata = {};  // top-level fields that must be equal
    std::optional<LogId> children_of = {};  // the forks of a log, also nameless ones, instead
    SortBy sort = SortBy::updated;
    bool newest_first = true;
    std::size_t limit = 100;
    std::string after = {};  // `next` of the page before; stable while conversations come and go
};
struct Page {
    std::vector<Header> headers = {};
    std::string next = {};  // empty: that was the last page
};

// New bodies for entries whose content must go. The epoch of every named log and of all logs
// forked from it, however deep, grows in the same step.
struct Replacement {
    LogId log = {};
    Seq seq = {};
    Body body = {};
};

// What erase removed, and what stays because forks share it.
struct Receipt {
    std::uint64_t entries = 0, logs = 0;
    std::vector<std::string> kept_for = {};  // names of conversations that still share some of it
    std::vector<std::string> remains = {};   // where bytes of it may still be, for people
};

// A small keyed value that is not a conversation. Versions grow over the whole store, so a version
// is never seen twice for different bytes.
struct RecordKey {
    std::string tenant = {}, space = {}, key = {};
    auto operator<=>(const RecordKey&) const = default;
};
struct Record {
    RecordKey key = {};
    std::string value = {};
    std::uint64_t version = 0;
    std::optional<Time> expires = {};
};
struct RecordWrite {
    RecordKey key = {};
    std::optional<std::string> value = {};       // none: remove it
    std::optional<std::uint64_t> expected = {};  // version; 0: it must be absent; else `conflict`
    std::optional<Duration> ttl = {};
    bool purge = false;  // no byte of the value before stays in any file of the store
};
struct RecordQuery {
    std::string tenant = {}, space = {}, prefix = {}, after = {};  // after: a key
    std::size_t limit = 100;
};

// A name that a person reads, and whether an acknowledged write survives each event.
struct Durability {
    std::string level = "unknown";
    bool process_killed = false, power_cut = false;
};

// What check() found: one line for each fault, in words. Empty: all is well.
struct Finding {
    std::string what = {};   // "gap", "unreadable", "orphan", ...
    std::string where = {};  // conversation or file
    std::string message = {};
};
struct CheckReport {
    std::uint64_t logs = 0, entries = 0, records = 0;
    std::vector<Finding> findings = {};
};

// Who and what is in a store, for copies and checks of all of it.
struct RecordSpace {
    std::string tenant = {}, space = {};
    auto operator<=>(const RecordSpace&) const = default;
};
struct Contents {
    std::vector<std::string> tenants = {};  // that have conversations, ascending
    std::vector<RecordSpace> spaces = {};   // that have records, ascending
};

// A conversation that is there and that list() does not give. `damage`: why nobody can read it, in
// words; empty: it can be read by its name and its log.
struct Unlisted {
    ConversationId name = {};  // without an id where nobody knows it
    LogId log = {};
    std::string damage = {};
};

class Store {
public:
    virtual ~Store() = default;
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // not_found when there is none or it has expired.
    virtual Result<Header> head(const ConversationId& name) = 0;
    virtual Result<Header> head(const LogId& log) = 0;  // also nameless logs
    virtual Result<Appended> append(const ConversationId& name, const Batch& batch) = 0;
    // The same, for a caller who has something to do while it is synced. `written` hears the result
    // once the batch has passed every check and would survive the death of this process; append may
    // fail all the same (`outcome_unknown`). At most once, before append returns, perhaps on
    // another thread. It delays the sync of all who wait for it: it is to be quick and must not
    // call the store. A store that cannot tell never calls it; so does the default.
    using OnWritten = std::function<void(const Appended& so_far)>;
    virtual Result<Appended> append_ahead(const ConversationId& name, const Batch& batch,
                                          const OnWritten& written);
    // The entries that this log owns. not_found when there is no such log.
    virtual Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) = 0;
    virtual Result<Page> list(const ListQuery& query) = 0;
    virtual Result<void> scrub(std::span<const Replacement> replacements) = 0;
    // Takes the name away and removes every entry that no fork needs; a nameless log goes with its
    // last fork. not_found when there is none.
    virtual Result<Receipt> erase(const ConversationId& name) = 0;

    virtual Result<Record> get_record(const RecordKey& key) = 0;
    virtual Result<std::uint64_t> put_record(const RecordWrite& write) = 0;  // the new version
    virtual Result<std::vector<Record>> list_records(const RecordQuery& query) = 0;

    // Removes what has expired, at most `limit` conversations; gives how many went. The default
    // does nothing: expired conversations are invisible all the same.
    virtual Result<std::size_t> sweep(std::size_t limit);
    // The default reads every log through the port and checks it for gaps.
    virtual Result<CheckReport> check(std::span<const std::string> tenants);
    virtual Durability durability() const;
    // Whether a write would have a place, as far as a look without one tells: `unavailable` when
    // the files were moved, removed or replaced. Cheap. The default knows nothing against it.
    virtual Result<void> check_writable();
    // Whether a lock keeps every other process out of it while it is open: what one of them wrote
    // about what it is doing is from before. The default says no.
    virtual bool held_alone() const;

    // unprocessable where a store cannot say. May name what has expired.
    virtual Result<Contents> contents();
    // For whoever must miss none: what list() leaves out because a listing, or a header, is
    // damaged. No tenants: all. The default says none, for stores that list their logs themselves.
    virtual Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants);
    // A consistent copy, under a path that must not exist yet, which opens as a store of the same
    // kind. unprocessable for stores that do not lie in files.
    virtual Result<void> backup(const std::string& path);
    // Mends what is safe to mend, then checks. The default only checks.
    virtual Result<CheckReport> repair(std::span<const std::string> tenants);
};

// ---- opening ------------------------------------------------------------------------------------

using Clock = std::function<Time()>;

struct StoreOptions {
    Clock clock = {};  // empty: the system's
    // Who may hold the store beside us is told who we are (see src/store/store_lock.h).
    std::string holder_address = {};
    std::string holder_token = {};
    bool create = true;
    // Where the master key of an encrypted store is: file:PATH, env:NAME or command:COMMAND;
    // several, separated by commas, while keys are changed: the one that the store names seals, in
    // a new store the first. Empty: not encrypted.
    std::string encryption_key = {};
    bool raw = false;  // an encrypted store as it lies there, for changing its keys
    // Told what opening had to mend, in words.
    std::function<void(std::string_view)> warn = {};
};

// Opens a store by its URL: `sqlite:palimpsest.db`, `memory:` and the other rows of the table.
// unavailable when another process holds it and cannot be reached.
Result<std::unique_ptr<Store>> open_store(std::string_view url, const StoreOptions& options = {});

struct StoreKind {
    std::string_view scheme;
    Result<std::unique_ptr<Store>> (*open)(std::string_view rest, const StoreOptions& options);
    std::string_view help;
};
std::span<const StoreKind> store_kinds();

}  // namespace palimpsest
