#include "token/models.h"

namespace palimpsest {
namespace {

constexpr Overheads gpt4 = {};
constexpr Overheads reasoning = {.per_request = 2,
                                 .per_call = 10,
                                 .tools = 90,
                                 .tools_system = 0,
                                 .per_typed_tool = 0,
                                 .joins_calls = false};
constexpr Overheads claude = {.per_request = 3,
                              .per_message = 4,
                              .per_call = 30,
                              .per_result = 20,
                              .tools = 346,
                              .tools_system = 0,
                              .per_typed_tool = 0,
                              .joins_calls = false};
constexpr Overheads gemini = {.per_request = 1,
                              .per_message = 0,
                              .per_call = 10,
                              .tools = 20,
                              .tools_system = 0,
                              .per_typed_tool = 0,
                              .joins_calls = false};

using Kind = ImageRule::Kind;
constexpr ImageRule tiles_4o = {};
constexpr ImageRule tiles_mini = {Kind::tiles, 2833, 5667};
constexpr ImageRule tiles_5 = {Kind::tiles, 70, 140};
constexpr ImageRule tiles_o = {Kind::tiles, 75, 150};
constexpr ImageRule patches_mini = {Kind::patches, 0, 0, 162};
constexpr ImageRule patches_nano = {Kind::patches, 0, 0, 246};
constexpr ImageRule patches_o4 = {Kind::patches, 0, 0, 172};
constexpr ImageRule by_area = {Kind::area};
constexpr ImageRule per_image = {Kind::fixed, 258};

constexpr CacheRule automatic = {.least_tokens = 1024, .step_tokens = 128};
constexpr CacheRule marked = {.least_tokens = 1024, .marked = true};
constexpr CacheRule none = {};

constexpr std::uint32_t k = 1000, m = 1000000;

// Prices: what the providers listed in 2025.
constexpr ModelSpec models[] = {
    // name, encoding, exact, window, output, overheads, images, {in, cached, write, out}, cache
    {"gpt-3.5-turbo", "cl100k_base", true, 16385, 4096, gpt4, tiles_4o, {.5, -1, -1, 1.5}, none},
    {"gpt-4", "cl100k_base", true, 8192, 8192, gpt4, tiles_4o, {30, -1, -1, 60}, none},
    {"gpt-4-turbo", "cl100k_base", true, 128 * k, 4096, gpt4, tiles_4o, {10, -1, -1, 30}, none},
    {"gpt-4o", "o200k_base", true, 128 * k, 16384, gpt4, tiles_4o, {2.5, 1.25, 2.5, 10}, automatic},
    {"gpt-4o-mini",
     "o200k_base",
     true,
     128 * k,
     16384,
     gpt4,
     tiles_mini,
     {.15, .075, .15, .6},
     automatic},
    {"gpt-4.1", "o200k_base", true, 1047576, 32768, gpt4, tiles_4o, {2, .5, 2, 8}, automatic},
    {"gpt-4.1-mini",
     "o200k_base",
     true,
     1047576,
     32768,
     gpt4,
     patches_mini,
     {.4, .1, .4, 1.6},
     automatic},
    {"gpt-4.1-nano",
     "o200k_base",
     true,
     1047576,
     32768,
     gpt4,
     patches_nano,
     {.1, .025, .1, .4},
     automatic},
    {"o1", "o200k_base", true, 200 * k, 100 * k, reasoning, tiles_o, {15, 7.5, 15, 60}, automatic},
    {"o3", "o200k_base", true, 200 * k, 100 * k, reasoning, tiles_o, {2, .5, 2, 8}, automatic},
    {"o3-mini",
     "o200k_base",
     true,
     200 * k,
     100 * k,
     reasoning,
     tiles_o,
     {1.1, .55, 1.1, 4.4},
     automatic},
    {"o4-mini",
     "o200k_base",
     true,
     200 * k,
     100 * k,
     reasoning,
     patches_o4,
     {1.1, .275, 1.1, 4.4},
     automatic},
    {"gpt-5",
     "o200k_base",
     true,
     400 * k,
     128 * k,
     reasoning,
     tiles_5,
     {1.25, .125, 1.25, 10},
     automatic},
    {"gpt-5-mini",
     "o200k_base",
     true,
     400 * k,
     128 * k,
     reasoning,
     patches_mini,
     {.25, .025, .25, 2},
     automatic},
    {"gpt-5-nano",
     "o200k_base",
     true,
     400 * k,
     128 * k,
     reasoning,
     patches_nano,
     {.05, .005, .05, .4},
     automatic},
    {"gpt-oss", "o200k_harmony", true, 131072, 131072, reasoning, tiles_5, {}, none},
    {"claude", "o200k_base", false, 200 * k, 8192, claude, by_area, {3, .3, 3.75, 15}, marked},
    {"claude-3-5-haiku",
     "o200k_base",
     false,
     200 * k,
     8192,
     claude,
     by_area,
     {.8, .08, 1, 4},
     marked},
    {"claude-3-7-sonnet",
     "o200k_base",
     false,
     200 * k,
     64 * k,
     claude,
     by_area,
     {3, .3, 3.75, 15},
     marked},
    {"claude-sonnet-4",
     "o200k_base",
     false,
     200 * k,
     64 * k,
     claude,
     by_area,
     {3, .3, 3.75, 15},
     marked},
    {"claude-opus-4",
     "o200k_base",
     false,
     200 * k,
     32 * k,
     claude,
     by_area,
     {15, 1.5, 18.75, 75},
     marked},
    {"claude-haiku-4",
     "o200k_base",
     false,
     200 * k,
     64 * k,
     claude,
     by_area,
     {1, .1, 1.25, 5},
     marked},
    {"gemini", "o200k_base", false, 1048576, 65536, gemini, per_image, {}, automatic},
    {"gemini-2.0-flash",
     "o200k_base",
     false,
     1048576,
     8192,
     gemini,
     per_image,
     {.1, .025, .1, .4},
     automatic},
    {"gemini-2.5-flash",
     "o200k_base",
     false,
     1048576,
     65536,
     gemini,
     per_image,
     {.3, .075, .3, 2.5},
     automatic},
    {"gemini-2.5-pro",
     "o200k_base",
     false,
     1048576,
     65536,
     gemini,
     per_image,
     {1.25, .31, 1.25, 10},
     automatic},
    {"echo", "o200k_base", true, m, m, {}, tiles_4o, {0, 0, 0, 0}, none},
};

// A model that nobody has heard of: a small window and an old, wasteful vocabulary.
constexpr ModelSpec unknown = {"", "cl100k_base", false, 8192, 1024, gpt4, tiles_4o, {}, none};

}  // namespace

std::span<const ModelSpec> model_table() {
    return models;
}

ModelMatch find_model(std::string_view name, std::span<const ModelSpec> table) {
    ModelMatch best{&unknown, false};
    for (const ModelSpec& spec : table)
        if (name.starts_with(spec.name) &&
            (!best.known || spec.name.size() > best.spec->name.size()))
            best = {&spec, true};
    return best;
}

}  // namespace palimpsest
