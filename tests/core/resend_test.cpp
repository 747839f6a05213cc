// Which of the messages that a client sends the log has already.
#include "core/resend.h"

#include <gtest/gtest.h>

using namespace palimpsest;

namespace {

// Messages as words: the first letter is the role (u user, a assistant, s system, t tool), the
// whole word is what was said. In a log "-" hides the word behind it, "!" makes it interrupted, "?"
// takes its content away.
Role role_of(char letter) {
    return letter == 'u'   ? Role::user
           : letter == 'a' ? Role::assistant
           : letter == 's' ? Role::system
                           : Role::tool;
}

Fingerprint print_of(std::string_view word) {
    Fingerprint print{.low = 7, .high = 7};
    for (const char c : word) print.low = print.low * 131 + static_cast<unsigned char>(c);
    return print;
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out(1);
    for (const char c : text)
        if (c == ' ')
            out.emplace_back();
        else
            out.back() += c;
    if (out.back().empty()) out.pop_back();
    return out;
}

Resend resend(std::string_view log, std::string_view incoming) {
    std::vector<KnownMessage> known;
    for (const std::string& mark : words(log)) {
        const bool plain = mark[0] >= 'a';
        const std::string word = plain ? mark : mark.substr(1);
        KnownMessage one{.fingerprint = print_of(word), .role = role_of(word[0])};
        one.hidden = mark[0] == '-';
        one.interrupted = mark[0] == '!';
        if (mark[0] == '?') one.fingerprint = {};
        one.left_out = mark[0] == '*';
        const Seq seq{10 * (known.size() + 1)};
        one.range = {seq, seq};
        known.push_back(one);
    }
    std::vector<ResentMessage> sent;
    for (const std::string& word : words(incoming))
        sent.push_back({.fingerprint = print_of(word), .role = role_of(word[0])});
    return find_resend(known, sent);
}

// "new FROM", and "rewind SEQ", "ignored N" where there is such.
std::string told(std::string_view log, std::string_view incoming) {
    const Resend found = resend(log, incoming);
    std::string out = "new " + std::to_string(found.first_new);
    if (found.rewind_to) out += " rewind " + std::to_string(found.rewind_to->value);
    if (found.ignored > 0) out += " ignored " + std::to_string(found.ignored);
    return out;
}

TEST(resend, takes_all_of_a_first_request) {
    EXPECT_EQ(told("", "u1"), "new 0");
    EXPECT_EQ(told("", "u1 a1 u2"), "new 0");
    EXPECT_EQ(told("", ""), "new 0");
}

TEST(resend, sets_the_system_run_aside) {
    EXPECT_EQ(told("u1 a1", "s1 s2 u1 a1 u2"), "new 4");
    EXPECT_EQ(resend("u1 a1", "s1 s2 u1 a1 u2").preamble, 2u);
    EXPECT_EQ(told("u1 a1", "s1 u2"), "new 1");
    EXPECT_EQ(told("u1 a1", "s1"), "new 1");
}

TEST(resend, finds_what_is_new_behind_the_whole_history) {
    EXPECT_EQ(told("u1 a1 u2 a2", "u1 a1 u2 a2 u3"), "new 4");
    EXPECT_EQ(told("u1 a1 u2 a2", "u1 a1 u2 a2"), "new 4");
    EXPECT_EQ(told("u1 a1 t1 t2 a2", "u1 a1 t1 t2 a2 u3 u4"), "new 5");
}

TEST(resend, takes_only_new_messages_as_they_are) {
    EXPECT_EQ(told("u1 a1", "u2"), "new 0");
    EXPECT_EQ(told("u1 a1", "t1 u2"), "new 0");
}

TEST(resend, does_not_take_a_word_said_again_for_history) {
    // "yes" was said before; without the answer beside it nothing tells that it is the same one.
    EXPECT_EQ(told("uyes a1 u2 a2", "uyes"), "new 0");
}

TEST(resend, rewinds_when_the_past_was_edited) {
    EXPECT_EQ(told("u1 a1 u2 a2", "u1 a1 uother"), "new 2 rewind 20");
    EXPECT_EQ(told("u1 a1 u2 a2 u3 a3", "u1 a1 uother"), "new 2 rewind 20");
}

TEST(resend, rewinds_over_an_answer_that_is_to_be_made_anew) {
    EXPECT_EQ(told("u1 a1 u2 a2", "u1 a1 u2"), "new 3 rewind 30");
}

TEST(resend, rewinds_when_the_first_answer_was_edited) {
    EXPECT_EQ(told("u1 a1", "u1 aother u2"), "new 1 rewind 10");
    EXPECT_EQ(told("u1 a1", "s1 u1 aother u2"), "new 2 rewind 10");
    EXPECT_EQ(told("u1 a1", "u1 aother"), "new 1 rewind 10");
    EXPECT_EQ(told("u1 a1 u2 a2", "u1 aother u2 alast u3"), "new 1 rewind 10");
    EXPECT_EQ(told("u1 u2 a1", "u1 u2 aother u3"), "new 2 rewind 20");
    EXPECT_EQ(told("u1 a1 t1 a2", "u1 aother t2 alast u2"), "new 1 rewind 10");
}

TEST(resend, takes_a_history_that_begins_otherwise_for_another_one) {
    EXPECT_EQ(told("u1 a1", "uother aother u2"), "new 0");
    EXPECT_EQ(told("?u1 a1", "u1 aother u2"), "new 0") << "nobody knows what it was";
    EXPECT_EQ(told("uyes a1 uyes a2", "uyes aother u2"), "new 0") << "it may be the end of it";
    EXPECT_EQ(told("*u1 *a1 u2 a2", "u1 aother u3"), "new 0") << "nobody would be shown u1";
}

TEST(resend, is_unmoved_by_a_shortened_copy) {
    EXPECT_EQ(told("u1 a1 u2 a2", "u2 a2 u3"), "new 2");
    EXPECT_EQ(told("u1 a1 u2 a2 u3 a3", "u1 a1 u3 a3 u4"), "new 4");
    EXPECT_EQ(told("u1 a1 u2 a2", "usummary u2 a2 u3"), "new 3 ignored 1");
    EXPECT_EQ(told("u1 a1 u2 a2", "a2 u3"), "new 1");
}

TEST(resend, prefers_the_longest_run_and_then_the_newest) {
    EXPECT_EQ(told("uyes aok uyes aok", "uyes aok uyes aok u5"), "new 4");
    EXPECT_EQ(told("uyes aok uyes aok", "uyes aok u3"), "new 2");
    EXPECT_EQ(told("u1 aok u2 aok", "u1 aok u3"), "new 2 rewind 20");
}

TEST(resend, goes_on_at_the_end_where_a_window_of_it_is_the_logs_start_as_well) {
    EXPECT_EQ(told("ux ax uy ay ux ax", "ux ax uy"), "new 2");
    EXPECT_EQ(told("ux ax uy ay uz az ux ax", "ux ax"), "new 2");
    EXPECT_EQ(told("ux ax ux ax", "ux ax ux ax ux"), "new 4") << "all of it";
    EXPECT_EQ(told("ux ax uy ay", "ux ax uy"), "new 3 rewind 30") << "not the end of it";
}

TEST(resend, goes_back_where_the_end_has_lost_its_words) {
    EXPECT_EQ(told("u1 a1 u2 a2 ?u3 ?a3", "u1 a1 u2"), "new 3 rewind 30");
    EXPECT_EQ(told("u1 a1 u2 a2 u3 ?a3", "u1 a1 u2"), "new 3 rewind 30");
    EXPECT_EQ(told("u1 aok u2 a2 ?u3 aok", "u1 aok u2"), "new 3 rewind 30");
    EXPECT_EQ(told("u1 a1 u2 a2 ?u3 ?a3", "u1 a1 u2 a2 u3 a3 u4"), "new 6") << "all of it";
}

TEST(resend, does_not_take_words_said_again_for_a_way_back) {
    EXPECT_EQ(told("ustart aok unext aok", "ustart aok unext aok unext"), "new 4");
    EXPECT_EQ(told("ustart aok unext aok", "aok unext aok unext"), "new 3");
    EXPECT_EQ(told("ustart aok unext aok", "aok unext"), "new 1");
    EXPECT_EQ(told("unext aok unext aok", "unext aok unext"), "new 3 rewind 30") << "made anew";
}

TEST(resend, sees_a_retry_in_an_unanswered_end) {
    EXPECT_EQ(told("u1", "u1"), "new 1");
    EXPECT_EQ(told("u1 a1 u2", "u2"), "new 1");
    EXPECT_EQ(told("u1 a1 u2", "u1 a1 u2"), "new 3");
    EXPECT_EQ(told("u1 a1 u2", "s1 u2"), "new 2");
    EXPECT_EQ(told("u1 a1 u2 u3", "u2 u3"), "new 2");
    EXPECT_EQ(told("u1 a1 u2 u3", "u3 u2"), "new 0");
}

TEST(resend, knows_a_history_that_nobody_has_answered_yet) {
    EXPECT_EQ(told("u1", "u1 u2"), "new 1");
    EXPECT_EQ(told("u1 u2", "s1 u1 u2 u3"), "new 3");
    EXPECT_EQ(told("u1 u2 u3", "u1 u2 u3 u4"), "new 3");
    EXPECT_EQ(told("u1 u2 u3", "u2 u3 u4"), "new 2") << "the end of it";
    EXPECT_EQ(told("u1 a1 u2", "u2 u3"), "new 1");
    EXPECT_EQ(told("u1 a1 t1", "t1 t2 u2"), "new 1");
    EXPECT_EQ(told("uyes uyes", "uyes uyes uyes"), "new 2") << "the longest";
}

TEST(resend, knows_it_around_partial_answers_that_the_client_threw_away) {
    EXPECT_EQ(told("u1 !a1", "u1 u2"), "new 1 rewind 10");
    EXPECT_EQ(told("u1 !a1 u2", "u1 u2 u3"), "new 2");
    EXPECT_EQ(told("u1 !a1 u2 !a2", "u1 u2 u3"), "new 2 rewind 30");
}

TEST(resend, does_not_take_an_open_word_said_again_behind_others_for_history) {
    EXPECT_EQ(told("uyes u2", "uyes"), "new 0");
    EXPECT_EQ(told("uyes u2", "uyes u3"), "new 0");
    EXPECT_EQ(told("u2 uyes", "uyes u3"), "new 0");
    EXPECT_EQ(told("uyes", "u2 uyes"), "new 0");
    EXPECT_EQ(told("uyes a1", "uyes u2"), "new 0") << "answered";
}

TEST(resend, says_it_again_once_it_was_answered) {
    EXPECT_EQ(told("u1 a1", "u1"), "new 0");
    EXPECT_EQ(told("u1 a1 u2 a2", "u2"), "new 0");
}

TEST(resend, takes_a_partial_answer_for_none) {
    EXPECT_EQ(told("u1 !a1", "u1"), "new 1 rewind 10");
    EXPECT_EQ(told("u1 a1 u2 !a2", "u2"), "new 1 rewind 30");
    EXPECT_EQ(told("u1 !a1", "u1 a1 u2"), "new 2");  // the client has the partial one itself
}

TEST(resend, knows_what_is_hidden_and_does_not_rewind_over_it) {
    EXPECT_EQ(told("u1 a1 -u2 -a2", "u1 a1 u3"), "new 2");
    EXPECT_EQ(told("u1 a1 -u2 -a2", "u1 a1 u2 a2 u3"), "new 4");
}

TEST(resend, passes_over_messages_whose_content_is_gone) {
    EXPECT_EQ(told("u1 ?a1 u2 a2", "u1 a1 u2 a2 u3"), "new 4");
    EXPECT_EQ(told("u1 a1 ?u2 a2", "u1 a1 u2 a2 u3"), "new 4");
}

TEST(resend, stays_quick_when_the_same_is_said_over_and_over) {
    std::string log, incoming;
    for (int i = 0; i < 3000; ++i) log += (i > 0 ? " " : "") + std::string(i % 2 ? "aok" : "uyes");
    incoming = log + " unew";
    EXPECT_EQ(told(log, incoming), "new 3000");

    std::string open = "u1";
    for (int i = 0; i < 3000; ++i) open += " uyes";
    EXPECT_EQ(told(open, open + " unew"), "new 3001");
    EXPECT_EQ(told(open, "uyes" + open.substr(2) + " unew"), "new 3000");
    EXPECT_EQ(told(open + " ulast", open.substr(3) + " uother"), "new 0");
}

}  // namespace
