// What a word is: scripts, identifiers, stems, quotes.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/query.h"
#include "core/stems.h"
#include "core/words.h"

namespace palimpsest {
namespace {

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> out;
    for (const RawWord& word : split_words(text)) out.push_back(word.text);
    return out;
}
using Words = std::vector<std::string>;

TEST(words, lose_their_case_in_every_script) {
    EXPECT_EQ(words_of("Hello WORLD"), (Words{"hello", "world"}));
    EXPECT_EQ(words_of("ПРИВЕТ Мир"), (Words{"привет", "мир"}));
    EXPECT_EQ(words_of("STRASSE Straße"), (Words{"strasse", "strasse"}));
}

TEST(words, are_one_whatever_invisible_signs_they_hold) {
    EXPECT_EQ(words_of("soft\u00adware up\u00addate"), (Words{"software", "update"}));
    EXPECT_EQ(words_of("wor\u2060ld \u00ad end\u00ad"), (Words{"world", "end"}));
}

TEST(words, of_identifiers_are_whole_and_in_parts) {
    EXPECT_EQ(words_of("max_token_count"), (Words{"max_token_count", "max", "token", "count"}));
    EXPECT_EQ(words_of("parseJson"), (Words{"parsejson", "parse", "json"}));
    EXPECT_EQ(words_of("src/core/rank.cpp"),
              (Words{"src/core/rank.cpp", "src", "core", "rank", "cpp"}));
    EXPECT_EQ(words_of("ORD-4471"), (Words{"ord-4471", "ord", "4471"}));
    EXPECT_EQ(words_of("ana@example.org."), (Words{"ana@example.org", "ana", "example", "org"}));
}

TEST(words, of_names_with_capitals_in_a_row_are_in_parts) {
    EXPECT_EQ(words_of("XMLHttpRequest"), (Words{"xmlhttprequest", "xml", "http", "request"}));
    EXPECT_EQ(words_of("HTTPServer2"), (Words{"httpserver2", "httpserver", "http", "server", "2"}));
    EXPECT_EQ(words_of("getHTTPResponseCode"),
              (Words{"gethttpresponsecode", "get", "http", "response", "code"}));
    EXPECT_EQ(words_of("URLs of IPv4, in JSON"),
              (Words{"urls", "of", "ipv4", "ipv", "4", "in", "json"}));
}

TEST(words, of_names_inside_of_a_whole_are_found_too) {
    EXPECT_EQ(words_of("iPhone15Pro"), (Words{"iphone15pro", "iphone", "i", "phone", "15", "pro"}));
    EXPECT_EQ(words_of("api/fooBar.h"),
              (Words{"api/foobar.h", "api", "foobar", "foo", "bar", "h"}));
}

TEST(words, of_names_stand_at_one_position_whatever_their_capitals_are) {
    const auto row = [](std::string_view text) {
        std::vector<std::pair<std::string, std::uint32_t>> out;
        for (const RawWord& word : split_words(text))
            if (word.kind != WordKind::whole && (out.empty() || out.back().second != word.position))
                out.emplace_back(word.text, word.position);
        return out;
    };
    for (const auto& [name, small] : {std::pair("my GitHub page", "my github page"),
                                      std::pair("an iPhone15Pro, new", "an iphone15pro, new"),
                                      std::pair("api/HttpClient.h", "api/httpclient.h"),
                                      std::pair("O'ReillyBooks", "o'reillybooks")})
        EXPECT_EQ(row(name), row(small)) << name;
    EXPECT_EQ(words_of("macOS and DevOps"),
              (Words{"macos", "mac", "os", "and", "devops", "dev", "ops"}));
}

TEST(words, of_numbers_are_the_same_with_and_without_separators) {
    EXPECT_EQ(words_of("1,234").front(), "1234");
    EXPECT_EQ(words_of("12:30"), (Words{"12:30", "12", "30"}));
}

TEST(words, of_scripts_without_blanks_are_pairs) {
    EXPECT_EQ(words_of("東京都"), (Words{"東", "東京", "京", "京都", "都"}));
    EXPECT_EQ(words_of("猫"), (Words{"猫"}));
}

TEST(words, of_characters_in_pieces_are_those_of_whole_ones) {
    const std::string busan = "\u1107\u116e\u1109\u1161\u11ab";  // 부산 as Jamo
    EXPECT_EQ(words_of(busan), words_of("부산"));
    EXPECT_EQ(words_of("부사\u11ab"), words_of("부산"));
    EXPECT_EQ(words_of("カ\u3099イト\u3099"), words_of("ガイド"));
    EXPECT_EQ(words_of("ハ\u309aン"), words_of("パン"));
    EXPECT_EQ(words_of("ｷｬﾝｾﾙ ｶﾞｲﾄﾞ ﾊﾟﾝ"), words_of("キャンセル ガイド パン"));
    EXPECT_EQ(words_of("Mu\u0308nchen"), words_of("München"));
    EXPECT_EQ(split_words(busan + "!").front().end, 6u);
}

TEST(words, end_at_broken_bytes_and_nul) {
    EXPECT_EQ(words_of(std::string_view("a\xff\xfe"
                                        "b\0c",
                                        6)),
              (Words{"a", "b", "c"}));
}

TEST(words, drop_the_rest_behind_an_apostrophe) {
    EXPECT_EQ(words_of("Caroline's"), (Words{"caroline"}));
    EXPECT_EQ(words_of("l'homme"), (Words{"l", "homme"}));
}

std::string term_of(std::string_view word, Language language) {
    Stemmer stemmer;
    return stemmer.term(split_words(word).front(), language);
}

TEST(stems, follow_the_language) {
    EXPECT_EQ(term_of("painting", Language::english), term_of("paints", Language::english));
    EXPECT_EQ(term_of("Häuser", Language::german), term_of("Haus", Language::german));
    EXPECT_EQ(term_of("книги", Language::english), term_of("книга", Language::russian));
}

TEST(stems, have_no_accents) {
    EXPECT_EQ(term_of("café", Language::english), term_of("cafe", Language::english));
}

TEST(stems, of_names_are_those_of_the_same_letters) {
    for (const auto& [name, small] :
         {std::pair("iPhone", "iphone"), std::pair("YouTube", "youtube"),
          std::pair("PowerShell", "powershell"), std::pair("macOS", "macos"),
          std::pair("DevOps", "devops")})
        EXPECT_EQ(term_of(name, Language::english), term_of(small, Language::english));
}

TEST(accents, and_vowel_signs_are_taken_off_in_every_script) {
    for (const auto& [word, bare] :
         {std::pair("phở", "pho"), std::pair("đường", "duong"), std::pair("nội", "noi"),
          std::pair("łódź", "lodz"), std::pair("smørrebrød", "smorrebrod"),
          std::pair("كِتَابٌ", "كتاب"), std::pair("كتـــاب", "كتاب"), std::pair("أحمد", "احمد"),
          std::pair("שָׁלוֹם", "שלום"), std::pair("όμορφη", "ομορφη"), std::pair("ёлка", "елка")})
        EXPECT_EQ(strip_accents(fold_word(word)), bare);
    for (const std::string_view kept : {"йод", "हिन्दी", "ガイド", "부산", "ไทย"})
        EXPECT_EQ(strip_accents(fold_word(kept)), kept);
}

TEST(language, is_guessed_from_small_words) {
    EXPECT_EQ(guess_language(split_words("Ich habe das Buch nicht gelesen, aber es ist hier")),
              Language::german);
    EXPECT_EQ(guess_language(split_words("Je ne sais pas où il est")), Language::french);
    EXPECT_EQ(guess_language(split_words("I have not read the book")), Language::english);
    EXPECT_EQ(guess_language(split_words("xyzzy")), Language::english);
}

// Whether the terms of a text and those that are asked for meet.
bool is_found(std::string_view text, std::string_view asked, Language language) {
    Stemmer stemmer;
    std::vector<std::string> terms;
    for (const RawWord& word : split_words(text))
        stemmer.terms(word, language, [&](const std::string& term) { terms.push_back(term); });
    const SearchQuery query = read_query(asked, only_language(language), stemmer);
    return std::ranges::all_of(query.words, [&](const AskedWord& word) {
        return std::ranges::find_first_of(word.terms, terms) != word.terms.end();
    });
}

TEST(stems, of_words_with_accents_are_found_without_them_and_the_other_way_round) {
    const auto meet = [](std::string_view with, std::string_view without, Language language) {
        EXPECT_TRUE(is_found(with, without, language)) << with;
        EXPECT_TRUE(is_found(without, with, language)) << with;
        EXPECT_TRUE(is_found(with, with, language)) << with;
    };
    meet("información", "informacion", Language::spanish);
    meet("coração", "coracao", Language::portuguese);
    meet("résumé", "resume", Language::english);
    meet("félicité", "felicite", Language::french);
    meet("Helsingissä", "Helsingissa", Language::finnish);
    // Endings are taken off as before.
    EXPECT_TRUE(is_found("información", "informaciones", Language::spanish));
    EXPECT_FALSE(is_found("información", "forma", Language::spanish));
}

SearchQuery query_of(std::string_view text) {
    Stemmer stemmer;
    return read_query(text, 0, stemmer);
}

TEST(query, knows_only_quotes) {
    const SearchQuery query = query_of(R"(cats AND "blue house" OR NOT (dog* NEAR/3))");
    ASSERT_EQ(query.quotes.size(), 1u);
    ASSERT_EQ(query.quotes[0].size(), 2u);
    EXPECT_EQ(query.quotes[0][0].text, "blue");
    EXPECT_EQ(query.quotes[0][1].text, "house");
    EXPECT_TRUE(query_of(R"("open quote)").quotes.empty());
}

TEST(query, made_of_a_text_without_quotes_has_none) {
    Stemmer stemmer;
    for (const std::string_view text :
         {"say \"gate 12\" now", "\"\"a\"", "„gate“ and “door” «a» 「b」", "", "\""}) {
        const SearchQuery query = read_query(without_quotes(text), 0, stemmer);
        EXPECT_TRUE(query.quotes.empty()) << text;
    }
    EXPECT_EQ(without_quotes("say \"gate\""), "say  gate ");
}

TEST(query, asks_for_each_word_once) {
    EXPECT_EQ(query_of("cat cats Cat").words.size(), 1u);
    EXPECT_TRUE(query_of("  \t?!").empty());
}

TEST(query, is_bounded) {
    std::string long_text;
    for (int i = 0; i < 100'000; ++i) long_text += "w" + std::to_string(i) + " ";
    EXPECT_LE(query_of(long_text).words.size(), query_words_max);
}

bool asks_for(const SearchQuery& query, std::string_view word) {
    return std::ranges::find(query.words, word, &AskedWord::shown) != query.words.end();
}

TEST(query, that_is_too_long_keeps_both_its_ends) {
    std::string log;
    for (int i = 0; i < 400; ++i) log += "x" + std::to_string(i) + (i == 200 ? " locker " : " ");
    const std::string question = "What is my locker code at the gym?";
    for (const std::string& text : {log + question, question + log, log + log + question + log}) {
        const SearchQuery query = query_of(text);
        EXPECT_TRUE(query.cut_words);
        EXPECT_EQ(query.words.size(), query_words_max);
    }
    EXPECT_TRUE(asks_for(query_of(log + question), "locker"));
    EXPECT_TRUE(asks_for(query_of(question + log), "gym"));
    EXPECT_FALSE(query_of(question + question).cut_words);
    const std::string page(query_bytes_max, 'a');
    const SearchQuery huge = query_of("gym \"" + page + page + page + "\" locker");
    EXPECT_TRUE(huge.cut_bytes && huge.quotes.empty());
    EXPECT_TRUE(asks_for(huge, "gym") && asks_for(huge, "locker"));
}

TEST(query, of_pairs_does_not_ask_for_single_characters) {
    const SearchQuery query = query_of("東京");
    ASSERT_EQ(query.words.size(), 1u);
    EXPECT_EQ(query.words[0].shown, "東京");
}

}  // namespace
}  // namespace palimpsest
