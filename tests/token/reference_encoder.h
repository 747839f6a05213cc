// A second opinion, as plain as it can be: the regular expressions are run by a tiny backtracking
// matcher over decoded characters, and merging is the textbook loop over a map of ranks. Slow,
// and shares with the product only the tables of classes and of token bytes.
#pragma once
#include "token/encoding.h"
#include "token/unicode_ranges.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest {

class ReferenceEncoder {
public:
    explicit ReferenceEncoder(const Encoding& encoding) : pattern_(pattern_of(encoding.family())) {
        const Vocabulary& vocabulary = encoding.vocabulary();
        for (Token id = 0; id < vocabulary.ids(); ++id)
            if (!vocabulary.bytes(id).empty()) ranks_[std::string(vocabulary.bytes(id))] = id;
    }

    // `text` must be UTF-8.
    std::vector<Token> encode(std::string_view text) const {
        const Chars chars = decode(text);
        std::vector<Token> out;
        for (std::size_t at = 0; at < chars.size();) {
            const std::size_t to = match(chars, at);
            std::string piece;
            for (; at < to; ++at) piece += chars[at].bytes;
            merge(piece, out);
        }
        return out;
    }

private:
    struct Char {
        std::string bytes;
        char kind =
            'o';  // u upper, l lower, L letter, m mark, n number, s space, r newline, o other
    };
    using Chars = std::vector<Char>;
    using Test = std::function<bool(const Char&)>;
    // Greedy, with backtracking. A step with `then` is a look-ahead or a literal: it gives the
    // number of characters it takes, or -1.
    struct Step {
        Test test;
        std::size_t least = 1, most = 1;
        std::function<int(const Chars&, std::size_t)> then;
    };
    using Branch = std::vector<Step>;

    static Test any(std::string_view kinds) {
        return [=](const Char& c) { return kinds.find(c.kind) != kinds.npos; };
    }
    static Test is(std::string_view bytes) {
        return
            [=](const Char& c) { return bytes.find(c.bytes) != bytes.npos && c.bytes.size() == 1; };
    }
    static int contraction(const Chars& chars, std::size_t at, bool fold) {
        if (at >= chars.size() || chars[at].bytes != "'") return -1;
        for (const std::string_view end : {"s", "t", "re", "ve", "m", "ll", "d"}) {
            std::size_t n = 0;
            for (; n < end.size() && at + 1 + n < chars.size(); ++n) {
                std::string c = chars[at + 1 + n].bytes;
                if (fold && c == "\u017f") c = "s";
                if (fold && c.size() == 1 && c[0] >= 'A' && c[0] <= 'Z')
                    c[0] = static_cast<char>(c[0] + 32);
                if (c != end.substr(n, 1)) break;
            }
            if (n == end.size()) return static_cast<int>(n + 1);
        }
        return -1;
    }

    static std::vector<Branch> pattern_of(Family family) {
        constexpr std::size_t many = SIZE_MAX;
        const bool fold = family != Family::r50k;
        const Step contract{.test = {}, .then = [=](const Chars& c, std::size_t at) {
                                return contraction(c, at, fold);
                            }};
        Step maybe_contract = contract;
        maybe_contract.least = 0;
        const Step not_before_visible{.test = {}, .then = [](const Chars& c, std::size_t at) {
                                          return at == c.size() || any("sr")(c[at]) ? 0 : -1;
                                      }};
        const Step blank{is(" "), 0, 1, {}}, spaces{any("sr"), 1, many, {}};
        const Step lead{any("mso"), 0, 1, {}}, signs{any("mo"), 1, many, {}};
        const Branch rest[] = {{spaces, not_before_visible}, {spaces}};
        if (family == Family::r50k)
            return {{contract},
                    {blank, {any("ulL"), 1, many, {}}},
                    {blank, {any("n"), 1, many, {}}},
                    {blank, signs},
                    rest[0],
                    rest[1]};
        const Branch lines = {{any("sr"), 0, many, {}}, {is("\r\n"), 1, many, {}}};
        if (family == Family::o200k)
            return {{lead, {any("uLm"), 0, many, {}}, {any("lLm"), 1, many, {}}, maybe_contract},
                    {lead, {any("uLm"), 1, many, {}}, {any("lLm"), 0, many, {}}, maybe_contract},
                    {{any("n"), 1, 3, {}}},
                    {blank, signs, {is("\r\n/"), 0, many, {}}},
                    lines,
                    rest[0],
                    rest[1]};
        const std::size_t digits = family == Family::qwen ? 1 : 3;
        return {{contract},
                {lead, {any("ulL"), 1, many, {}}},
                {{any("n"), 1, digits, {}}},
                {blank, signs, {is("\r\n"), 0, many, {}}},
                lines,
                rest[0],
                rest[1]};
    }

    // The end of the match of steps[step...] at `at`, or npos.
    static std::size_t run(const Branch& steps, std::size_t step, const Chars& chars,
                           std::size_t at) {
        constexpr std::size_t npos = SIZE_MAX;
        if (step == steps.size()) return at;
        const Step& now = steps[step];
        if (now.then) {
            const int taken = now.then(chars, at);
            if (taken >= 0)
                return run(steps, step + 1, chars, at + static_cast<std::size_t>(taken));
            return now.least == 0 ? run(steps, step + 1, chars, at) : npos;
        }
        std::size_t n = 0;
        while (n < now.most && at + n < chars.size() && now.test(chars[at + n])) ++n;
        for (;; --n) {
            if (n < now.least) return npos;
            const std::size_t end = run(steps, step + 1, chars, at + n);
            if (end != npos || n == 0) return end;
        }
    }
    std::size_t match(const Chars& chars, std::size_t at) const {
        for (const Branch& branch : pattern_) {
            const std::size_t end = run(branch, 0, chars, at);
            if (end != SIZE_MAX && end > at) return end;
        }
        return at + 1;
    }

    static char kind_of(std::uint32_t code) {
        const auto after =
            std::upper_bound(std::begin(unicode_ranges), std::end(unicode_ranges), code * 16 + 15);
        return "oulLmnoosr"[*(after - 1) & 15];
    }
    static Chars decode(std::string_view text) {
        Chars chars;
        for (std::size_t at = 0; at < text.size();) {
            std::size_t size = 1;
            while (at + size < text.size() && (text[at + size] & 0xC0) == 0x80) ++size;
            std::uint32_t code = static_cast<std::uint8_t>(text[at]);
            if (size > 1) code &= 0x3Fu >> (size - 1);
            for (std::size_t i = 1; i < size; ++i)
                code = code << 6 | (static_cast<std::uint8_t>(text[at + i]) & 63u);
            chars.push_back({std::string(text.substr(at, size)), kind_of(code)});
            at += size;
        }
        return chars;
    }

    void merge(const std::string& piece, std::vector<Token>& out) const {
        std::vector<std::string> parts;
        if (ranks_.contains(piece)) {
            parts.push_back(piece);
        } else {
            for (const char c : piece) parts.emplace_back(1, c);
        }
        for (;;) {
            std::size_t best_at = 0;
            Token best = no_token;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
                const auto found = ranks_.find(parts[i] + parts[i + 1]);
                if (found != ranks_.end() && found->second < best)
                    best = found->second, best_at = i;
            }
            if (best == no_token) break;
            parts[best_at] += parts[best_at + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
        }
        for (const std::string& part : parts) out.push_back(ranks_.at(part));
    }

    std::vector<Branch> pattern_;
    std::map<std::string, Token> ranks_;
};

}  // namespace palimpsest
