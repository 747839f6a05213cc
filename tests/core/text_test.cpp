#include <gtest/gtest.h>

#include <algorithm>

#include "core/bm25.h"
#include "core/identifiers.h"
#include "core/placeholder.h"
#include "core/shorten_text.h"

using namespace palimpsest;

namespace {

std::size_t count_bytes(std::string_view text) {
    return text.size();
}

}  // namespace

TEST(placeholder, is_the_seeds_word_for_word) {
    EXPECT_EQ(placeholder("output", "weather_api", "call_12345"),
              "⟦removed: tool output for weather_api (call_id=call_12345); "
              "reason=context_compaction⟧");
    EXPECT_EQ(placeholder("input", "", ""),
              "⟦removed: tool input for tool (call_id=unknown); reason=context_compaction⟧");
}

TEST(identifiers, are_ids_paths_numbers_dates_and_names_in_order) {
    const auto found = find_identifiers(
        R"({"user_id": "mia_li_3668", "flight": "HAT069"} on 2024-05-20 in /etc/hosts, said Mia)",
        10);
    EXPECT_EQ(found,
              (std::vector<std::string_view>{"mia_li_3668", "HAT069", "2024-05-20", "/etc/hosts"}));
}

TEST(identifiers, are_no_pieces_of_escapes) {
    using Words = std::vector<std::string_view>;
    EXPECT_EQ(
        find_identifiers(R"({"name":"Jos\u00e9","city":"\u6771\u4eac","id":"\u00a0A17B"})", 9),
        (Words{"A17B"}));
    EXPECT_EQ(find_identifiers(R"({"text":"paid\nORD-4711\tfor\r\nHAT069"})", 9),
              (Words{"ORD-4711", "HAT069"}));
    EXPECT_EQ(find_identifiers(R"({"path":"C:\\new_dir\\u00e9x.txt"})", 9),
              (Words{"new_dir", "u00e9x.txt"}))
        << "a backslash that is escaped begins no escape";
    EXPECT_EQ(find_identifiers(R"(see C:\new_dir and caf\u00e9)", 9), (Words{"new_dir"}))
        << "only \\u is an escape wherever it stands";
}

TEST(identifiers, of_too_many_the_most_telling_stay) {
    const auto found = find_identifiers("Berlin 12345 HAT069 Oslo x1y2z3", 2);
    EXPECT_EQ(found, (std::vector<std::string_view>{"HAT069", "x1y2z3"}));
    EXPECT_TRUE(find_identifiers("HAT069", 0).empty());
    EXPECT_TRUE(find_identifiers("the plain words of a text", 5).empty());
}

TEST(identifiers, a_json_key_is_none_and_one_occurrence_is_enough) {
    EXPECT_EQ(find_identifiers(R"({"reservation_id":"4WQ150","x":"4WQ150"})", 9).size(), 1u);
}

TEST(shorten_text, keeps_head_and_tail_and_says_exactly_what_is_missing) {
    const std::string text(1000, 'a');
    const std::string out = shorten_text("<" + text + ">", 200, count_bytes);
    EXPECT_LE(out.size(), 200u);
    EXPECT_EQ(out.front(), '<');
    EXPECT_EQ(out.back(), '>');
    const std::size_t kept = static_cast<std::size_t>(std::count(out.begin(), out.end(), 'a'));
    // What the note says and what is kept make the whole.
    const std::size_t at = out.find("left out: ") + 10;
    EXPECT_EQ(std::stoul(out.substr(at)) + (kept), 1002u - 2u);
}

namespace {

std::size_t number_behind(const std::string& text, std::string_view words) {
    return std::stoul(text.substr(text.find(words) + words.size()));
}

// What is kept of the text, without the note and the line ends around it.
std::size_t kept_of(const std::string& out, char letter) {
    return static_cast<std::size_t>(std::ranges::count(out, letter));
}

}  // namespace

TEST(shorten_text, again_and_again_tells_what_is_missing_of_the_first_text) {
    std::string lines;
    for (int n = 0; n < 400; ++n) lines += std::string(39, 'b') + "\n";
    for (const std::string& text : {std::string(16'000, 'a'), lines}) {
        std::string out = text;
        for (const std::size_t most : {4'000u, 1'500u, 700u, 200u, 90u, 35u}) {
            out = shorten_text(out, most, count_bytes);
            EXPECT_EQ(number_behind(out, " of "), text.size()) << out;
            EXPECT_EQ(out.find(left_out_mark), out.rfind(left_out_mark)) << out;
            const std::size_t note = out.find(left_out_mark), end = out.find("\u27e7");
            const std::string head = out.substr(0, note);
            const std::string tail = end + 4 < out.size() ? out.substr(end + 4) : "";
            const bool whole_lines =
                text == lines && head.ends_with("b\n") && head.size() % 40 == 0;
            const std::size_t kept =
                head.size() - (head.empty() || whole_lines ? 0 : 1) + tail.size();
            EXPECT_EQ(number_behind(out, left_out_mark) + kept, text.size()) << most << out;
        }
        EXPECT_EQ(kept_of(out, 'a') + kept_of(out, 'b') < 35, true);
    }
}

TEST(shorten_text, keeps_a_note_that_stands_far_from_the_new_gap) {
    const std::string note = "\u27e6left out: 900 of 1000 bytes\u27e7";
    const std::string text = std::string(10, 'a') + "\n" + note + "\n" + std::string(5'000, 'b');
    const std::string out = shorten_text(text, 1'000, count_bytes);
    EXPECT_TRUE(out.contains("\n" + note + "\n")) << out;
    EXPECT_EQ(number_behind(out.substr(out.find('b')), " of "), 5'910u) << out;
    const std::size_t kept = kept_of(out, 'b') - 2;  // The notes say "bytes".
    EXPECT_EQ(number_behind(out.substr(out.find('b')), "left out: "), 5'000 - kept) << out;
}

TEST(shorten_text, never_cuts_a_code_point) {
    std::string text;
    for (int n = 0; n < 300; ++n) text += "日本語";
    for (std::size_t most = 40; most < 400; most += 7) {
        const std::string out = shorten_text(text, most, count_bytes);
        for (std::size_t i = 0; i < out.size();) {
            const auto c = static_cast<unsigned char>(out[i]);
            const std::size_t size = c < 0x80    ? 1
                                     : c >= 0xf0 ? 4
                                     : c >= 0xe0 ? 3
                                     : c >= 0xc0 ? 2
                                                 : 0;
            ASSERT_NE(size, 0u) << most;
            i += size;
            ASSERT_LE(i, out.size()) << most;
        }
    }
}

TEST(shorten_text, leaves_alone_what_fits) {
    EXPECT_EQ(shorten_text("short", 10, count_bytes), "short");
    EXPECT_EQ(shorten_text("", 0, count_bytes), "");
}

TEST(bm25, finds_the_text_that_the_question_is_about) {
    const std::vector<std::string> texts = {"my cat is called Mimi", "the train leaves at nine",
                                            "nothing at all", "bread and butter"};
    const auto scores = bm25_scores(texts, "what is my cat called?");
    EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), 0);
    EXPECT_GT(scores[1], scores[3]);  // a neighbour of it
    EXPECT_EQ(bm25_scores(texts, "unrelated"), (std::vector<double>{0, 0, 0, 0}));
    EXPECT_TRUE(bm25_scores({}, "x").empty());
}
