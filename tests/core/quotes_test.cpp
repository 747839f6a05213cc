// Quotes: the words as they were written, in that order; in the index and in a text alike.
#include "core/quotes.h"

#include <gtest/gtest.h>

#include <random>

#include "core/snippet.h"

namespace palimpsest {
namespace {

using Texts = std::vector<std::string>;
using Places = std::vector<std::uint32_t>;

WordIndex index_of(const Texts& texts) {
    WordIndex index;
    Stemmer stemmer;
    for (std::size_t t = 0; t < texts.size(); ++t) {
        index.add({Seq{t + 1}, {}, Role::user, texts[t], {}}, stemmer);
        if (t == texts.size() / 2) index.freeze();
    }
    return index;
}

SearchQuery asked(std::string_view text, Languages languages = 0) {
    Stemmer stemmer;
    return read_query(text, languages, stemmer);
}

// The texts that have the quotes, by their places; looked for in both ways.
Places having(const Texts& texts, std::string_view query) {
    const WordIndex index = index_of(texts);
    const SearchQuery quotes = asked(query, index.languages());
    Places by_text;
    for (std::uint32_t t = 0; t < texts.size(); ++t)
        if (has_quotes(texts[t], quotes)) by_text.push_back(t);
    EXPECT_EQ(messages_with(index, quotes.quotes), by_text) << query;
    return by_text;
}

TEST(quotes, do_not_look_at_what_is_between_words) {
    const Texts texts = {"Hello, world!",  "world, hello", "hello\n\nworld",
                         "hello my world", "hello_world",  "(hello) - world"};
    EXPECT_EQ(having(texts, R"("hello world")"), (Places{0, 2, 4, 5}));
    EXPECT_EQ(having(texts, R"("Hello, World!")"), (Places{0, 2, 4, 5}));
    EXPECT_EQ(having({"state-of-the-art", "the state of an art"}, R"("state of the art")"),
              Places{0});
}

TEST(quotes, ask_for_words_as_they_are_written) {
    const Texts texts = {"the cat sleeps", "the cats sleep", "it happened at once", "gate 12",
                         "gate 125"};
    EXPECT_EQ(having(texts, R"("cat")"), Places{0});
    EXPECT_EQ(having(texts, R"("cats")"), Places{1});
    EXPECT_EQ(having(texts, R"("catsleeps")"), Places{});
    EXPECT_EQ(having(texts, R"("at onc")"), Places{});
    EXPECT_EQ(having(texts, R"("at once")"), Places{2});
    EXPECT_EQ(having(texts, R"("gate 12")"), Places{3});
    EXPECT_EQ(having(texts, R"("gate 1")"), Places{});
    EXPECT_EQ(having(texts, R"("the" "sleep")"), Places{1});
}

TEST(quotes, fold_case_and_accents_as_words_do) {
    const Texts texts = {"Die Straße ist groß", "Un CAFÉ noir", "cafes"};
    EXPECT_EQ(having(texts, R"("strasse IST")"), Places{0});
    EXPECT_EQ(having(texts, R"("cafe Noir")"), Places{1});
}

TEST(quotes, do_not_look_at_where_capitals_cut_a_name) {
    const Texts texts = {"GitHub YouTube", "github youtube", "my iPhone15Pro",
                         "iphone15pro",    "git hub",        "call parseJSON now"};
    EXPECT_EQ(having(texts, R"("github youtube")"), (Places{0, 1}));
    EXPECT_EQ(having(texts, R"("GitHub YouTube")"), (Places{0, 1}));
    EXPECT_EQ(having(texts, R"("iPhone 15")"), (Places{2, 3}));
    EXPECT_EQ(having(texts, R"("my iphone15pro")"), Places{2});
    EXPECT_EQ(having(texts, R"("Parsejson now")"), Places{5});
    EXPECT_EQ(having(texts, R"("json now")"), Places{5});
    EXPECT_EQ(having(texts, R"("hub")"), (Places{0, 4}));
}

TEST(quotes, of_words_with_accents_are_found_once_and_in_both_ways) {
    const Texts texts = {"la información de la empresa", "la informacion de la empresa",
                         "las informaciones de la empresa"};
    EXPECT_EQ(having(texts, R"("la información de")"), (Places{0, 1}));
    EXPECT_EQ(having(texts, R"("la informacion de")"), (Places{0, 1}));
}

TEST(quotes, of_scripts_without_blanks_are_characters_in_a_row) {
    const Texts texts = {"昨日は東京都に行きました", "京都は東にある", "東京。\n都の天気",
                         "ฉันรักภาษาไทยมาก", "東"};
    EXPECT_EQ(having(texts, R"("東京都")"), (Places{0, 2}));
    EXPECT_EQ(having(texts, "「京都は」"), Places{1});
    EXPECT_EQ(having(texts, R"("ภาษาไทย")"), Places{3});
    EXPECT_EQ(having(texts, R"("東")"), (Places{0, 1, 2, 4}));
}

TEST(quotes, are_found_across_the_passages_of_a_message) {
    Texts words;
    std::string text;
    for (int i = 0; i < 600; ++i) {
        words.push_back(
            {'q', static_cast<char>('a' + i / 26), static_cast<char>('a' + i % 26), 'z'});
        text += words.back() + " ";
    }
    const WordIndex index = index_of({text});
    ASSERT_GT(index.passages().size(), 2u);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const SearchQuery query = asked("\"" + words[i] + " " + words[i + 1] + "\"");
        EXPECT_EQ(messages_with(index, query.quotes), Places{0}) << i;
    }
}

TEST(quotes, with_words_that_are_repeated_are_found_where_all_of_them_are) {
    const Texts texts = {"to be or not to be", "to be or not", "be to be to or not to be to be",
                         "a a a", "a a"};
    EXPECT_EQ(having(texts, R"("to be or not to be")"), Places{0});
    EXPECT_EQ(having(texts, R"("to or not to be to")"), Places{2});
    EXPECT_EQ(having(texts, R"("a a a")"), Places{3});
}

TEST(quotes, in_the_index_are_those_of_the_texts) {
    std::mt19937 random(3);
    const Texts words = {"run", "runs", "running", "house",   "Houses",  "a",
                         "the", "café", "東京",    "YouTube", "youtube", "iPhone15"};
    const auto some = [&](std::size_t most) {
        std::string text;
        for (std::size_t i = 1 + random() % most; i > 0; --i)
            text += words[random() % words.size()] + (random() % 4 ? " " : ", ");
        return text;
    };
    for (int round = 0; round < 12; ++round) {
        Texts texts;
        for (int t = 0; t < 20; ++t) texts.push_back(some(300));
        (void)having(texts, "\"" + some(4) + "\"");
    }
}

TEST(quotes, that_are_too_long_are_cut_and_that_is_told) {
    std::string words;
    for (std::size_t i = 0; i < query_words_max; ++i) words += "w" + std::to_string(i) + "x ";
    EXPECT_FALSE(asked("\"a b\"").cut_words);
    const SearchQuery query = asked("\"go " + words + words + "\" \"more\"");
    EXPECT_TRUE(query.cut_words);
    ASSERT_EQ(query.quotes.size(), 1u);
    EXPECT_EQ(query.quotes[0].size(), query_words_max);
    EXPECT_LE(query.words.size(), query_words_max);
}

std::string marked(std::string_view text, std::string_view query, std::size_t passage = 0) {
    Stemmer stemmer;
    const Snippet snippet = make_snippet(text, asked(query), passage, stemmer);
    std::string out;
    std::size_t at = 0;
    for (const auto& [begin, end] : snippet.marks) {
        out += snippet.text.substr(at, begin - at) + "[" + snippet.text.substr(begin, end - begin) +
               "]";
        at = end;
    }
    return out + snippet.text.substr(at);
}

TEST(snippet, marks_a_quote_where_it_stands_and_other_words_in_any_form) {
    EXPECT_EQ(marked("cats and a cat", R"("cat")"), "cats and a [cat]");
    EXPECT_EQ(marked("world. Hello, world!", R"("hello world")"), "world. [Hello], [world]!");
    EXPECT_EQ(marked("cats and a cat", R"("cat" cat)"), "[cats] and a [cat]");
    EXPECT_EQ(marked("昨日は東京都に", R"("東京都")"), "昨日は[東京都]に");
    EXPECT_EQ(marked("on GitHub YouTube", R"("github youtube")"), "on [GitHub] [YouTube]");
    EXPECT_EQ(marked("an iPhone and a phone", "iphone"), "an [iPhone] and a phone");
    EXPECT_EQ(marked("su información", "informacion"), "su [información]");
}

TEST(snippet, shows_a_quote_of_another_passage) {
    std::string text = "red here. ";
    for (int i = 0; i < 300; ++i) text += "filler sentence. ";
    EXPECT_TRUE(
        marked(text + "blue house, red", R"("blue house" red)").contains("[blue] [house], [red]"));
}

}  // namespace
}  // namespace palimpsest
