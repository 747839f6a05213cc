#include "core/identifiers.h"

#include <algorithm>
#include <unordered_set>

namespace palimpsest {
namespace {

constexpr std::size_t text_bytes_max = 256 * 1024;  // Further on, an identifier is one of too many.
constexpr std::size_t identifier_bytes_max = 120;

bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_inner(char c) {  // joins pieces of one identifier
    return c == '_' || c == '-' || c == '.' || c == '/' || c == ':' || c == '@' || c == '#' ||
           c == '+' || c == '~';
}
bool is_word(char c) {
    return is_upper(c) || is_lower(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::string_view trimmed(std::string_view word) {
    const auto drop = [](char c) { return c == '.' || c == ':' || c == '-' || c == '#'; };
    while (!word.empty() && drop(word.back())) word.remove_suffix(1);
    while (!word.empty() && (drop(word.front()) && word.front() != '#')) word.remove_prefix(1);
    return word;
}

// The name of a JSON field: it says what follows and identifies nothing.
bool is_key(std::string_view text, std::size_t end) {
    return text.substr(end).starts_with("\":");
}

struct Found {
    std::string_view word;
    int weight = 0;
    std::size_t at = 0;
};

std::vector<Found> all_identifiers(std::string_view text) {
    std::vector<Found> found;
    std::unordered_set<std::string_view> seen;
    std::size_t at = 0;
    while (at < text.size()) {
        if (!is_word(text[at]) && text[at] != '/' && text[at] != '~' && text[at] != '#') {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && (is_word(text[end]) || is_inner(text[end]))) ++end;
        const std::string_view word = trimmed(text.substr(at, end - at));
        const int weight = identifier_weight(word);
        if (weight > 0 && !is_key(text, end) && seen.insert(word).second)
            found.push_back({word, weight, at});
        at = std::max(end, at + 1);
    }
    return found;
}

}  // namespace

int identifier_weight(std::string_view word) {
    std::size_t digits = 0, letters = 0, marks = 0, uppers = 0;
    for (const char c : word) {
        digits += is_digit(c) ? 1 : 0;
        letters += is_upper(c) || is_lower(c) ? 1 : 0;
        uppers += is_upper(c) ? 1 : 0;
        marks += c == '_' || c == '/' || c == '@' ? 1 : 0;
    }
    if (word.size() > identifier_bytes_max) return 0;
    if (digits > 0 && letters > 0 && word.size() >= 4) return 4;
    if (marks > 0 && letters > 2) return 4;
    if (digits >= 4) return 3;
    if (uppers > 1 && letters > 3 && uppers < letters) return 2;
    if (uppers >= 1 && is_upper(word.front()) && letters >= 4) return 1;
    return 0;
}

std::vector<std::string_view> find_identifiers(std::string_view text, std::size_t most) {
    if (most == 0) return {};
    std::vector<Found> found = all_identifiers(text.substr(0, text_bytes_max));
    if (found.size() > most) {
        std::ranges::stable_sort(found, std::greater<>(), &Found::weight);
        found.resize(most);
        std::ranges::sort(found, {}, &Found::at);
    }
    std::vector<std::string_view> out;
    for (const Found& one : found) out.push_back(one.word);
    return out;
}

}  // namespace palimpsest
