// The words of one log, inverted: for each term the passages that have it, and where in them.
//
// A long message is several passages, cut where sentences end, so that a page that mentions a thing
// once is not compared as a whole. Messages are added in the order of their seqs and never change;
// a scrub makes a new index. The same messages give the same index, however they were added.
//
// Stored form (little endian): "PALW", version u32, languages u32, counts u32 of messages,
// passages, stretches, terms; the rows of each; terms + 1 offsets u32; then for each term, in
// ascending order, its length and bytes, how many passages, the last passage, and the postings.
// Numbers are LEB128 where no width is said. A posting: passage (as the distance from the one
// before), twice how often (and 1 more when it has marks), and the positions in the message (as
// distances), each with the mark of its form behind it where there are marks (form_mark; without
// them all are 0).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/stems.h"
#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/types.h"

namespace palimpsest {

struct IndexedText {
    Seq seq = {};
    Time at = {};
    Role role = Role::user;
    std::string_view text = {};
    std::vector<std::string_view> tools = {};  // names of the tools that it calls or answers
    bool results = false;                      // has results of tools, whatever its role is
};

struct MessageRow {
    std::uint64_t seq = 0;
    std::int64_t at_ms = 0;
    std::uint32_t first_passage = 0, passages = 0;
    std::uint32_t stretch = 0;  // what was said together: no long pause, not too much
    std::uint32_t words = 0;
    std::uint8_t role = 0;
    std::uint8_t results = 0;  // 1: has results of tools
    std::uint8_t unused[6] = {};
};
struct PassageRow {
    std::uint32_t message = 0;  // its place among the messages
    std::uint32_t words = 0;
};

constexpr Duration stretch_gap = std::chrono::hours(2);
constexpr std::uint32_t stretch_messages_max = 64;
constexpr std::uint32_t passage_words = 128;

// Where the passages of a text begin and end, in bytes.
struct PassageBounds {
    std::uint32_t begin = 0, end = 0;
    std::uint32_t first_word = 0, last_word = 0;  // of the words that split_words gives; exclusive
};
std::vector<PassageBounds> split_passages(std::string_view text, const std::vector<RawWord>& words);

struct Hit {
    std::uint32_t passage = 0, count = 0;
};
// The passages of one term; a log's index has at most two for each, one behind the other.
struct PostingList {
    std::string_view bytes = {};
    std::uint32_t passages = 0;
};

class WordIndex {
public:
    void add(const IndexedText& message, Stemmer& stemmer);  // its seq is above all others

    const std::vector<MessageRow>& messages() const { return messages_; }
    const std::vector<PassageRow>& passages() const { return passages_; }
    const std::vector<std::uint32_t>& stretches() const { return stretches_; }  // words of each
    Languages languages() const { return languages_; }
    std::uint64_t words() const { return words_; }
    // How much longer what others say is than what users say: 1 is alike.
    double verbosity() const;
    Seq last() const { return {messages_.empty() ? 0 : messages_.back().seq}; }
    // How much is not in the stored form yet, and what all of it takes.
    std::size_t messages_in_memory() const { return messages_.size() - frozen_messages_; }
    std::size_t bytes() const;

    void find(std::string_view term, std::vector<PostingList>& out) const;

    // The stored form; from then on the index uses it itself.
    const std::string& freeze();
    static Result<WordIndex> open(std::string stored);

private:
    struct Growing {
        std::string bytes = {};
        std::uint32_t passages = 0, last_passage = 0;
    };
    struct Frozen {
        std::string_view term = {}, bytes = {};
        std::uint32_t passages = 0, last_passage = 0;
    };
    void count(const MessageRow& row);
    void add_row(const IndexedText& message, std::uint32_t length);
    void add_passage(const std::vector<RawWord>& words, const PassageBounds& bounds,
                     Language language, Stemmer& stemmer);
    using GrowingTerm = std::pair<const std::string, Growing>;
    struct Place {  // of a word
        GrowingTerm* term = nullptr;
        std::uint32_t position = 0;
        std::uint8_t mark = 0;
    };
    void post(GrowingTerm& term, std::uint32_t passage, std::span<const Place> places);
    Frozen frozen_term(std::size_t index) const;
    std::string_view frozen_name(std::size_t index) const;
    std::string head() const;

    std::vector<MessageRow> messages_;
    std::vector<PassageRow> passages_;
    std::vector<std::uint32_t> stretches_;
    std::uint32_t in_stretch_ = 0;
    std::uint64_t words_ = 0, user_words_ = 0, user_messages_ = 0;
    Languages languages_ = 0;
    std::unordered_map<std::string, Growing> growing_;
    std::size_t growing_bytes_ = 0;  // about
    std::vector<Place> places_;      // of the passage that is added
    std::string stored_;             // the stored form of the first frozen_messages_
    std::size_t frozen_messages_ = 0, frozen_terms_ = 0, offsets_at_ = 0, terms_at_ = 0;
};

// The term under which a message is found by a tool's name.
std::string tool_term(std::string_view name);

std::uint32_t read_number(std::string_view bytes, std::size_t& at);
void write_number(std::string& out, std::uint32_t number);

struct Posting {
    std::uint32_t passage = 0, count = 0;
    bool marked = false;
    std::size_t at = 0;  // of the positions, among the bytes of the list
};

// Calls use(position, mark) for each word of a posting; gives where the next one begins.
template <class Use>
std::size_t scan_positions(std::string_view bytes, const Posting& posting, Use use) {
    std::size_t at = posting.at;
    std::uint32_t position = 0;
    for (std::uint32_t i = 0; i < posting.count && at < bytes.size(); ++i) {
        position += read_number(bytes, at);
        std::uint8_t mark = 0;
        if (posting.marked && at < bytes.size()) mark = static_cast<std::uint8_t>(bytes[at++]);
        use(position, mark);
    }
    return at;
}

// Calls use(posting) for each posting. Stops at broken bytes.
template <class Use>
void scan_postings(std::string_view bytes, Use use) {
    Posting posting;
    while (posting.at < bytes.size()) {
        posting.passage += read_number(bytes, posting.at);
        const std::uint32_t count = read_number(bytes, posting.at);
        posting.count = count >> 1;
        posting.marked = count & 1;
        use(std::as_const(posting));
        posting.at = scan_positions(bytes, posting, [](std::uint32_t, std::uint8_t) {});
    }
}

}  // namespace palimpsest
