// citations: links to what the words of an answer rest on. Formats put them in different places;
// here they are read from any and given to the one that writes. Pure.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_write.h"
#include "format/neutral.h"

namespace palimpsest {

struct Citation {
    std::string url = {}, title = {};
    std::size_t start = 0, end = 0;  // the words, in characters of the whole text
};

// Those of a text part that begins at character `start`. False: some of them are no links.
bool read_citations(const NeutralPart& part, std::size_t start, std::vector<Citation>& into);

// "start_index", "end_index", "title", "url": what OpenAI's formats say of each.
void write_citation(JsonWriter& out, const Citation& citation);

std::size_t count_characters(std::string_view text);

}  // namespace palimpsest
