// The store on a Redis server or cluster, which several of our servers may share.
//
// Everything about one family of forks lies under one hash tag and changes in one script, so every
// call on a conversation is atomic, in a cluster too. What lies under other tags follows: names of
// forks are claimed before and freed after, and listings are written after; both are compared with
// the headers when they are read, and mended. Keys: docs/FORMATS.md. Scripts: redis_scripts.cpp.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <set>

#include "palimpsest/store.h"
#include "store/redis_client.h"
#include "store/redis_places.h"
#include "store/redis_rows.h"
#include "store/redis_scripts.h"

namespace palimpsest {

class RedisStore : public Store {
public:
    struct Options {
        RedisOptions connection = {};
        ReplicaWait wait = {};
        std::string prefix = "pal";
        std::optional<Duration> ttl = std::chrono::hours(24);  // of conversations that bring none
        bool eviction_allowed = false;
        Clock clock = {};  // empty: the server's
    };
    static Result<std::unique_ptr<RedisStore>> open(Options options);

    Result<Header> head(const ConversationId& name) override;
    Result<Header> head(const LogId& log) override;
    Result<Appended> append(const ConversationId& name, const Batch& batch) override;
    Result<std::vector<Entry>> read(const LogId& log, const ReadQuery& query) override;
    Result<Page> list(const ListQuery& query) override;
    // Atomic for the logs of one family; families one after the other.
    Result<void> scrub(std::span<const Replacement> replacements) override;
    Result<Receipt> erase(const ConversationId& name) override;
    Result<Record> get_record(const RecordKey& key) override;
    Result<std::uint64_t> put_record(const RecordWrite& write) override;
    Result<std::vector<Record>> list_records(const RecordQuery& query) override;
    Result<std::size_t> sweep(std::size_t limit) override;
    Durability durability() const override { return durability_; }
    // Looks at every key of the prefix: names, pointers, listings, families, indexes of edits,
    // uses of bodies and records against the headers and entries, headers that are torn, and
    // entries that have none. repair() writes anew what headers and entries say, and takes out of
    // the listings what names no conversation.
    Result<CheckReport> check(std::span<const std::string> tenants) override;
    Result<CheckReport> repair(std::span<const std::string> tenants) override;
    Result<Contents> contents() override;
    Result<std::vector<Unlisted>> unlisted(std::span<const std::string> tenants) override;

private:
    RedisStore(Options options, std::unique_ptr<RedisClient> client);
    Result<void> learn_durability();

    // ---- keys and scripts
    std::string key(std::string_view tag, std::string_view rest) const;
    std::string now_word() const;
    // What a script is called with: keys without their tag, words after the time.
    struct Script {
        const RedisScript& script;
        const std::string& tag;
        std::vector<std::string> keys;
        std::vector<std::string> words;
        Effect effect = Effect::reads;
    };
    Result<RedisReply> call(Script script);
    // The keys of a log, and those of its idempotency keys that may be read today.
    static void add_log_keys(const LogId& log, std::vector<std::string>& keys);
    void add_once_keys(const LogId& log, std::vector<std::string>& keys) const;
    Result<Time> server_time();

    // ---- finding
    Result<std::optional<NameKey>> name_key(const std::string& tag);
    Result<std::optional<std::string>> tag_of_log(const LogId& log);
    struct Tree {
        std::string version = {};
        Time now = {};
        ForkTree logs = ForkTree({});
        std::vector<TreeLog> all = {};
        std::map<LogId, std::int64_t> forks = {};  // how many each had, as its header counts
        std::optional<Error> damage = {};          // of a header, which is left out of the rest
        std::map<LogId, RedisReply> torn = {};     // those headers
    };
    Result<Tree> load_tree(const std::string& tag, const std::vector<LogId>& logs);
    static Tree read_tree(const RedisReply& reply);
    // For whoever takes away: all of the family, or an error. What the set of its logs has lost is
    // found and put back first. Of headers that are torn, what the tree needs is guessed if asked.
    enum class Torn : std::uint8_t { refused, guessed };
    // `instead`: what is taken for the log's own header.
    Result<Tree> load_whole_tree(const std::string& tag, const LogId& log, Torn torn,
                                 const TreeLog* instead = nullptr);
    static bool lost_a_fork(const Tree& tree, const LogId& log);
    // By their headers. Cost: a walk over all keys of the server.
    Result<std::vector<std::string>> uids_under(const std::string& tag);
    struct FamilyFaults {
        std::int64_t first = 0, second = 0;  // see the scripts
        bool any() const { return first + second > 0; }
    };
    Result<FamilyFaults> look_beside(const RedisScript& script, const std::string& tag,
                                     const std::vector<std::string>& uids, std::string how);
    Result<RedisReply> change_tree(const std::string& tag, const Tree& tree,
                                   std::vector<std::string> words);
    struct Found {
        TreeLog log;
        Time now;
        std::vector<Entry> entries;
    };
    Result<std::optional<Found>> read_log(const std::string& tag, const LogId& log,
                                          const ReadQuery* query, std::optional<Seq> last);
    Result<Header> living(const std::string& tag, const Found& found);
    Result<void> check_not_lost(const RedisPlace& place);
    std::unexpected<Error> lost_or_absent(const RedisPlace& place);

    // ---- append
    struct Pending;
    Result<std::optional<Appended>> attempt(Pending& pending);
    Result<std::optional<Appended>> write_to(Pending& pending, const KnownConversation& at,
                                             bool fresh);
    Result<std::optional<Appended>> write_patched(Pending& pending, const KnownConversation& at,
                                                  bool fresh);
    std::vector<std::string> keys_of(const Pending& pending, const KnownConversation& at) const;
    Result<std::optional<Appended>> outcome(Pending& pending, const KnownConversation& at,
                                            const RedisReply& reply, bool fresh);
    Result<std::optional<Appended>> absent(Pending& pending, bool fresh);
    Result<std::optional<Appended>> make(Pending& pending);
    Result<std::optional<Appended>> make_fork(Pending& pending, TreeLog fresh);
    Result<void> check_uid_is_free(const Pending& pending);
    Result<Appended> finished(Pending& pending, const KnownConversation& at,
                              const RedisReply& reply, bool created);
    std::vector<std::string> words_of(Pending& pending, const KnownConversation& at) const;

    // ---- listings
    void index(const std::string& name_tag, KnownConversation known);
    std::vector<RedisCommand> listing_writes(const Header& header, const RedisPlace& place,
                                             const IndexedTimes* before) const;
    void leave_owner(const Header& header, const RedisPlace& place, const std::string& owner);
    Result<void> unindex(const TreeLog& log, const std::string& tag);
    std::string expiry_key(std::string_view tag) const;
    struct Member {
        RedisPlace place;
        double score = 0;
        std::string raw;
    };
    Result<std::vector<Header>> headers_of(const std::vector<Member>& members,
                                           const ListQuery& query, Time now);
    Result<Page> walk(const ListQuery& query);
    Result<void> complete_scores(const std::string& in, std::vector<Member>& members);
    Result<Page> list_owned(const ListQuery& query);
    Result<Page> list_forks(const ListQuery& query);
    void put_right(const Member& member, const TreeLog& log, const ListQuery& query);

    // ---- checking
    struct Census;
    struct Faults;
    struct Check;
    Result<void> each_key(
        const std::function<void(const std::string& tag, const std::string& rest)>& visit);
    Result<Census> take_census();
    Result<CheckReport> check_keys(std::span<const std::string> tenants, bool repair);
    std::vector<RedisCommand> writes_of(const TreeLog& log, const RedisPlace& place,
                                        const Check& check) const;
    Result<Faults> faults_of(const TreeLog& log, const RedisPlace& place, const Check& check);
    Result<void> mend(const TreeLog& log, const RedisPlace& place, const Faults& faults,
                      const Check& check);
    Result<void> mend_count(const TreeLog& log, const RedisPlace& place, Check& check);
    Result<void> check_index(const TreeLog& log, const RedisPlace& place, Check& check);
    Result<void> mend_metadata(const TreeLog& log, const RedisPlace& place, Check& check);
    Result<void> find_foreign(const Census& census, Check& check);
    Result<void> check_beside(const Census& census, Check& check);
    Result<void> check_place(const RedisPlace& place, Check& check, bool first_look);
    Result<void> check_entries(const RedisPlace& place, Check& check);
    static void note_faults(const TreeLog& log, const Faults& faults, Check& check);
    Result<void> note_torn(const RedisPlace& place, const Error& why, Check& check);
    struct HeaderAnew {
        std::map<std::string, std::string> known = {};  // what fields that are unfit must hold
        std::set<std::string> unknown = {};             // unfit fields of which nothing tells that
        std::int64_t entries = 0;
    };
    Result<HeaderAnew> header_anew(const RedisPlace& place, const RedisReply& fields);
    Result<void> set_fields(const RedisPlace& place,
                            const std::map<std::string, std::string>& fields);
    Result<void> drop_fields(const RedisPlace& place, const std::set<std::string>& fields);
    // False: what it lacks cannot be known.
    Result<bool> mend_header(const RedisPlace& place, const RedisReply& fields);
    Result<void> check_family(const std::string& tag, const std::vector<std::string>& uids,
                              Check& check);
    Result<void> check_uses(const std::string& tag, const std::vector<std::string>& uids,
                            Check& check);
    // By the name key that leads to it; without an id where none does.
    Result<ConversationId> name_leading_to(const RedisPlace& place, const Census& census);
    Result<void> add_unlisted(const RedisPlace& place, const Census& census, const Check& check,
                              std::vector<Unlisted>& found);
    Result<void> add_headless(const RedisPlace& place, const Census& census,
                              std::vector<Unlisted>& found);
    // What nothing removes any more: parts of erased logs that no fork shares, and what expired.
    Result<void> check_kept(const std::string& tag, const std::vector<LogId>& logs,
                            const Census& census, Check& check);
    Result<bool> remove_kept(const std::string& tag, const std::vector<LogId>& logs,
                             const LogId& log);
    Result<void> check_due(const TreeLog& log, const RedisPlace& place, Check& check,
                           bool first_look);
    Result<void> check_orphan(const RedisPlace& place, Check& check);
    Result<void> check_listing(const std::string& in, Check& check);
    Result<void> check_space(const std::string& tag, Check& check);

    // ---- records
    Result<std::string> draw_version(bool also_when_full);

    // ---- removal
    Result<std::optional<Receipt>> remove(const std::string& tag, const LogId& log, bool expired);
    Result<bool> settle(const std::string& tag, const LogId& log);
    Result<std::optional<bool>> scrub_family(const std::string& tag,
                                             std::span<const Replacement> replacements, bool dry);
    Result<void> scrub_tag(const std::string& tag, std::span<const Replacement> some, bool dry);
    Result<void> check_each(std::span<const Replacement> replacements);
    void forget_removed(const std::string& tag, const Tree& tree);
    Result<TreeLog> guessed(const RedisPlace& place, const RedisReply& fields);
    Result<void> add_torn(const std::string& tag, Tree& tree);
    Result<void> mend_changed(const std::string& tag, const Tree& tree);
    struct TornName {
        RedisPlace place = {};
        bool begins_nowhere = false;  // what it was forked from is not known
    };
    // Makes a damaged header what it must be to be removed. Nothing: nothing has that name.
    Result<std::optional<TornName>> make_erasable(const ConversationId& name);
    Result<RedisReply> fields_of(const RedisPlace& place);
    static const TreeLog* origin_of(const Tree& tree, const RedisReply& fields);
    Result<void> begin_somewhere(const RedisPlace& place, const RedisReply& fields,
                                 HeaderAnew& anew);
    Result<void> forget_torn(const ConversationId& name, const TornName& torn);
    Result<bool> sweep_one(const std::string& in, const std::string& member, const NameKey& at,
                           Time now);
    Result<std::size_t> sweep_shard(unsigned shard, std::size_t limit);
    Result<void> forget_expired(const std::string& in, const std::string& member, const NameKey& at,
                                bool gone);
    Result<void> come_back_at(const std::string& in, const std::string& member,
                              std::int64_t minute);
    Result<void> prune(const std::string& in, const std::string& member, Time now);

    Options options_;
    std::unique_ptr<RedisClient> client_;
    RedisScripts scripts_;
    RedisPlaces places_;
    Durability durability_;
    bool part_of_cluster_ = false;  // and used without the rest of it
    std::atomic<std::uint64_t> calls_ = 0;
};

// redis://[USER:]PASSWORD@HOST:PORT/DB?OPTIONS, or rediss:. See docs/FORMATS.md.
Result<RedisStore::Options> read_redis_url(std::string_view url);

}  // namespace palimpsest
