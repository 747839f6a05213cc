// The table of models. Where the numbers are from, as read on 2026-11-15:
//   prices    platform.claude.com (about-claude/pricing, models); developers.openai.com (pricing),
//   (pricing),
//             as github/docs repeats it (data/tables/copilot/models-and-pricing.yml); Gemini 2.x as
//             listed in 2025. For prompts that are not "long context". Where writing to the cache
//             costs nothing extra it has the price of input.
//   windows   the same providers' pages of models. Where only second-hand pages were found (GPT-5.5
//             and 5.6), the window is that of GPT-5, which is no larger.
//   images    the providers' guides to vision; held against recorded requests.
//   overheads recorded requests: see bench/token/eval_requests. Claude's documentation says 346
//             tokens for having tools, 313 if one is forced; the recordings agree for Sonnet 4, and
//             have about 497 and 590 for Sonnet 4.5 and 4.6 and Opus 4.6.
#include "token/models.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace palimpsest {
namespace {

constexpr Overheads gpt4 = {};
constexpr Overheads think = {.per_request = 2,
                             .per_call = 10,
                             .tools = 90,
                             .flat_tools = 8,
                             .tools_system = 0,
                             .per_typed_tool = 0,
                             .joins_calls = false};
constexpr Overheads claude = {.per_request = 3,
                              .per_message = 4,
                              .role = 0,
                              .per_call = 30,
                              .per_result = 20,
                              .tools = 346,
                              .forced = -33,
                              .tools_system = 0,
                              .per_typed_tool = 0,
                              .joins_calls = false};
constexpr Overheads claude45 = {.per_request = 3,
                                .per_message = 4,
                                .role = 0,
                                .per_call = 30,
                                .per_result = 20,
                                .tools = 497,
                                .forced = 93,
                                .tools_system = 0,
                                .per_typed_tool = 0,
                                .joins_calls = false};
constexpr Overheads gemini = {.per_request = 1,
                              .per_message = 0,
                              .role = 0,
                              .per_call = 10,
                              .tools = 20,
                              .tools_system = 0,
                              .per_typed_tool = 0,
                              .joins_calls = false};

using Kind = ImageRule::Kind;
constexpr ImageRule tiles4 = {};
constexpr ImageRule tiles_mini = {Kind::tiles, 2833, 5667};
constexpr ImageRule tiles5 = {Kind::tiles, 70, 140};
constexpr ImageRule tiles_o = {Kind::tiles, 75, 150};
constexpr ImageRule p_mini = {Kind::patches, 0, 0, 162};
constexpr ImageRule p_nano = {Kind::patches, 0, 0, 246};
constexpr ImageRule p_o4 = {Kind::patches, 0, 0, 172};
constexpr ImageRule area = {.kind = Kind::area, .per_page = 2000};
constexpr ImageRule fixed = {.kind = Kind::fixed, .base = 258, .per_page = 258};

constexpr CacheRule self = {.least_tokens = 1024, .step_tokens = 128};
constexpr CacheRule timed = {.least_tokens = 1024, .lifetime_s = 1800};
constexpr CacheRule mark = {.least_tokens = 1024, .marked = true};
constexpr CacheRule mark4k = {.least_tokens = 4096, .marked = true};
constexpr CacheRule none = {};

constexpr std::uint32_t k = 1000, m = 1000000, kk = 128 * k, gpt41 = 1047576, gem = 1048576;
constexpr std::string_view o200k = "o200k_base", cl100k = "cl100k_base";

// clang-format off
constexpr ModelSpec written[] = {
    // name, encoding, exact, window, output, overheads, images, {in, cached, write, out}, cache
    {"gpt-3.5-turbo", cl100k, true, 16385, 4096, gpt4, tiles4, {.5, -1, -1, 1.5}, none},
    {"gpt-4", cl100k, true, 8192, 8192, gpt4, tiles4, {30, -1, -1, 60}, none},
    {"gpt-4-turbo", cl100k, true, 128 * k, 4096, gpt4, tiles4, {10, -1, -1, 30}, none},
    {"gpt-4o", o200k, true, 128 * k, 16384, gpt4, tiles4, {2.5, 1.25, 2.5, 10}, self},
    {"gpt-4o-mini", o200k, true, 128 * k, 16384, gpt4, tiles_mini, {.15, .075, .15, .6}, self},
    {"gpt-4.1", o200k, true, gpt41, 32768, gpt4, tiles4, {2, .5, 2, 8}, self},
    {"gpt-4.1-mini", o200k, true, gpt41, 32768, gpt4, p_mini, {.4, .1, .4, 1.6}, self},
    {"gpt-4.1-nano", o200k, true, gpt41, 32768, gpt4, p_nano, {.1, .025, .1, .4}, self},
    {"gpt-4.5", o200k, true, 128 * k, 16384, gpt4, tiles4, {75, 37.5, 75, 150}, self},
    {"o1", o200k, true, 200 * k, 100 * k, think, tiles_o, {15, 7.5, 15, 60}, self},
    {"o1-mini", o200k, true, 128 * k, 65536, think, tiles_o, {1.1, .55, 1.1, 4.4}, self},
    {"o1-preview", o200k, true, 128 * k, 32768, think, tiles_o, {15, 7.5, 15, 60}, self},
    {"o1-pro", o200k, true, 200 * k, 100 * k, think, tiles_o, {150, -1, -1, 600}, none},
    {"o3", o200k, true, 200 * k, 100 * k, think, tiles_o, {2, .5, 2, 8}, self},
    {"o3-pro", o200k, true, 200 * k, 100 * k, think, tiles_o, {20, -1, -1, 80}, none},
    {"o3-mini", o200k, true, 200 * k, 100 * k, think, tiles_o, {1.1, .55, 1.1, 4.4}, self},
    {"o4-mini", o200k, true, 200 * k, 100 * k, think, p_o4, {1.1, .275, 1.1, 4.4}, self},
    {"gpt-5", o200k, true, 400 * k, kk, think, tiles5, {1.25, .125, 1.25, 10}, self},
    {"gpt-5-chat", o200k, true, 128 * k, 16384, think, tiles5, {1.25, .125, 1.25, 10}, self},
    {"gpt-5-pro", o200k, true, 400 * k, 272 * k, think, tiles5, {15, -1, -1, 120}, none},
    {"gpt-5-mini", o200k, true, 400 * k, kk, think, p_mini, {.25, .025, .25, 2}, self},
    {"gpt-5-nano", o200k, true, 400 * k, kk, think, p_nano, {.05, .005, .05, .4}, self},
    {"gpt-5.2", o200k, true, 400 * k, kk, think, tiles5, {1.75, .175, 1.75, 14}, self},
    {"gpt-5.3", o200k, true, 400 * k, kk, think, tiles5, {1.75, .175, 1.75, 14}, self},
    {"gpt-5.4", o200k, true, 1050 * k, kk, think, tiles5, {2.5, .25, 2.5, 15}, self},
    {"gpt-5.4-mini", o200k, true, 400 * k, kk, think, p_mini, {.75, .075, .75, 4.5}, self},
    {"gpt-5.4-nano", o200k, true, 400 * k, kk, think, p_nano, {.2, .02, .2, 1.25}, self},
    {"gpt-5.5", o200k, true, 400 * k, kk, think, tiles5, {5, .5, 5, 30}, self},
    {"gpt-5.6", o200k, true, 400 * k, kk, think, tiles5, {5, .5, 6.25, 30}, timed},
    {"gpt-5.6-terra", o200k, true, 400 * k, kk, think, tiles5, {2, .2, 2.5, 12}, timed},
    {"gpt-5.6-luna", o200k, true, 400 * k, kk, think, p_mini, {.2, .02, .25, 1.2}, timed},
    {"gpt-oss", "o200k_harmony", true, 131072, 131072, think, tiles5, {}, none},
    {"claude", o200k, false, 200 * k, 8192, claude, area, {3, .3, 3.75, 15}, mark},
    {"claude-3-haiku", o200k, false, 200 * k, 4096, claude, area, {.25, .03, .3, 1.25}, mark4k},
    {"claude-3-opus", o200k, false, 200 * k, 4096, claude, area, {15, 1.5, 18.75, 75}, mark},
    {"claude-3-5-haiku", o200k, false, 200 * k, 8192, claude, area, {.8, .08, 1, 4}, mark4k},
    {"claude-3-7-sonnet", o200k, false, 200 * k, 64 * k, claude, area, {3, .3, 3.75, 15}, mark},
    {"claude-sonnet-4", o200k, false, 200 * k, 64 * k, claude, area, {3, .3, 3.75, 15}, mark},
    {"claude-sonnet-4-5", o200k, false, 200 * k, 64 * k, claude45, area, {3, .3, 3.75, 15}, mark},
    {"claude-sonnet-4-6", o200k, false, m, 64 * k, claude45, area, {3, .3, 3.75, 15}, mark},
    {"claude-sonnet-5", o200k, false, m, kk, claude45, area, {2, .2, 2.5, 10}, mark},
    {"claude-opus-4", o200k, false, 200 * k, 32 * k, claude, area, {15, 1.5, 18.75, 75}, mark},
    {"claude-opus-4-5", o200k, false, 200 * k, 64 * k, claude45, area, {5, .5, 6.25, 25}, mark4k},
    {"claude-opus-4-6", o200k, false, m, kk, claude45, area, {5, .5, 6.25, 25}, mark4k},
    {"claude-opus-4-7", o200k, false, m, kk, claude45, area, {5, .5, 6.25, 25}, mark4k},
    {"claude-opus-4-8", o200k, false, m, kk, claude45, area, {5, .5, 6.25, 25}, mark4k},
    {"claude-opus-5", o200k, false, m, kk, claude, area, {5, .5, 6.25, 25}, mark4k},
    {"claude-opus-5-5", o200k, false, m, kk, claude, area, {4, .4, 5, 20}, mark4k},
    {"claude-fable-5", o200k, false, m, kk, claude, area, {10, 1, 12.5, 50}, mark4k},
    {"claude-haiku-4", o200k, false, 200 * k, 64 * k, claude, area, {1, .1, 1.25, 5}, mark4k},
    {"gemini", o200k, false, gem, 65536, gemini, fixed, {}, self},
    {"gemini-2.0-flash", o200k, false, gem, 8192, gemini, fixed, {.1, .025, .1, .4}, self},
    {"gemini-2.5-flash", o200k, false, gem, 65536, gemini, fixed, {.3, .075, .3, 2.5}, self},
    {"gemini-2.5-pro", o200k, false, gem, 65536, gemini, fixed, {1.25, .31, 1.25, 10}, self},
    {"gemini-3.1-pro", o200k, false, gem, 65536, gemini, fixed, {2, .2, 2, 12}, self},
    {"gemini-3.5-flash", o200k, false, gem, 65536, gemini, fixed, {1.5, .15, 1.5, 9}, self},
    {"echo", o200k, true, m, m, {}, tiles4, {0, 0, 0, 0}, none},
};
// clang-format on

// Anthropic's requests must name a limit for the answer; the one that is put in where nobody named
// one is the model's own, so as much of the window is not free.
constexpr auto models = [] {
    std::array<ModelSpec, std::size(written)> rows;
    std::ranges::copy(written, rows.begin());
    for (ModelSpec& row : rows)
        if (row.name.starts_with("claude")) row.reply_tokens = row.output_tokens;
    return rows;
}();

// A model that nobody has heard of: a small window and an old, wasteful vocabulary.
constexpr ModelSpec unknown = {"", cl100k, false, 8192, 1024, gpt4, tiles4, {}, none};

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
