// The keys of an encrypted store that several processes use: masters that change beside running
// servers, a key that is lost, an erase that is broken off.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "store/copy.h"
#include "store/sealed_store.h"
#include "store/sqlite_fixture.h"
#include "support/passing_store.h"

namespace palimpsest {
namespace {

MasterKey master_of(char byte) {
    return {SealKey::from(std::string(SealKey::size, byte)), std::string("master_") + byte};
}
const MasterKey former = master_of('a'), fresh = master_of('b');

// What one process sees of a store that others use too: before its call number `at` (from 1),
// `meanwhile` happens; when that is false, the process died there, and no call is done any more.
struct Moment {
    int at = 0;
    std::function<bool()> meanwhile = {};
    int calls = 0;
    bool dead = false;
};

class Process final : public testing_support::PassingStore<Process> {
public:
    Process(Store& shared, Moment& moment) : PassingStore(shared), moment_(moment) {}
    Result<Contents> contents() override {
        return pass([&] { return inner_.contents(); });
    }

private:
    friend class testing_support::PassingStore<Process>;
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        if (++moment_.calls == moment_.at) moment_.dead = !moment_.meanwhile();
        if (moment_.dead) return fail(ErrorCode::unavailable, "dead");
        return call();
    }
    Moment& moment_;
};

// A store, and processes on it.
struct Shared {
    std::unique_ptr<Store> store = open_good("memory:?ttl=0");
    Moment calm = {};

    Result<std::unique_ptr<Store>> open(std::vector<MasterKey> masters, Moment& moment) {
        return SealedStore::open(std::make_unique<Process>(*store, moment), std::move(masters));
    }
    std::unique_ptr<Store> opened(std::vector<MasterKey> masters) {
        auto sealed = open(std::move(masters), calm);
        if (sealed) return *std::move(sealed);
        ADD_FAILURE() << sealed.error().message;
        std::abort();
    }
    Result<Rotation> rotate() { return SealedStore::rotate(*store, {fresh, former}); }
    std::size_t keys() { return store->list_records({.tenant = "t", .space = "pal.key"})->size(); }
    // Of every conversation, with the new master alone: "id: text".
    std::vector<std::string> texts() {
        std::vector<std::string> all;
        const auto sealed = opened({fresh});
        const Page page = *sealed->list({.tenant = "t"});
        for (const Header& header : page.headers) {
            const auto read = sealed->read(header.log, {});
            all.push_back(header.name.id + ": " +
                          (read ? text_of(read->front()) : read.error().message));
        }
        std::ranges::sort(all);
        return all;
    }
    std::vector<std::string> findings() {
        std::vector<std::string> all;
        const auto report = opened({fresh})->check({});
        for (const Finding& finding : report->findings)
            all.push_back(finding.what + " " + finding.where);
        return all;
    }
};

bool says(const Error& error, std::string_view words) {
    return error.message.find(words) != std::string::npos;
}

using Texts = std::vector<std::string>;

// ---- changing the master key --------------------------------------------------------------------

TEST(sealed_masters, a_server_with_the_old_key_refuses_to_write_after_a_change) {
    Shared shared;
    const auto server = shared.opened({former});
    ASSERT_TRUE(server->append({"t", "a"}, batch_of("one")));
    EXPECT_EQ(shared.rotate()->changed, 2U) << "a log and the store";
    const auto made = server->append({"t", "b"}, batch_of("two"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::unavailable);
    EXPECT_TRUE(says(made.error(), "start it again with the new key")) << made.error().message;
    // Now it knows: nothing is written, and what lists everything says why it cannot.
    EXPECT_EQ(server->append({"t", "a"}, batch_of("two")).error().code, ErrorCode::unavailable);
    EXPECT_EQ(server->put_record({.key = {"t", "s", "k"}, .value = "v"}).error().code,
              ErrorCode::unavailable);
    EXPECT_EQ(server->list({.tenant = "t"}).error().code, ErrorCode::unavailable);
    EXPECT_TRUE(server->read(server->head(ConversationId{"t", "a"})->log, {})) << "it has the key";
    EXPECT_EQ(shared.texts(), Texts{"a: one"});
    EXPECT_EQ(shared.findings(), Texts{});
}

TEST(sealed_masters, a_server_with_both_keys_writes_through_a_change_with_the_present_one) {
    Shared shared;
    const auto old_server = shared.opened({former});
    const auto server = shared.opened({fresh, former});
    const LogId a = server->append({"t", "a"}, batch_of("before"))->header.log;
    EXPECT_EQ(text_of(old_server->read(a, {})->front()), "before");
    ASSERT_TRUE(shared.rotate());
    ASSERT_TRUE(server->append({"t", "b"}, batch_of("after")));
    EXPECT_EQ(shared.texts(), (Texts{"a: before", "b: after"}));
}

// The change happens before any one call of the store that a write makes.
TEST(sealed_masters, what_is_acknowledged_beside_a_change_opens_with_the_new_key) {
    for (const bool has_both : {false, true})
        for (int at = 1, calls = 1; at <= calls; ++at) {
            Shared shared;
            shared.opened({former});
            Moment moment{.at = at, .meanwhile = [&] { return !!shared.rotate(); }};
            std::vector<MasterKey> masters{former};
            if (has_both) masters.push_back(fresh);
            const auto server = shared.open(masters, moment);
            const auto made = server ? (*server)->append({"t", "a"}, batch_of("one"))
                                     : Result<Appended>(std::unexpected(server.error()));
            calls = moment.calls;
            ASSERT_GE(calls, at) << "the change has happened";
            EXPECT_EQ(shared.texts(), made ? Texts{"a: one"} : Texts{}) << "call " << at;
            EXPECT_EQ(shared.findings(), Texts{}) << "call " << at;
            EXPECT_TRUE(made || !has_both) << "call " << at;
        }
}

// A whole write happens before any one call that the change makes.
TEST(sealed_masters, what_is_acknowledged_inside_of_a_change_opens_with_the_new_key) {
    for (int at = 1, calls = 1; at <= calls; ++at) {
        Shared shared;
        const auto server = shared.opened({former});
        ASSERT_TRUE(server->append({"t", "a"}, batch_of("one")));
        Result<Appended> made = fail(ErrorCode::internal, "not yet");
        Moment moment{.at = at, .meanwhile = [&] {
                          made = server->append({"t", "b"}, batch_of("two"));
                          return true;
                      }};
        Process changing(*shared.store, moment);
        ASSERT_TRUE(SealedStore::rotate(changing, {fresh, former}));
        calls = moment.calls;
        EXPECT_EQ(shared.texts(), made ? (Texts{"a: one", "b: two"}) : Texts{"a: one"})
            << "call " << at;
        EXPECT_EQ(shared.findings(), Texts{}) << "call " << at;
    }
}

// Between two steps of a write another server looks for keys without a log, and between two steps
// of that the master changes.
TEST(sealed_masters, keys_survive_a_sweep_and_a_change_at_once) {
    for (int at = 1, calls = 1; at <= calls; ++at)
        for (int inner = 1, inner_calls = 1; inner <= inner_calls; ++inner) {
            Shared shared;
            const auto sweeps = [&] {
                Moment change{.at = inner, .meanwhile = [&] { return !!shared.rotate(); }};
                const auto sweeper = shared.open({former}, change);
                if (sweeper) (void)(*sweeper)->sweep(10);
                inner_calls = change.calls;
                return true;
            };
            Moment moment{.at = at, .meanwhile = sweeps};
            const auto server = shared.open({former, fresh}, moment);
            const auto made = (*server)->append({"t", "a"}, batch_of("one"));
            ASSERT_TRUE(made) << made.error().message;
            calls = moment.calls;
            if (shared.open({former}, shared.calm).has_value()) continue;  // It never came to it.
            EXPECT_EQ(shared.texts(), Texts{"a: one"}) << "calls " << at << " and " << inner;
        }
}

// A key without a log is about to be removed when its log comes, and the master changes then.
TEST(sealed_masters, a_key_is_kept_when_its_log_comes_while_a_sweep_is_at_it) {
    for (const bool changes : {false, true})
        for (int at = 1, calls = 1; at <= calls; ++at) {
            Shared shared;
            Batch batch = batch_of("one");
            batch.new_log = LogId{{7}};
            ASSERT_TRUE(shared.opened({former})->append({"t", "before"}, batch));
            ASSERT_TRUE(shared.store->erase({"t", "before"}));
            Moment moment{.at = at, .meanwhile = [&] {
                              const auto made = shared.opened({former})->append({"t", "a"}, batch);
                              return made && (!changes || shared.rotate());
                          }};
            const auto sweeper = shared.open({former}, moment);
            if (sweeper) (void)(*sweeper)->sweep(10);
            calls = moment.calls;
            ASSERT_TRUE(changes || shared.rotate());
            EXPECT_EQ(shared.texts(), Texts{"a: one"}) << "call " << at;
        }
}

TEST(sealed_masters, a_change_that_was_broken_off_says_so_and_is_finished_by_a_repeat) {
    bool whole = false;
    for (int at = 1; !whole; ++at) {
        Shared shared;
        for (const char* id : {"a", "b"})
            ASSERT_TRUE(shared.opened({former})->append({"t", id}, batch_of(id)));
        Moment death{.at = at, .meanwhile = [] { return false; }};
        Process dying(*shared.store, death);
        whole = SealedStore::rotate(dying, {fresh, former}).has_value();
        const auto before = shared.open({former}, shared.calm);
        const auto after = shared.open({fresh}, shared.calm);
        EXPECT_NE(before.has_value(), after.has_value()) << "call " << at;
        if (after && !whole) {
            EXPECT_TRUE(says(before.error(), "from master_a to master_b") &&
                        says(before.error(), "pal keys rotate"))
                << before.error().message;
            EXPECT_EQ((*after)->list({.tenant = "t"})->headers.size(), 2U) << "call " << at;
            EXPECT_TRUE(says(Error{{}, (*after)->check({})->findings.back().message}, "rotate"));
        }
        ASSERT_TRUE(shared.rotate());
        EXPECT_EQ(shared.texts(), (Texts{"a: a", "b: b"})) << "call " << at;
        EXPECT_EQ(shared.findings(), Texts{});
    }
}

TEST(sealed_masters, a_key_that_no_given_master_opens_is_named_and_the_others_are_changed) {
    Shared shared;
    const LogId a = shared.opened({former})->append({"t", "a"}, batch_of("one"))->header.log;
    ASSERT_TRUE(shared.opened({former})->append({"t", "b"}, batch_of("two")));
    const RecordKey at = key_record("t", a);
    ASSERT_TRUE(shared.store->put_record(
        {.key = at, .value = write_wrapped_key(wrap_key(master_of('c'), at, SealKey::random()))}));
    const auto done = shared.rotate();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->changed, 2U);
    ASSERT_EQ(done->unread.size(), 1U);
    EXPECT_NE(done->unread[0].find("master_c"), std::string::npos) << done->unread[0];
}

// ---- one key that is lost -----------------------------------------------------------------------

TEST(sealed_keys, one_that_is_lost_stops_no_other_conversation_and_its_own_can_be_erased) {
    Shared shared;
    Batch titled = batch_of("one");
    titled.patch.title = "First";
    const LogId lost = shared.opened({fresh})->append({"t", "a"}, titled)->header.log;
    titled.patch.title = "Second";
    ASSERT_TRUE(shared.opened({fresh})->append({"t", "b"}, titled));
    ASSERT_TRUE(shared.store->put_record({.key = key_record("t", lost)}));
    const auto store = shared.opened({fresh});
    std::map<std::string, std::string> titles;
    const Page page = *store->list({.tenant = "t"});
    for (const Header& header : page.headers) titles[header.name.id] = header.title;
    EXPECT_EQ(titles, (std::map<std::string, std::string>{
                          {"a", "(cannot be read: `pal doctor` says why)"}, {"b", "Second"}}));
    EXPECT_EQ(store->head(ConversationId{"t", "a"}).error().code, ErrorCode::forbidden);
    EXPECT_EQ(shared.findings(), Texts{"sealed a"});
    const auto target = open_good("memory:?ttl=0");
    const auto copied = copy_store(*store, *target, {});
    EXPECT_EQ(copied->conversations, 1U);
    ASSERT_EQ(copied->failures.size(), 1U);
    EXPECT_EQ(copied->failures[0].what, "a");
    EXPECT_FALSE(target->head(ConversationId{"t", "a"})) << "a title that was never given";
    EXPECT_EQ(store->append({"t", "a"}, batch_of("two")).error().code, ErrorCode::forbidden);
    ASSERT_TRUE(store->erase({"t", "a"}));
    EXPECT_EQ(shared.findings(), Texts{});
    EXPECT_EQ(shared.texts(), Texts{"b: one"});
}

// ---- an erase that is broken off ----------------------------------------------------------------

// An erase by a process that dies at its call number `at`. True: it lived.
bool erase_dying_at(Shared& shared, int at) {
    Moment death{.at = at, .meanwhile = [] { return false; }};
    const auto dying = shared.open({fresh}, death);
    if (dying) (void)(*dying)->erase({"t", "a"});
    return !death.dead;
}

TEST(sealed_keys, an_erase_that_was_broken_off_anywhere_is_finished_by_a_repeat) {
    bool whole = false;
    for (int at = 1; !whole; ++at) {
        Shared shared;
        ASSERT_TRUE(shared.opened({fresh})->append({"t", "a"}, batch_of("one")));
        whole = erase_dying_at(shared, at);
        const auto again = shared.opened({fresh})->erase({"t", "a"});
        EXPECT_TRUE(again || again.error().code == ErrorCode::not_found) << "call " << at;
        EXPECT_EQ(shared.keys(), 0U) << "call " << at;
        EXPECT_EQ(shared.opened({fresh})->erase({"t", "a"}).error().code, ErrorCode::not_found);
        EXPECT_EQ(shared.opened({fresh})->contents()->spaces.size(), 0U);
    }
}

// A store that has something to mend.
class Mending final : public testing_support::PassingStore<Mending> {
public:
    using PassingStore::PassingStore;
    Result<CheckReport> repair(std::span<const std::string> tenants) override {
        PAL_TRY(report, inner_.check(tenants));
        report.findings.push_back({"mended", "a", "its index was written anew"});
        return std::move(report);
    }

private:
    friend class testing_support::PassingStore<Mending>;
    template <class Call>
    auto pass(Call call) -> decltype(call()) {
        return call();
    }
};

TEST(sealed_keys, a_repair_tells_what_the_store_below_has_mended) {
    const auto store = open_good("memory:?ttl=0");
    const auto sealed = SealedStore::open(std::make_unique<Mending>(*store), {fresh});
    ASSERT_TRUE(sealed) << sealed.error().message;
    const std::string tenant = "t";
    const auto report = (*sealed)->repair({&tenant, 1});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->findings.size(), 1U);
    EXPECT_EQ(report->findings[0].where, "a");
}

TEST(sealed_keys, an_erase_that_was_broken_off_is_named_by_a_check_and_finished_by_a_repair) {
    int named = 0;
    bool whole = false;
    for (int at = 1; !whole; ++at) {
        Shared shared;
        ASSERT_TRUE(shared.opened({fresh})->append({"t", "a"}, batch_of("one")));
        whole = erase_dying_at(shared, at);
        const bool gone = !shared.store->head(ConversationId{"t", "a"});
        if (shared.findings() == Texts{"key a"}) ++named;
        EXPECT_EQ(shared.opened({fresh})->repair({})->findings.size(), 0U);
        EXPECT_EQ(shared.keys(), gone ? 0U : 1U) << "call " << at;
    }
    EXPECT_GE(named, 3);
}

// As Redis lets logs go that expired.
TEST(sealed_keys, one_whose_log_the_inner_store_let_go_is_removed_by_a_sweep) {
    Shared shared;
    const auto store = shared.opened({fresh});
    ASSERT_TRUE(store->append({"t", "a"}, batch_of("one")));
    ASSERT_TRUE(store->append({"t", "b"}, batch_of("two")));
    ASSERT_TRUE(shared.store->erase({"t", "a"}));
    EXPECT_EQ(store->sweep(10), 0U);
    EXPECT_EQ(shared.keys(), 1U);
    EXPECT_EQ(shared.texts(), Texts{"b: two"});
}

// What the inner store cannot reach is no less there because it is sealed.
TEST(sealed_keys, the_receipt_of_an_erase_tells_what_the_inner_store_told) {
    const TestFolder folder;
    auto store = SealedStore::open(open_good(folder.url()), {fresh});
    ASSERT_TRUE((*store)->append({"t", "a"}, batch_of("one")));
    const auto receipt = (*store)->erase({"t", "a"});
    ASSERT_EQ(receipt->remains.size(), 2U);
    EXPECT_EQ(receipt->remains[0], "backups and copies that were made before");
    EXPECT_TRUE(receipt->remains[1].starts_with("all of that is sealed"));
}

}  // namespace
}  // namespace palimpsest
