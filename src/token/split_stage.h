// The steps by which a tokenizer.json cuts a text: each finds matches of one regular expression in
// every part that the step before has left, and cuts before and after each match. The expressions
// of split.h match everywhere; the others leave gaps, which are parts of their own.
#pragma once
#include "token/split.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace palimpsest {

enum class Stage : std::uint8_t {
    o200k,
    cl100k,
    qwen,
    r50k,
    digits,          // \p{N}{1,3}
    cjk,             // [一-龥぀-ゟ゠-ヿ]+
    deepseek_words,  // the third expression of DeepSeek V3
};

// The stage of a regular expression as it is spelled in such files, if it is known.
std::optional<Stage> find_stage(std::string_view regex);

// The parts of a text that is UTF-8, in order.
std::vector<std::string_view> split_stages(std::string_view text, std::span<const Stage> stages);

}  // namespace palimpsest
