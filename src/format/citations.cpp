#include "format/citations.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "format/fields.h"

namespace palimpsest {
namespace {

// {"url","title",...}, or the same inside of "url_citation".
std::optional<Citation> read_one(JsonValue json) {
    const auto inner = json.find("url_citation");
    const JsonValue link = inner ? *inner : json;
    Citation citation{.url = std::string(any_string(link, "url")),
                      .title = std::string(any_string(link, "title"))};
    return citation.url.empty() ? std::nullopt : std::optional(std::move(citation));
}

}  // namespace

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool read_citations(const NeutralPart& part, std::size_t start, std::vector<Citation>& into) {
    const auto document = parse_json(part.json);
    if (!document) return false;
    bool all = true;
    for (const std::string_view field : {"citations", "annotations"}) {
        const auto list = document->root().find(field);
        if (!list) continue;
        for (const JsonValue one : list->elements()) {
            auto citation = read_one(one);
            all = all && citation;
            if (!citation) continue;
            citation->start = start;
            citation->end = start + count_characters(part.text);
            into.push_back(*std::move(citation));
        }
    }
    return all;
}

void write_citation(JsonWriter& out, const Citation& citation) {
    out.key("start_index").number(std::uint64_t{citation.start});
    out.key("end_index").number(std::uint64_t{citation.end});
    out.field("title", citation.title).field("url", citation.url);
}

}  // namespace palimpsest
