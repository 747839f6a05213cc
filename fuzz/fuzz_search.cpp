// Whatever is said and whatever is asked: words lie inside of their text and in order, an index
// gives the same results from its stored form, snippets are whole UTF-8 with their marks inside,
// vectors change scores but not what they are made of, a quotation of what was said names no origin
// but its own, the pieces for the local embedder are its vocabulary's, and bytes that are no index
// are refused or harmless.
#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"
#include "core/quotes.h"
#include "core/rank.h"
#include "core/recollect.h"
#include "core/snippet.h"
#include "core/wordpiece.h"

using namespace palimpsest;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_words(std::string_view text) {
    std::uint32_t positions = 0, last = 0;
    for (const RawWord& word : split_words(text, &positions)) {
        require(word.begin < word.end && word.end <= text.size());
        require(word.position >= last && word.position < positions);
        require(!word.text.empty());
        last = word.position;
    }
}

std::vector<Ranked> find(const WordIndex& index, const SearchQuery& query) {
    const RankScope scope{&index, seq_max};
    return rank({&scope, 1}, query, {}, 20);
}

// Whatever vectors say: each message once, best first, and the parts make the score.
void check_vectors(const WordIndex& index, const SearchQuery& query, std::string_view text) {
    std::vector<VectorRow> rows(index.messages().size());
    for (std::size_t i = 0; i < rows.size() && i < text.size(); ++i)
        rows[i] = {static_cast<float>(static_cast<signed char>(text[i])) / 100, 0};
    RankScope scope{&index, seq_max};
    scope.vectors = rows;
    const auto found = rank({&scope, 1}, query, {}, 20);
    require(found.size() <= rows.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        require(found[i].score > 0 && found[i].parts.sum() == found[i].score);
        require(i == 0 || found[i].score <= found[i - 1].score);
    }
}

void check_quotation(std::string_view text) {
    const std::vector<Candidate> candidates = {{Seq{7}, 0, 2}, {Seq{3}, 0, 1}};
    RecallInput input;
    input.candidates = candidates;
    // Each says something else: the same is not quoted twice.
    input.read = [&](Seq seq) {
        return Quotable{seq, Role::user, std::to_string(seq.value) + std::string(text)};
    };
    input.count = [](std::string_view words) { return static_cast<std::uint32_t>(words.size()); };
    const std::string quotation = quote_recalled(input, {.tokens = 1u << 20});
    const std::vector<Seq> named = quoted_seqs(quotation);
    require((named == std::vector<Seq>{Seq{3}, Seq{7}}));
    require(quotation.contains(role_name(Role::user)));
    (void)quoted_seqs(text);
    // Whole and in parts, each with a space.
    require(telling_words(text).size() <= 4 * text.size());
}

void check_search(std::string_view text, std::string_view asked) {
    Stemmer stemmer;
    WordIndex index;
    for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t part = text.size() / 4;
        index.add({Seq{i + 1},
                   Time(std::chrono::hours(i)),
                   Role::user,
                   text.substr(i * part, i == 3 ? text.npos : part),
                   {}},
                  stemmer);
        if (i == 1) index.freeze();
    }
    const SearchQuery query = read_query(asked, index.languages(), stemmer);
    const auto found = find(index, query);
    const auto opened = WordIndex::open(index.freeze());
    require(opened.has_value());
    const auto again = find(*opened, query);
    require(found.size() == again.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        require(found[i].seq == again[i].seq && found[i].score == again[i].score);
    check_vectors(index, query, text);
    const std::string whole = to_utf8(text);
    check_quotation(whole);
    const Snippet snippet = make_snippet(whole, query, 0, stemmer);
    require(is_utf8(snippet.text));
    for (const auto& [begin, end] : snippet.marks)
        require(begin < end && end <= snippet.text.size());
    (void)has_quotes(whole, query);
}

// Whatever the text, its ends are there, the limit holds, and the pieces are the vocabulary's.
void check_pieces(std::string_view text) {
    const auto pieces = WordPiece::open(
        R"({"model":{"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"##a":4,"!":5}}})");
    require(pieces.has_value());
    const auto ids = pieces->encode(text, 32);
    require(ids.size() >= 2 && ids.size() <= 32 && ids.front() == 1 && ids.back() == 2);
    for (const std::uint32_t id : ids) require(id <= 5);
    (void)WordPiece::open(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(bytes), size);
    check_words(all);
    check_pieces(all);
    const std::size_t half = size / 2;
    check_search(all.substr(half), all.substr(0, half));
    Stemmer stemmer;
    if (const auto index = WordIndex::open(std::string(all)))
        (void)find(*index, read_query("user role text", 0, stemmer));
    return 0;
}
