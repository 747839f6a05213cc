#include "base/surrogates.h"

#include <charconv>

namespace palimpsest {
namespace {

constexpr std::size_t escape_bytes = 6;  // \u and four digits
enum class Half { none, high, low };

// What the escape at `at` stands for.
Half half_at(std::string_view json, std::size_t at) {
    const std::string_view escape = json.substr(std::min(at, json.size()), escape_bytes);
    if (escape.size() < escape_bytes || !escape.starts_with("\\u")) return Half::none;
    unsigned unit = 0;
    std::from_chars(escape.data() + 2, escape.data() + escape_bytes, unit, 16);
    if (unit < 0xd800 || unit > 0xdfff) return Half::none;
    return unit < 0xdc00 ? Half::high : Half::low;
}

// Where the first one is at or behind `from`; npos: there is none. `from` is not inside an escape.
std::size_t find_lone(std::string_view json, std::size_t from) {
    for (std::size_t at = json.find('\\', from); at < json.size(); at = json.find('\\', at)) {
        const Half half = half_at(json, at);
        if (half == Half::low) return at;
        if (half == Half::high && half_at(json, at + escape_bytes) != Half::low) return at;
        at += half == Half::high ? 2 * escape_bytes : 2;
    }
    return std::string_view::npos;
}

}  // namespace

bool has_lone_surrogates(std::string_view json) {
    return json.find("\\u") != std::string_view::npos &&
           find_lone(json, 0) != std::string_view::npos;
}

std::string without_lone_surrogates(std::string_view json) {
    std::string out(json);
    for (std::size_t at = find_lone(out, 0); at < out.size();
         at = find_lone(out, at + escape_bytes))
        out.replace(at, escape_bytes, "\\ufffd");
    return out;
}

}  // namespace palimpsest
