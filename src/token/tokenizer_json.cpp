#include "token/tokenizer_json.h"

#include "token/nfc.h"
#include "token/utf8_prefix.h"

#include <queue>

namespace palimpsest {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

// The symbols of a piece as a list whose members merge with their right neighbour.
class MergeList {
public:
    using Merges = std::unordered_map<std::uint64_t, JsonTokenizer::Merge>;

    MergeList(std::string_view piece, const std::vector<Token>& bytes, const Merges& merges)
        : merges_(merges) {
        const auto size = static_cast<std::uint32_t>(piece.size());
        for (std::uint32_t i = 0; i < size; ++i)
            symbols_.push_back({bytes[static_cast<std::uint8_t>(piece[i])],
                                i == 0 ? nowhere : i - 1, i + 1 == size ? nowhere : i + 1});
        for (std::uint32_t i = 0; i + 1 < size; ++i) offer(i);
    }

    void run(std::vector<Token>& out) {
        while (!waiting_.empty()) {
            const Offer next = waiting_.top();
            waiting_.pop();
            Symbol& left = symbols_[next.at];
            if (left.token != next.left || left.next == nowhere) continue;
            if (symbols_[left.next].token != next.right) continue;
            join(next);
        }
        for (std::uint32_t i = 0; i != nowhere; i = symbols_[i].next)
            out.push_back(symbols_[i].token);
    }

private:
    struct Symbol {
        Token token = 0;
        std::uint32_t previous = nowhere, next = nowhere;
    };
    struct Offer {
        std::uint32_t rank = 0, at = 0;
        Token left = 0, right = 0, joined = 0;
        bool operator<(const Offer& other) const {
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };

    void offer(std::uint32_t at) {
        const Symbol& left = symbols_[at];
        if (left.next == nowhere) return;
        const Token right = symbols_[left.next].token;
        const auto found = merges_.find(pair_key(left.token, right));
        if (found != merges_.end())
            waiting_.push({found->second.rank, at, left.token, right, found->second.token});
    }

    void join(const Offer& now) {
        Symbol& left = symbols_[now.at];
        Symbol& right = symbols_[left.next];
        left.token = now.joined;
        left.next = right.next;
        right.token = no_token;
        if (left.next != nowhere) symbols_[left.next].previous = now.at;
        offer(now.at);
        if (left.previous != nowhere) offer(left.previous);
    }

    const Merges& merges_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Offer> waiting_;
};

}  // namespace

void JsonTokenizer::merge(std::string_view piece, std::vector<Token>& out) const {
    if (parts_.whole_words) {
        const auto found = parts_.words.find(std::string(piece));
        if (found != parts_.words.end()) return out.push_back(found->second);
    }
    MergeList(piece, parts_.bytes, parts_.merges).run(out);
}

JsonTokenizer::JsonTokenizer(Parts parts) : parts_(std::move(parts)) {
    for (const auto& [bytes, token] : parts_.words) bytes_of_.emplace(token, bytes);
}

void JsonTokenizer::encode_valid(std::string_view text, std::vector<Token>& out) const {
    if (text.empty()) return;
    if (parts_.nfc && !is_surely_nfc(text)) {
        const std::string normal = to_nfc(text);
        for (const std::string_view piece : split_stages(normal, parts_.stages)) merge(piece, out);
        return;
    }
    for (const std::string_view piece : split_stages(text, parts_.stages)) merge(piece, out);
}

std::vector<Token> JsonTokenizer::encode(std::string_view text) const {
    std::vector<Token> out;
    const std::size_t valid = utf8_prefix(text);
    encode_valid(text.substr(0, valid), out);
    if (valid != text.size()) merge(text.substr(valid), out);
    return out;
}

Result<std::string> JsonTokenizer::decode(std::span<const Token> tokens) const {
    std::string out;
    for (const Token token : tokens) {
        const auto found = bytes_of_.find(token);
        const auto added = parts_.added.find(token);
        if (found != bytes_of_.end())
            out += found->second;
        else if (added != parts_.added.end())
            out += added->second;
        else
            return fail(ErrorCode::invalid_request,
                        parts_.name + " has no token " + std::to_string(token), "tokens");
    }
    return out;
}

}  // namespace palimpsest
