// A copy that is made again, after source or target have gone on.
#include "store/copy.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/ids.h"
#include "store/sqlite_fixture.h"

namespace palimpsest {
namespace {

const ConversationId talk{"t", "talk"};

Draft told(const std::string& text) {
    Draft draft = said(text);
    std::get<MessageEntry>(draft.body).message.fingerprint = hash_bytes(text);
    return draft;
}

Batch batch_saying(std::initializer_list<std::string> texts) {
    Batch batch;
    for (const std::string& text : texts) batch.entries.push_back(told(text));
    return batch;
}

std::string texts_of(Store& store, const ConversationId& name) {
    std::string all;
    const auto entries = store.read(store.head(name)->log, {});
    for (const Entry& entry : *entries) all += text_of(entry) + " ";
    return all;
}

class CopyAgain : public testing::TestWithParam<std::string_view> {
protected:
    void SetUp() override {
        from_ = open_good("memory:?ttl=0");
        to_ = open_good(std::string(GetParam()) + ":" + folder_.file("target"));
        log_ = from_->append(talk, batch_saying({"one", "two"}))->header.log;
        ASSERT_EQ(copied().conversations, 1U);
    }
    CopyReport copied(const CopyOptions& options = {}) {
        const auto report = copy_store(*from_, *to_, options);
        return report ? *report : (ADD_FAILURE() << report.error().message, CopyReport{});
    }

    TestFolder folder_;
    std::unique_ptr<Store> from_, to_;
    LogId log_;
};

TEST_P(CopyAgain, what_was_said_since_comes_along) {
    ASSERT_TRUE(from_->append(talk, batch_saying({"three"})));
    const CopyReport report = copied();
    EXPECT_EQ(report.entries, 1U);
    EXPECT_EQ(report.conversations, 1U);
    EXPECT_EQ(texts_of(*to_, talk), "one two three ");
}

TEST_P(CopyAgain, one_that_went_another_way_is_a_conflict_and_left_alone) {
    ASSERT_TRUE(from_->append(talk, batch_saying({"hers", "more"})));
    ASSERT_TRUE(from_->append(talk, {.patch = {.title = "hers"}}));
    ASSERT_TRUE(to_->append(talk, batch_saying({"his"})));
    const CopyReport report = copied();
    ASSERT_EQ(report.failures.size(), 1U);
    EXPECT_EQ(report.failures[0].what, "talk");
    EXPECT_EQ(report.failures[0].error.code, ErrorCode::conflict);
    EXPECT_NE(report.failures[0].error.message.find("entry 3"), std::string::npos);
    EXPECT_EQ(report.failures[0].copied, Seq{2});
    EXPECT_EQ(report.there, 0U);
    EXPECT_EQ(texts_of(*to_, talk), "one two his ");
    EXPECT_EQ(to_->head(talk)->title, "");
}

TEST_P(CopyAgain, one_that_only_the_target_went_on_with_is_there) {
    ASSERT_TRUE(to_->append(talk, batch_saying({"three"})));
    const CopyReport report = copied();
    EXPECT_EQ(report.there, 1U);
    EXPECT_TRUE(report.failures.empty());
    EXPECT_EQ(texts_of(*to_, talk), "one two three ");
}

// The fork of what both have is copied; that of what only the source has is named as not there.
TEST_P(CopyAgain, forks_of_one_that_went_another_way_come_where_they_can) {
    ASSERT_TRUE(from_->append(talk, batch_saying({"hers"})));
    ASSERT_TRUE(to_->append(talk, batch_saying({"his"})));
    for (const auto& [id, at] : {std::pair{"early", 2U}, std::pair{"late", 3U}}) {
        Batch fork = batch_saying({id});
        fork.fork = ForkPoint{.parent = log_, .at = Seq{at}, .messages = at};
        ASSERT_TRUE(from_->append({"t", id}, fork));
    }
    const CopyReport report = copied();
    ASSERT_EQ(report.failures.size(), 2U);
    EXPECT_EQ(report.failures[1].what, "late");
    EXPECT_FALSE(report.failures[1].there);
    EXPECT_EQ(report.failures[1].copied, Seq{});
    EXPECT_EQ(texts_of(*to_, {"t", "early"}), "early ");
    EXPECT_FALSE(to_->head(ConversationId{"t", "late"}));
}

TEST_P(CopyAgain, what_was_scrubbed_in_the_source_is_scrubbed_in_the_target) {
    Body body = told("[removed]").body;
    std::get<MessageEntry>(body).scrubbed = true;
    std::get<MessageEntry>(body).message.fingerprint = {};
    const std::vector<Replacement> scrub{{log_, Seq{1}, body}};
    ASSERT_TRUE(from_->scrub(scrub));
    EXPECT_EQ(copied().scrubbed, 1U);
    EXPECT_EQ(texts_of(*to_, talk), "[removed] two ");
    EXPECT_EQ(copied().scrubbed, 0U);
}

TEST_P(CopyAgain, what_was_scrubbed_in_the_target_alone_stays_so_and_that_is_told) {
    Body body = told("[removed]").body;
    std::get<MessageEntry>(body).scrubbed = true;
    const std::vector<Replacement> scrub{{log_, Seq{1}, body}};
    ASSERT_TRUE(to_->scrub(scrub));
    const std::string index = hex(log_) + ".0";
    ASSERT_TRUE(from_->put_record({.key = {"t", "search", index}, .value = "one two"}));
    const CopyReport report = copied();
    EXPECT_EQ(report.notes.size(), 1U);
    EXPECT_EQ(texts_of(*to_, talk), "[removed] two ");
    EXPECT_FALSE(to_->get_record({"t", "search", index}));
}

TEST_P(CopyAgain, fields_that_were_changed_in_the_source_are_brought_over_each_time) {
    for (const std::string title : {"first", "second"}) {
        HeaderPatch patch{.owner = "ann", .title = title, .policy = R"({"pass":1})"};
        patch.metadata_merge = R"({"k":")" + title + R"(","old":null})";
        patch.ttl = std::chrono::hours(title.size());
        ASSERT_TRUE(from_->append(talk, {.patch = patch}));
        EXPECT_EQ(copied().headers, 1U);
        const Header there = *to_->head(talk), here = *from_->head(talk);
        EXPECT_EQ(there.title, title);
        EXPECT_EQ(there.owner, "ann");
        EXPECT_EQ(there.metadata, here.metadata);
        EXPECT_EQ(there.policy, here.policy);
        EXPECT_EQ(there.ttl, here.ttl);
        EXPECT_EQ(there.updated, here.updated);
        ASSERT_TRUE(from_->append(talk, {.patch = {.metadata_merge = R"({"old":1})"}}));
        EXPECT_EQ(copied().headers, 1U);
        EXPECT_EQ(copied().headers, 0U);
    }
}

// Which of the two it was is told by nothing that is left of it.
TEST_P(CopyAgain, one_that_may_have_expired_in_the_target_is_not_said_to_be_erased) {
    ASSERT_TRUE(from_->append(talk, {.patch = {.ttl = std::chrono::hours(5)}}));
    EXPECT_EQ(copied().headers, 1U);
    Batch fork;
    fork.fork = ForkPoint{.parent = log_, .at = Seq{1}, .messages = 1};
    ASSERT_TRUE(to_->append({"t", "fork"}, fork));
    ASSERT_TRUE(to_->erase(talk));
    const CopyReport report = copied();
    ASSERT_EQ(report.failures.size(), 1U);
    const std::string& told = report.failures[0].error.message;
    EXPECT_TRUE(told.starts_with("it has expired in the target, or was erased there")) << told;
    EXPECT_TRUE(told.find("erase those there") != told.npos) << told;
    ASSERT_TRUE(to_->erase({"t", "fork"}));
    EXPECT_EQ(copied().conversations, 1U) << "as it says";
}

// They would live as long as it was to live before.
TEST_P(CopyAgain, what_is_kept_of_its_words_goes_when_the_time_that_it_lives_changes) {
    std::vector<std::string> forgotten;
    CopyOptions options;
    options.forget_words = [&](const std::string& tenant, const LogId& log) {
        forgotten.push_back(tenant + " " + hex(log));
        return Result<void>{};
    };
    ASSERT_TRUE(from_->append(talk, {.patch = {.title = "his"}}));
    EXPECT_EQ(copied(options).headers, 1U);
    EXPECT_EQ(forgotten.size(), 0U);
    ASSERT_TRUE(from_->append(talk, {.patch = {.ttl = std::chrono::hours(5)}}));
    EXPECT_EQ(copied(options).headers, 1U);
    EXPECT_EQ(forgotten, std::vector{"t " + hex(log_)});
}

TEST_P(CopyAgain, fields_that_the_target_changed_itself_stay_and_that_is_told) {
    ASSERT_TRUE(to_->append(talk, {.patch = {.title = "his"}}));
    ASSERT_TRUE(from_->append(talk, {.patch = {.title = "hers"}, .entries = {told("three")}}));
    const CopyReport report = copied();
    EXPECT_EQ(report.entries, 1U);
    ASSERT_EQ(report.notes.size(), 1U);
    EXPECT_NE(report.notes[0].find("talk: title differ"), std::string::npos) << report.notes[0];
    EXPECT_EQ(to_->head(talk)->title, "his");
}

TEST_P(CopyAgain, what_was_revoked_in_either_store_is_revoked_in_the_target) {
    const CopyOptions options{
        .revocable = {{.space = {"_o", "keys"}, .revoked = {"_o", "keys.gone"}}}};
    for (const char* key : {"a", "b", "c"})
        ASSERT_TRUE(from_->put_record({.key = {"_o", "keys", key}, .value = "k"}));
    EXPECT_EQ(copied(options).records, 3U);
    ASSERT_TRUE(from_->put_record({.key = {"_o", "keys.gone", "a"}, .value = "{}"}));
    ASSERT_TRUE(from_->put_record({.key = {"_o", "keys", "a"}}));
    ASSERT_TRUE(to_->put_record({.key = {"_o", "keys.gone", "b"}, .value = "{}"}));
    ASSERT_TRUE(to_->put_record({.key = {"_o", "keys", "b"}}));
    EXPECT_EQ(copied(options).revoked, 1U);
    EXPECT_FALSE(to_->get_record({"_o", "keys", "a"}));
    EXPECT_FALSE(to_->get_record({"_o", "keys", "b"}));
    EXPECT_TRUE(to_->get_record({"_o", "keys", "c"}));
}

INSTANTIATE_TEST_SUITE_P(stores, CopyAgain, testing::Values("sqlite", "files"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace palimpsest
