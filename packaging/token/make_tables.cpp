// make_tables: compiles rank files into the tables that src/token/ embeds. Runs at build time.
//   make_tables vocabulary IN.tiktoken OUT     (format: src/token/table_layout.h)
//   make_tables classes OUT                    (from src/token/unicode_ranges.h)
// Refuses a vocabulary with a token that merging its bytes does not produce: the backtracking
// encoder relies on it.
#include "token/table_layout.h"
#include "token/unicode_ranges.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace palimpsest {
namespace {

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "make_tables: %s\n", why.c_str());
    std::exit(1);
}

using Ranks = std::unordered_map<std::string, Token>;

std::string decode_base64(std::string_view text) {
    std::string out;
    std::uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        constexpr std::string_view alphabet =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::size_t value = alphabet.find(c);
        if (value == std::string_view::npos) break;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out.push_back(static_cast<char>(bits >> have & 255));
    }
    return out;
}

std::vector<std::string> read_ranks(const std::string& path) {
    std::ifstream in(path);
    if (!in) stop("cannot read " + path);
    std::vector<std::string> tokens;
    for (std::string line; std::getline(in, line);) {
        const std::size_t blank = line.find(' ');
        if (blank == std::string::npos) continue;
        const std::size_t rank = std::stoul(line.substr(blank + 1));
        if (tokens.size() <= rank) tokens.resize(rank + 1);
        tokens[rank] = decode_base64(std::string_view(line).substr(0, blank));
    }
    if (tokens.size() >= no_token) stop("too many tokens in " + path);
    return tokens;
}

// The last merge that makes `text` out of its bytes.
struct Split {
    Token left = no_token, right = no_token;
};
Split split_of(const std::string& text, const Ranks& ranks) {
    std::vector<std::string> parts;
    for (const char c : text) parts.emplace_back(1, c);
    while (parts.size() > 2) {
        Token best = no_token;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto found = ranks.find(parts[i] + parts[i + 1]);
            if (found != ranks.end() && found->second < best) best = found->second, at = i;
        }
        if (best == no_token) return {};
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return {ranks.at(parts.front()), ranks.at(parts.back())};
}

// A double array filled level by level; `free_` links the unused units in order.
class TrieBuilder {
public:
    std::vector<std::uint64_t> build(const std::vector<std::pair<std::string, Token>>& sorted) {
        grow(1 << 16);
        take(0);
        struct Job {
            std::uint32_t unit = 0;
            std::size_t from = 0, to = 0, depth = 0;
        };
        std::vector<Job> jobs{{0, 0, sorted.size(), 0}};
        while (!jobs.empty()) {
            Job job = jobs.back();
            jobs.pop_back();
            while (job.from < job.to && sorted[job.from].first.size() == job.depth)
                token_[job.unit] = sorted[job.from++].second;
            std::vector<std::uint8_t> labels;
            std::vector<std::size_t> at;
            for (std::size_t i = job.from; i < job.to; ++i) {
                const auto label = static_cast<std::uint8_t>(sorted[i].first[job.depth]);
                if (labels.empty() || labels.back() != label)
                    labels.push_back(label), at.push_back(i);
            }
            at.push_back(job.to);
            if (labels.empty()) continue;
            const std::uint32_t base = place(labels, job.unit);
            base_[job.unit] = base;
            for (std::size_t k = 0; k < labels.size(); ++k) {
                const std::uint32_t child = base + labels[k];
                take(child);
                parent_[child] = job.unit;
                jobs.push_back({child, at[k], at[k + 1], job.depth + 1});
            }
        }
        return packed();
    }

private:
    static constexpr std::uint32_t none = 0x3FFFFF;
    std::vector<std::uint32_t> base_, parent_, next_, previous_;
    std::vector<Token> token_;
    std::vector<bool> used_;
    std::uint32_t first_free_ = none, last_free_ = none, top_ = 0;

    void grow(std::uint32_t size) {
        const auto old = static_cast<std::uint32_t>(used_.size());
        base_.resize(size, 0), parent_.resize(size, none), token_.resize(size, no_token);
        used_.resize(size, false), next_.resize(size, none), previous_.resize(size, none);
        for (std::uint32_t i = old; i < size; ++i) {
            previous_[i] = last_free_;
            (last_free_ == none ? first_free_ : next_[last_free_]) = i;
            last_free_ = i;
        }
    }
    void take(std::uint32_t unit) {
        used_[unit] = true;
        top_ = std::max(top_, unit);
        const std::uint32_t before = previous_[unit], after = next_[unit];
        (before == none ? first_free_ : next_[before]) = after;
        (after == none ? last_free_ : previous_[after]) = before;
    }
    bool fits(const std::vector<std::uint8_t>& labels, std::uint32_t unit) const {
        if (unit <= labels.front()) return false;
        const std::uint32_t base = unit - labels.front();
        return std::ranges::none_of(labels, [&](std::uint8_t b) { return used_[base + b]; });
    }
    // Next fit from the parent on, so that a walk stays in few cache lines; a node that finds no
    // place within `tries` free units goes to the end.
    std::uint32_t place(const std::vector<std::uint8_t>& labels, std::uint32_t parent) {
        constexpr int tries = 400;
        if (top_ + 1024 > used_.size()) grow(static_cast<std::uint32_t>(used_.size()) + (1 << 16));
        std::uint32_t unit = parent & ~7u;
        while (used_[unit]) ++unit;
        for (int i = 0; i < tries && unit + 512 < used_.size(); ++i, unit = next_[unit])
            if (fits(labels, unit)) return unit - labels.front();
        for (unit = std::max(top_, 256u) + 1; !fits(labels, unit);) ++unit;
        return unit - labels.front();
    }
    std::vector<std::uint64_t> packed() const {
        std::vector<std::uint64_t> units(top_ + 257);
        if (units.size() > none) stop("the trie is too large for its format");
        for (std::size_t i = 0; i < units.size(); ++i) {
            const bool there = i < used_.size() && used_[i];
            units[i] = (there ? base_[i] : 0) | std::uint64_t{there ? parent_[i] : none} << 22 |
                       std::uint64_t{there ? token_[i] : no_token} << 44;
        }
        return units;
    }
};

struct Tables {
    std::vector<std::uint64_t> trie, tokens, pairs;
    std::vector<std::uint32_t> prefixes, starts;
    std::string bytes;
    std::uint32_t pair_bits = 0, filter_bits = 0;
    std::vector<std::uint64_t> filter;
};

void add_pair(Tables& tables, std::uint64_t key, Token merged) {
    const auto mask = static_cast<std::uint32_t>(tables.pairs.size() - 1);
    std::uint32_t slot = pair_slot(key, tables.pair_bits);
    while (tables.pairs[slot] != free_pair) slot = (slot + 1) & mask;
    tables.pairs[slot] = key | std::uint64_t{merged} << 40;
    const std::uint32_t bit = filter_bit(key, tables.filter_bits);
    tables.filter[bit / 64] |= std::uint64_t{1} << (bit % 64);
}

// The longest token that is a proper prefix, with its length.
std::uint32_t prefix_of(const std::string& text, const Ranks& ranks) {
    for (std::size_t n = text.size(); n > 1;) {
        const auto found = ranks.find(text.substr(0, --n));
        if (found != ranks.end()) return found->second | static_cast<std::uint32_t>(n) << 20;
    }
    return no_token;
}

Tables compile(const std::vector<std::string>& tokens) {
    Ranks ranks;
    std::vector<std::pair<std::string, Token>> sorted;
    for (Token id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty()) ranks.emplace(tokens[id], id), sorted.emplace_back(tokens[id], id);
    std::ranges::sort(sorted);
    Tables tables;
    for (tables.pair_bits = 8; (2u << tables.pair_bits) < 3 * tokens.size();) ++tables.pair_bits;
    tables.pairs.assign(std::size_t{1} << tables.pair_bits, free_pair);
    tables.filter_bits = tables.pair_bits + 2;
    tables.filter.assign((std::size_t{1} << tables.filter_bits) / 64, 0);
    for (Token id = 0; id < tokens.size(); ++id) {
        const std::string& text = tokens[id];
        tables.starts.push_back(static_cast<std::uint32_t>(tables.bytes.size()));
        tables.bytes += text;
        Split split{id, id};
        if (text.size() > 1) split = split_of(text, ranks);
        if (split.left == no_token || text.size() > 255)
            stop("token " + std::to_string(id) + " is not made by merging its bytes");
        if (text.size() > 1) add_pair(tables, pair_key(split.left, split.right), id);
        tables.tokens.push_back(pair_key(split.left, split.right) | std::uint64_t{text.size()}
                                                                        << 40);
        tables.prefixes.push_back(prefix_of(text, ranks));
    }
    tables.starts.push_back(static_cast<std::uint32_t>(tables.bytes.size()));
    tables.trie = TrieBuilder().build(sorted);
    return tables;
}

template <class Section>
std::uint64_t put(std::string& out, const Section& section) {
    out.resize((out.size() + 63) / 64 * 64);
    const std::uint64_t at = out.size();
    out.append(reinterpret_cast<const char*>(section.data()),
               section.size() * sizeof(*section.data()));
    return at;
}

void save(const std::string& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) stop("cannot write " + path);
}

std::string serialise(const Tables& tables) {
    TableHeader header;
    std::string out(sizeof header, '\0');
    header.ids = static_cast<std::uint32_t>(tables.tokens.size());
    header.trie_units = static_cast<std::uint32_t>(tables.trie.size());
    header.pair_bits = tables.pair_bits;
    header.filter_bits = tables.filter_bits;
    header.trie_at = put(out, tables.trie);
    header.tokens_at = put(out, tables.tokens);
    header.prefixes_at = put(out, tables.prefixes);
    header.pairs_at = put(out, tables.pairs);
    header.filter_at = put(out, tables.filter);
    header.starts_at = put(out, tables.starts);
    header.bytes_at = put(out, tables.bytes);
    out.resize((out.size() + 63) / 64 * 64);
    header.size = out.size();
    std::memcpy(out.data(), &header, sizeof header);
    return out;
}

std::string classes() {
    std::string all(0x110000, '\0');
    for (std::size_t i = 0; i < std::size(unicode_ranges); ++i) {
        const std::size_t from = unicode_ranges[i] >> 4;
        const std::size_t to =
            i + 1 < std::size(unicode_ranges) ? unicode_ranges[i + 1] >> 4 : all.size();
        std::fill(all.begin() + static_cast<std::ptrdiff_t>(from),
                  all.begin() + static_cast<std::ptrdiff_t>(to),
                  static_cast<char>(unicode_ranges[i] & 15));
    }
    std::map<std::string, std::size_t> seen;
    std::string index, blocks;
    for (std::size_t at = 0; at < all.size(); at += 256) {
        const std::string block = all.substr(at, 256);
        const auto [found, is_new] = seen.emplace(block, seen.size());
        if (is_new) blocks += block;
        if (found->second > 255) stop("more than 256 distinct blocks of classes");
        index.push_back(static_cast<char>(found->second));
    }
    return index + blocks;
}

}  // namespace
}  // namespace palimpsest

int main(int argc, char** argv) {
    using namespace palimpsest;
    const std::vector<std::string> words(argv, argv + argc);
    if (words.size() == 4 && words[1] == "vocabulary")
        save(words[3], serialise(compile(read_ranks(words[2]))));
    else if (words.size() == 3 && words[1] == "classes")
        save(words[2], classes());
    else
        stop("usage: make_tables vocabulary IN.tiktoken OUT | make_tables classes OUT");
}
