// Headers of a Redis store that lost a field, and keys beside a family of forks that are lost:
// damage, never absence, and nothing that others share goes with it.
#include <algorithm>

#include "base/ids.h"
#include "live/live.h"
#include "store/lineage.h"

namespace palimpsest::testing_support {
namespace {

using Told = std::vector<std::string>;

constexpr std::size_t large_bytes = 70'000;

// "a" says one, two and a large thing; "b", a fork of it behind all three, says the large thing
// again; "c" is another conversation.
class TornKeys {
public:
    TornKeys() : url_(unique(running().redis->url())), store(open_good(url_)) {
        for (const std::string& text : {std::string("one"), std::string("two"), large})
            a = store->append({"t", "a"}, says(text))->header.log;
        Batch fork;
        fork.fork = ForkPoint{.parent = a, .at = Seq{3}, .messages = 3};
        fork.entries = says(large).entries;
        const auto made = store->append({"t", "b"}, fork);
        if (!made) ADD_FAILURE() << made.error().message;
        if (made) b = made->header.log;
        EXPECT_TRUE(store->append({"t", "c"}, says("of another")));
        EXPECT_EQ(check(), Told{});
    }
    // What a command of Redis says, in which P: stands for the prefix, <A> and <B> for the uids.
    std::string run(std::string words) {
        const std::string prefix = url_.substr(url_.find("prefix=") + 7);
        for (const auto& [word, text] :
             {std::pair{std::string("P:"), prefix + ":"}, {"<A>", hex(a)}, {"<B>", hex(b)}})
            for (std::size_t at = words.find(word); at != words.npos;
                 at = words.find(word, at + text.size()))
                words.replace(at, word.size(), text);
        store = open_good(url_);  // another process, which remembers nothing
        return output_of("redis-cli -p " + std::to_string(running().redis->port()) + " " + words);
    }
    // Findings as WHAT of WHERE.
    static Told told(const Result<CheckReport>& report) {
        Told found;
        if (!report) ADD_FAILURE() << report.error().message;
        if (!report) return found;
        for (const Finding& one : report->findings) found.push_back(one.what + " " + one.where);
        std::ranges::sort(found);
        return found;
    }
    Told check() { return told(store->check({})); }
    Told repair() { return told(store->repair({})); }

    const std::string large = std::string(large_bytes, 'x');

private:
    std::string url_;

public:
    std::unique_ptr<Store> store;
    LogId a, b;
};

template <class T>
void expect_damage(const Result<T>& result, const std::string& what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code, ErrorCode::internal) << what << ": " << result.error().message;
    EXPECT_NE(result.error().message.find("is damaged"), std::string::npos)
        << what << ": " << result.error().message;
}

TEST(redis_torn, a_header_that_lacks_a_field_is_damage_to_every_reader_and_writer) {
    for (const std::string field :
         {"end", "base", "basis", "messages", "epoch", "revision", "created", "updated", "accessed",
          "tenant", "name", "owner", "title", "metadata", "expires", "ttl"}) {
        TornKeys keys;
        (void)keys.run("hdel 'P:{t/a}:h:<A>' " + field);
        expect_damage(keys.store->head(ConversationId{"t", "a"}), "head without " + field);
        expect_damage(keys.store->read(keys.a, {}), "read without " + field);
        expect_damage(keys.store->append({"t", "a"}, says("four")), "append without " + field);
        EXPECT_EQ(keys.store->list({.tenant = "t"})->headers.size(), 2U) << "the others";
        EXPECT_EQ(keys.store->unlisted({})->size(), 1U) << "it is named there: without " << field;
        EXPECT_EQ(texts_of(*keys.store, {"t", "c"}), Told{"of another"});
    }
}

TEST(redis_torn, a_conversation_can_be_erased_whatever_its_header_lacks) {
    for (const std::string damage :
         {"hdel 'P:{t/a}:h:<A>' end", "hdel 'P:{t/a}:h:<A>' base end messages",
          "hdel 'P:{t/a}:h:<A>' tenant", "hdel 'P:{t/a}:h:<A>' name", "hset 'P:{t/a}:h:<A>' name x",
          "hdel 'P:{t/a}:h:<A>' owner", "hdel 'P:{t/a}:h:<A>' expires",
          "hset 'P:{t/a}:h:<A>' ttl x", "del 'P:{t/a}:h:<A>'"}) {
        TornKeys keys;
        ASSERT_TRUE(keys.store->append({"t", "a"}, says("behind the fork")));
        (void)keys.run(damage);
        const auto erased = keys.store->erase({"t", "a"});
        ASSERT_TRUE(erased) << damage << ": " << erased.error().message;
        EXPECT_EQ(erased->entries, 1U) << damage;
        EXPECT_EQ(erased->kept_for, Told{"b"}) << damage;
        EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 4U) << damage;
        EXPECT_EQ(keys.check(), Told{}) << damage;
        ASSERT_TRUE(keys.store->erase({"t", "b"})) << damage;
        EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "") << "nothing of either is left";
        EXPECT_EQ(keys.check(), Told{}) << damage;
    }
}

TEST(redis_torn, a_fork_can_be_erased_whatever_its_header_or_its_parent_s_lacks) {
    for (const std::string damage :
         {"hdel 'P:{t/a}:h:<A>' end", "hdel 'P:{t/a}:h:<A>' name", "hdel 'P:{t/a}:h:<B>' end",
          "hdel 'P:{t/a}:h:<B>' base", "hdel 'P:{t/a}:h:<B>' base end",
          "hdel 'P:{t/a}:h:<B>' parent", "hdel 'P:{t/a}:h:<B>' name", "del 'P:{t/a}:h:<B>'"}) {
        TornKeys keys;
        (void)keys.run(damage);
        const auto erased = keys.store->erase({"t", "b"});
        ASSERT_TRUE(erased) << damage << ": " << erased.error().message;
        EXPECT_EQ(erased->entries, 1U) << damage;
        EXPECT_EQ(keys.run("exists 'P:{t/a}:e:<B>' 'P:{t/b}:n'"), "0\n") << damage;
        const bool parent = damage.find("<A>") != damage.npos;
        EXPECT_EQ(keys.check() == Told{}, !parent) << damage;
        ASSERT_TRUE(keys.store->erase({"t", "a"})) << damage;
        EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "") << damage;
        EXPECT_EQ(keys.check(), Told{}) << damage;
    }
}

TEST(redis_torn, with_a_fork_whose_header_is_lost_goes_what_was_kept_for_it_alone) {
    TornKeys keys;
    ASSERT_EQ(keys.store->erase({"t", "a"})->kept_for, Told{"b"});
    (void)keys.run("del 'P:{t/a}:h:<B>'");
    const auto erased = keys.store->erase({"t", "b"});
    ASSERT_TRUE(erased) << erased.error().message;
    EXPECT_EQ(erased->entries, 4U) << "three of the parent";
    EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "");
    EXPECT_EQ(keys.check(), Told{});
}

TEST(redis_torn, an_erasure_that_is_refused_makes_up_no_header) {
    TornKeys keys;
    Batch fork;
    fork.fork = ForkPoint{.parent = keys.a, .at = Seq{3}, .messages = 3};
    const std::string d = hex(keys.store->append({"t", "d"}, fork)->header.log);
    ASSERT_TRUE(keys.store->erase({"t", "a"}));
    (void)keys.run("del 'P:{t/a}:h:<B>' 'P:{t/a}:h:" + d + "'");
    expect_damage(keys.store->erase({"t", "b"}), "d is lost too, and shares what would go");
    EXPECT_EQ(keys.run("exists 'P:{t/a}:h:<B>'"), "0\n");
    expect_damage(keys.store->head(ConversationId{"t", "b"}), "as before");
}

TEST(redis_torn, the_sets_of_owners_forget_one_whose_owner_nobody_knows) {
    TornKeys keys;
    Batch batch;
    batch.patch.owner = "bob";
    ASSERT_TRUE(keys.store->append({"t", "c"}, batch));
    const std::string c = hex(keys.store->head(ConversationId{"t", "c"})->log);
    (void)keys.run("hdel 'P:{t/c}:h:" + c + "' owner");
    const Page page = *keys.store->list({.tenant = "t", .owner = "bob"});
    ASSERT_EQ(page.headers.size(), 1U) << "the set knows whose it is";
    EXPECT_EQ(page.headers[0].name.id, "c");
    EXPECT_EQ(keys.store->head(ConversationId{"t", "c"}).error().code, ErrorCode::internal);
    ASSERT_TRUE(keys.store->erase({"t", "c"}));
    EXPECT_EQ(keys.run("exists 'P:{i/t}:o:bob'"), "0\n");
}

TEST(redis_torn, a_field_that_holds_what_it_cannot_is_damage_too) {
    for (const std::string field :
         {"end", "base", "basis", "messages", "updated", "epoch", "revision", "ttl", "name"}) {
        TornKeys keys;
        (void)keys.run("hset 'P:{t/a}:h:<A>' " + field + " x");
        expect_damage(keys.store->head(ConversationId{"t", "a"}), field);
        expect_damage(keys.store->append({"t", "a"}, says("four")), field);
        EXPECT_EQ(keys.store->list({.tenant = "t"})->headers.size(), 2U) << field;
        (void)keys.repair();
        EXPECT_EQ(keys.check(), Told{}) << field;
        EXPECT_EQ(texts_of(*keys.store, {"t", "a"}).size(), 3U) << field;
        EXPECT_TRUE(keys.store->append({"t", "a"}, says("four"))) << field;
        EXPECT_TRUE(keys.store->erase({"t", "a"})) << field;
    }
}

TEST(redis_torn, a_wrong_count_of_messages_is_not_counted_on_from) {
    TornKeys keys;
    (void)keys.run("hset 'P:{t/a}:h:<A>' messages 7");
    expect_damage(keys.store->append({"t", "a"}, says("four")), "the count");
    EXPECT_EQ(keys.check(), Told{"count a"});
    EXPECT_EQ(keys.repair(), Told{"count a"});
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.store->append({"t", "a"}, says("four"))->header.messages, 4U);
    EXPECT_EQ(keys.check(), Told{});
}

TEST(redis_torn, an_index_of_edits_that_lost_some_is_damage_and_written_anew) {
    for (const std::string damage :
         {"del 'P:{t/a}:x:<A>'", "zrem 'P:{t/a}:x:<A>' 3:4", "zadd 'P:{t/a}:x:<A>' 1 3:1"}) {
        TornKeys keys;
        Batch edits;
        edits.entries = {{.body = RetractEntry{.range = {Seq{2}, Seq{2}}}},
                         {.body = CheckpointEntry{.name = "here"}}};
        ASSERT_TRUE(keys.store->append({"t", "a"}, edits));
        EXPECT_EQ(keys.check(), Told{});
        (void)keys.run(damage);
        expect_damage(keys.store->read(keys.a, {.kinds = basis_kinds}), damage);
        EXPECT_EQ(texts_of(*keys.store, {"t", "a"}).size(), 3U) << "messages need no index";
        EXPECT_EQ(keys.check(), Told{"index a"}) << damage;
        EXPECT_EQ(keys.repair(), Told{"index a"}) << damage;
        EXPECT_EQ(keys.check(), Told{}) << damage;
        const auto read = keys.store->read(keys.a, {.kinds = basis_kinds});
        ASSERT_TRUE(read) << read.error().message;
        ASSERT_EQ(read->size(), 1U) << damage;
        EXPECT_EQ(read->front().seq, Seq{4});
    }
}

TEST(redis_torn, an_index_whose_members_changed_but_not_their_number_is_found_by_a_check) {
    TornKeys keys;
    Batch edit;
    edit.entries = {{.body = RetractEntry{.range = {Seq{2}, Seq{2}}}}};
    ASSERT_TRUE(keys.store->append({"t", "a"}, edit));
    (void)keys.run("zrem 'P:{t/a}:x:<A>' 3:4");
    (void)keys.run("zadd 'P:{t/a}:x:<A>' 4 6:4");
    EXPECT_EQ(keys.check(), Told{"index a"});
    EXPECT_EQ(keys.repair(), Told{"index a"});
    EXPECT_EQ(keys.check(), Told{});
}

TEST(redis_torn, a_torn_header_is_told_with_what_is_there_of_it) {
    TornKeys keys;
    (void)keys.run("hdel 'P:{t/a}:h:<A>' end updated");
    const auto report = keys.store->check({});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->logs, 3U);
    const bool named = std::ranges::any_of(report->findings, [](const Finding& one) {
        return one.where == "a" && one.message.find(
                                       "lacks `end`, `updated`; 3 entries of it are "
                                       "there") != std::string::npos;
    });
    EXPECT_TRUE(named);
    const Told found = keys.check();
    EXPECT_EQ(std::ranges::count(found, "damaged b"), 1) << "what it was forked from is damaged";
}

TEST(redis_torn, a_header_is_made_whole_again_from_its_entries_when_asked) {
    for (const std::string fields :
         {"end", "base", "messages", "end basis messages updated accessed created", "tenant",
          "name", "epoch revision", "title owner metadata", "expires", "ttl"}) {
        TornKeys keys;
        const Header before = *keys.store->head(ConversationId{"t", "a"});
        (void)keys.run("hdel 'P:{t/a}:h:<A>' " + fields);
        const Told found = keys.repair();
        EXPECT_EQ(
            std::ranges::count_if(found, [](auto& one) { return one.starts_with("damaged"); }), 1)
            << fields;
        EXPECT_EQ(keys.check(), Told{}) << fields;
        const auto after = keys.store->head(ConversationId{"t", "a"});
        ASSERT_TRUE(after) << fields << ": " << after.error().message;
        EXPECT_EQ(after->end, before.end);
        EXPECT_EQ(after->messages, before.messages);
        EXPECT_EQ(after->created, before.created);
        EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 4U);
        const auto appended = keys.store->append({"t", "a"}, says("four"));
        ASSERT_TRUE(appended) << fields << ": " << appended.error().message;
        EXPECT_EQ(texts_of(*keys.store, {"t", "a"}).size(), 4U);
    }
}

TEST(redis_torn, a_fork_that_lost_its_parent_s_uid_stays_damaged) {
    TornKeys keys;
    (void)keys.run("hdel 'P:{t/a}:h:<B>' parent");
    (void)keys.repair();
    EXPECT_EQ(keys.check(), Told{"damaged b"}) << "nobody knows it";
    expect_damage(keys.store->head(ConversationId{"t", "b"}), "the fork");
    expect_damage(keys.store->erase({"t", "a"}), "what it shares");
    EXPECT_TRUE(keys.store->erase({"t", "b"}));
    EXPECT_TRUE(keys.store->erase({"t", "a"})) << "nobody shares it any more";
    EXPECT_EQ(keys.check(), Told{});
}

TEST(redis_torn, a_fork_whose_parent_is_lost_is_damaged_and_not_absent) {
    TornKeys keys;
    (void)keys.run("del 'P:{t/a}:h:<A>' 'P:{t/a}:e:<A>'");
    const auto header = keys.store->head(ConversationId{"t", "b"});
    ASSERT_TRUE(header) << header.error().message;
    expect_damage(read_lineage(*keys.store, *header, {}), "the fork");
}

TEST(redis_torn, what_is_kept_for_forks_that_are_gone_is_told_and_removed_when_asked) {
    TornKeys keys;
    ASSERT_TRUE(keys.store->erase({"t", "a"}));
    (void)keys.run("del 'P:{t/a}:h:<B>' 'P:{t/a}:e:<B>' 'P:{t/a}:p:<B>' 'P:{t/b}:n'");
    const Told found = keys.check();
    EXPECT_EQ(std::ranges::count(found, "kept " + hex(keys.a)), 1);
    (void)keys.repair();
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "");
}

TEST(redis_torn, what_is_kept_stays_while_the_fork_that_may_share_it_can_be_erased) {
    TornKeys keys;
    ASSERT_TRUE(keys.store->erase({"t", "a"}));
    (void)keys.run("del 'P:{t/a}:h:<B>'");
    (void)keys.repair();
    EXPECT_EQ(keys.run("llen 'P:{t/a}:e:<A>'"), "3\n");
    ASSERT_TRUE(keys.store->erase({"t", "b"}));
    (void)keys.repair();
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "");
}

TEST(redis_torn, what_has_expired_and_no_sweep_finds_is_told_and_found_when_asked) {
    TornKeys keys;
    for (int i = 0; i < 16; ++i) (void)keys.run("del 'P:{x" + std::to_string(i) + "}:x'");
    for (const char* uid : {"<A>", "<B>"})
        (void)keys.run(std::string("hset 'P:{t/a}:h:") + uid + "' expires 1000 ttl 1000");
    EXPECT_EQ(keys.store->sweep(100), 0U);
    EXPECT_EQ(keys.check(), (Told{"expired a", "expired b", "listing c"}));
    EXPECT_EQ(keys.repair(), (Told{"expired a", "expired b", "listing c"}));
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.store->sweep(100), 2U);
    EXPECT_EQ(keys.run("--scan --pattern 'P:{t/a}*'"), "");
}

TEST(redis_family, that_lost_the_set_of_its_logs_keeps_what_forks_share) {
    TornKeys keys;
    (void)keys.run("del 'P:{t/a}:t'");
    EXPECT_EQ(keys.check(), Told{"family a"});
    const auto erased = keys.store->erase({"t", "a"});
    ASSERT_TRUE(erased) << erased.error().message;
    EXPECT_EQ(erased->kept_for, Told{"b"});
    EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 4U);
    EXPECT_EQ(keys.check(), Told{}) << "it was put back first";
}

TEST(redis_family, that_lost_one_of_its_logs_keeps_what_it_shares) {
    TornKeys keys;
    (void)keys.run("srem 'P:{t/a}:t' <B>");
    ASSERT_TRUE(keys.store->erase({"t", "a"}));
    EXPECT_EQ(texts_of(*keys.store, {"t", "b"}).size(), 4U);
}

TEST(redis_family, is_put_together_again_when_asked) {
    TornKeys keys;
    (void)keys.run("del 'P:{t/a}:t'");
    EXPECT_EQ(keys.check(), Told{"family a"}) << "only told";
    EXPECT_EQ(keys.repair(), Told{"family a"});
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.store->list({.tenant = "t", .children_of = keys.a})->headers.size(), 1U);
}

TEST(redis_family, that_lost_a_fork_is_not_erased_before_somebody_gave_it_up) {
    TornKeys keys;
    (void)keys.run("del 'P:{t/a}:h:<B>'");
    expect_damage(keys.store->erase({"t", "a"}), "its fork has lost its header");
    const Told found = keys.repair();
    EXPECT_EQ(std::ranges::count(found, "family a"), 1);
    EXPECT_TRUE(keys.store->erase({"t", "a"}));
}

TEST(redis_bodies, stay_while_an_entry_uses_them_that_nobody_noted) {
    TornKeys keys;
    (void)keys.run("hdel 'P:{t/a}:s' <A>:3");
    EXPECT_EQ(keys.check(), Told{"bodies a"});
    const Replacement words{.log = keys.b, .seq = Seq{4}, .body = says("gone").entries[0].body};
    ASSERT_TRUE(keys.store->scrub(std::span(&words, 1)));
    EXPECT_EQ(texts_of(*keys.store, {"t", "a"}).back(), keys.large);
    EXPECT_EQ(keys.check(), Told{}) << "it was noted again";
}

TEST(redis_bodies, whose_uses_are_lost_are_noted_again_and_go_with_the_last) {
    TornKeys keys;
    (void)keys.run("del 'P:{t/a}:s'");
    EXPECT_EQ(keys.check(), Told{"bodies a"});
    EXPECT_EQ(keys.repair(), Told{"bodies a"});
    EXPECT_EQ(keys.check(), Told{});
    (void)keys.run("del 'P:{t/a}:s'");
    for (const char* id : {"a", "b"}) EXPECT_TRUE(keys.store->erase({"t", id})) << id;
    EXPECT_EQ(keys.check(), Told{});
    EXPECT_EQ(keys.run("exists 'P:{t/a}:b'"), "0\n") << "no byte of it stays";
}

}  // namespace
}  // namespace palimpsest::testing_support
