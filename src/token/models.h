// What we know about models: how they count, how much they take, what they cost. One table; the
// settings file may add rows or replace them. A name matches the row whose name it is, or else the
// row with the longest name that it begins with ("gpt-4o-2024-11-20" is gpt-4o).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace palimpsest {

// What a service adds to the text of a request, in tokens. Found by comparing our counts with the
// services' own; see bench/token/eval_requests.
struct Overheads {
    std::int32_t per_request = 3;      // The reply's first words.
    std::int32_t per_message = 3;      // Beside its role,
    std::int32_t role = 1;             // which has a token of its own.
    std::int32_t per_name = 1;         // Beside the name.
    std::int32_t per_call = 4;         // Beside name and arguments.
    std::int32_t per_result = 1;       // Beside the name of the tool and the content.
    std::int32_t tools = 9;            // Once, if there are tools,
    std::int32_t flat_tools = 3;       // the same in the Responses API,
    std::int32_t forced = 0;           // and if one of them must be called,
    std::int32_t tools_system = -4;    // and if there is a system message as well,
    std::int32_t per_typed_tool = -1;  // and for each tool that has parameters.
    std::int32_t schema = 1;           // Beside the schema of a structured reply.
    bool joins_calls = true;           // Two calls in one message are one call of a joining tool.
};

inline std::uint32_t around_message(const Overheads& added) {
    const std::int32_t tokens = added.per_message + added.role;
    return tokens > 0 ? static_cast<std::uint32_t>(tokens) : 0;
}

// How images are counted.
struct ImageRule {
    enum class Kind : std::uint8_t {
        tiles,    // base + per_tile for each 512-pixel square, after scaling to 768 pixels
        patches,  // 32-pixel squares, at most 1 536 after scaling, times `factor` / 100
        area,     // width * height / 750, at most 1 600 (after scaling to 1 568 pixels)
        fixed,    // `base`
    } kind = Kind::tiles;
    std::uint32_t base = 85, per_tile = 170, factor = 100;
    std::uint32_t per_page = 220;  // Of a PDF: about, as the text on it is not known.
    bool operator==(const ImageRule&) const = default;
};

// Dollars per million tokens; a negative price is not known.
struct Prices {
    double input = -1, cached = -1, cache_write = -1, output = -1;
};

// When a provider's prompt cache can be hit.
struct CacheRule {
    std::uint32_t least_tokens = 0;  // Shorter prefixes are not cached; 0: there is no cache.
    std::uint32_t step_tokens = 1;   // A hit is a multiple of this.
    std::uint32_t lifetime_s = 300;
    bool marked = false;  // Only up to a mark in the request.
};

struct ModelSpec {
    std::string_view name;
    std::string_view encoding = "o200k_base";
    bool exact = true;  // false: the vocabulary is not public; counts with `encoding` are estimates
    std::uint32_t window_tokens = 8192, output_tokens = 4096;
    Overheads overheads = {};
    ImageRule images = {};
    Prices prices = {};
    CacheRule cache = {};
    std::uint32_t reply_tokens = 0;  // Kept for the answer when a request names no limit.
};

std::span<const ModelSpec> model_table();

struct ModelMatch {
    const ModelSpec* spec = nullptr;  // Never null.
    bool known = true;                // false: the conservative default; warn once
};
ModelMatch find_model(std::string_view name, std::span<const ModelSpec> table = model_table());

}  // namespace palimpsest
