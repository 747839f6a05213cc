// summarize: folds what is old into summaries that stand in its place.
//
// With `keep_turns` everything before the newest so many turns is folded; without, whole turns,
// oldest first, until the target would be met with the summary counted, and inside one long turn
// its oldest groups. Modes say how the folded part is divided:
//
//     whole       one summary for what stands together
//     rolling     one for each `batch` messages; what does not fill a batch stays
//     chunked     one for about `chunk_tokens` tokens each, divided where the topic changes
//     per_system  one for each part between system messages
//     tools       only tool exchanges, each run of them by itself
//     facts       as whole, sorted by the named `concepts`
//
// `from` folds only what was said since then and drops what is older. Older summaries are left as
// they are until they take more than a quarter of the target; then they are folded too, but for
// those that tell of more than they stand for.
#include <algorithm>
#include <set>

#include "base/time.h"
#include "core/bm25.h"
#include "core/pass.h"
#include "core/pass_parameters.h"
#include "core/summary.h"

namespace palimpsest {

Result<PassFunction> make_summarize(const JsonValue& parameters);

namespace {

constexpr std::string_view modes[] = {"whole",      "rolling", "chunked",
                                      "per_system", "tools",   "facts"};
constexpr std::uint32_t dress_tokens = 20;  // About: what a summary says about itself.

struct Options {
    std::optional<std::size_t> keep_turns = {};
    std::size_t batch = 20;
    std::size_t chunk_tokens = 4000;
    bool keep_first_user = false;
    double max_share = 0;  // of the window, where that is more than max_tokens
    std::optional<Time> from = {};
    SummaryOrder order = {};
};

using Groups = std::vector<std::size_t>;

std::uint64_t tokens_in(const PassInput& input, std::size_t g) {
    std::uint64_t sum = 0;
    for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i)
        sum += input.tokens[i];
    return sum;
}

const Item& first_item(const PassInput& input, std::size_t g) {
    return input.items[input.groups[g].first];
}

// Known without a look at the item itself, which would be far away.
bool is_summary(const PassInput& input, std::size_t g) {
    return input.treatments[input.groups[g].first] == Treatment::folded;
}

// Summaries are folded again only when they have become many.
bool refolds(const PassInput& input) {
    if (input.occasion->totals.summary_tokens == 0) return false;
    std::uint64_t summaries = 0;
    for (std::size_t g = 0; g < input.groups.size(); ++g)
        if (is_summary(input, g)) summaries += tokens_in(input, g);
    return summaries > (input.has_target ? input.target / 4 : input.used / 2);
}

Groups foldable(const PassInput& input, const Options& options) {
    const bool refold = refolds(input);
    const std::size_t first = first_user_start(input.items, input.groups);
    std::size_t border = input.groups.size();
    if (options.keep_turns && *options.keep_turns > 0)
        border = *options.keep_turns >= input.turns.size()
                     ? 0
                     : input.turns[input.turns.size() - *options.keep_turns].first;
    const bool exchanges_only = options.order.mode == "tools";
    Groups out;
    out.reserve(border);
    for (std::size_t g = 0; g < border; ++g) {
        if (input.shields[g] != Shield::none) continue;
        if (options.keep_first_user && g == first) continue;
        if (is_summary(input, g) && (!refold || tells_more(input.items, input.groups[g]))) continue;
        if (exchanges_only && !has_calls(input.items, input.groups[g])) continue;
        out.push_back(g);
    }
    return out;
}

// Leaves only as much of it, oldest turns first, as the target asks for.
void keep_oldest(const PassInput& input, Groups& all, const Options& options) {
    std::uint64_t used = input.used + options.order.max_tokens;
    std::size_t next = 0, stop = 0;  // stop: where the newest turn is cut; 0: not known yet
    for (const Turn& turn : input.turns) {
        if (used <= input.target) break;
        const bool newest = turn.last + 1 == input.groups.size();
        for (; next < all.size() && all[next] <= turn.last; ++next) {
            if (newest && used <= input.target) {
                if (stop == 0) stop = cut_at_thought(input, all[next]);
                if (all[next] >= stop) break;
            }
            used -= std::min(used, tokens_in(input, all[next]));
        }
    }
    all.resize(next);
}

std::vector<Groups> by_messages(const PassInput& input, const Groups& all, std::size_t batch) {
    std::vector<Groups> out(1);
    std::size_t messages = 0;
    for (const std::size_t g : all) {
        out.back().push_back(g);
        messages += input.groups[g].last - input.groups[g].first + 1;
        if (messages < batch) continue;
        out.emplace_back();
        messages = 0;
    }
    out.pop_back();  // Not full, or empty.
    return out;
}

// How much two groups have to do with each other: shared words by all words.
double likeness(const PassInput& input, std::size_t a, std::size_t b) {
    std::set<std::string> words[2];
    for (const auto& [n, g] : {std::pair{0, a}, std::pair{1, b}})
        for (std::size_t i = input.groups[g].first; i <= input.groups[g].last; ++i)
            for (std::string& word : search_words(flatten(input.items[i], *input.tools)))
                words[n].insert(std::move(word));
    std::size_t shared = 0;
    for (const std::string& word : words[0]) shared += words[1].contains(word) ? 1 : 0;
    const std::size_t total = words[0].size() + words[1].size() - shared;
    return total == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(total);
}

// Chunks of about that size; the border is, of the second half of a chunk, where neighbours have
// the least to do with each other.
std::vector<Groups> by_size(const PassInput& input, const Groups& all, std::size_t size) {
    std::vector<Groups> out;
    std::size_t from = 0;
    while (from < all.size()) {
        std::size_t to = from;
        std::uint64_t tokens = 0;
        std::size_t half = from;
        while (to < all.size() && (to == from || tokens + tokens_in(input, all[to]) <= size)) {
            tokens += tokens_in(input, all[to++]);
            if (tokens <= size / 2) half = to;
        }
        std::size_t cut = to;
        if (to < all.size()) {
            double least = 2;
            for (std::size_t n = std::max(half, from + 1); n <= to; ++n) {
                const double like = likeness(input, all[n - 1], all[n]);
                if (like > least) continue;
                least = like;
                cut = n;
            }
        }
        out.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(from),
                         all.begin() + static_cast<std::ptrdiff_t>(cut));
        from = cut;
    }
    return out;
}

// Runs of groups that stand next to each other: what is protected (pins, system messages) parts
// them, and each run has its own summary, in its place.
std::vector<Groups> by_runs(Groups all) {
    std::vector<Groups> out;
    if (all.back() - all.front() + 1 == all.size()) {
        out.push_back(std::move(all));
        return out;
    }
    for (auto from = all.begin(); from != all.end();) {
        const auto gap = std::adjacent_find(
            from, all.end(), [](std::size_t a, std::size_t b) { return a + 1 != b; });
        const auto to = gap == all.end() ? gap : std::next(gap);
        out.emplace_back(from, to);
        from = to;
    }
    return out;
}

std::vector<Groups> divide(const PassInput& input, Groups all, const Options& options) {
    const std::string& mode = options.order.mode;
    if (all.empty()) return {};
    if (mode == "rolling") return by_messages(input, all, options.batch);
    if (mode == "chunked") return by_size(input, all, options.chunk_tokens);
    return by_runs(std::move(all));
}

PassResult fold(const PassInput& given, Options options) {
    PassResult result;
    if (!given.tools) return result;
    const double window = static_cast<double>(given.occasion->budget.window);
    options.order.max_tokens =
        std::max(options.order.max_tokens, static_cast<std::uint32_t>(options.max_share * window));
    Groups all = foldable(given, options);
    PassInput input = given;
    if (!input.has_target) input.target = input.used / 2;
    if (!options.keep_turns && options.order.mode != "tools") keep_oldest(input, all, options);
    PlannedEdit older;
    older.reason = "before the time from which is summarised";
    if (options.from)
        std::erase_if(all, [&](std::size_t g) {
            const Time at = first_item(input, g).at;
            const bool old = at != Time{} && at < *options.from;  // Of unknown time: not older.
            if (old) older.groups.push_back(g);
            return old;
        });
    for (Groups& part : divide(input, std::move(all), options)) {
        // A summary by itself is as short as it gets.
        if (part.size() == 1 && is_summary(input, part[0])) continue;
        // No more than decides how long the summary may be.
        const std::uint64_t enough = 2 * (std::uint64_t{options.order.max_tokens} + dress_tokens);
        std::uint64_t before = 0;
        for (std::size_t n = 0; n < part.size() && before < enough; ++n)
            before += tokens_in(input, part[n]);
        PlannedEdit edit;
        edit.treatment = Treatment::folded;
        edit.reason = "folded into a summary";
        auto order = std::make_shared<SummaryOrder>(options.order);
        // Never more than two thirds of what it stands for; what is too small for that stays.
        order->max_tokens = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(options.order.max_tokens, before - before / 3));
        edit.tokens_after = order->max_tokens + dress_tokens;
        edit.summary = std::move(order);
        if (edit.tokens_after >= before) continue;
        edit.groups = std::move(part);
        result.edits.push_back(std::move(edit));
    }
    if (!older.groups.empty()) result.edits.push_back(std::move(older));
    result.not_enough_history = result.edits.empty();
    return result;
}

Result<SummaryOrder> read_order(const JsonValue& parameters) {
    SummaryOrder order;
    PAL_TRY(mode, text_field(parameters, "mode"));
    PAL_TRY(most, count_field(parameters, "max_tokens"));
    PAL_TRY(model, text_field(parameters, "model"));
    PAL_TRY(prefix, text_field(parameters, "prefix"));
    PAL_TRY(instructions, text_field(parameters, "instructions"));
    PAL_TRY(concepts, texts_field(parameters, "concepts"));
    order.mode = mode.value_or("whole");
    if (std::ranges::find(modes, order.mode) == std::end(modes))
        return fail(ErrorCode::invalid_request,
                    "there is no mode \"" + order.mode +
                        "\" of summarize; there are whole, rolling, chunked, per_system, tools "
                        "and facts",
                    "mode");
    if ((order.mode == "facts") != !concepts.empty())
        return fail(ErrorCode::invalid_request,
                    "the mode \"facts\" and a list \"concepts\" go together", "concepts");
    order.max_tokens =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(most.value_or(300), 1, UINT32_MAX));
    order.model = model.value_or("");
    order.prefix = prefix.value_or("[summary]");
    order.instructions = instructions.value_or("");
    order.concepts = std::move(concepts);
    return order;
}

}  // namespace

Result<PassFunction> make_summarize(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(
        parameters, {"mode", "keep_turns", "max_tokens", "model", "prefix", "instructions",
                     "concepts", "batch", "chunk_tokens", "keep_first_user", "from", "max_share"}));
    Options options;
    PAL_TRY(order, read_order(parameters));
    PAL_TRY(keep, count_field(parameters, "keep_turns"));
    PAL_TRY(batch, positive_field(parameters, "batch"));
    PAL_TRY(chunk, positive_field(parameters, "chunk_tokens"));
    PAL_TRY(share, share_field(parameters, "max_share"));
    PAL_TRY(first, flag_field(parameters, "keep_first_user"));
    PAL_TRY(from, text_field(parameters, "from"));
    options.order = std::move(order);
    options.keep_turns = keep;
    options.batch = batch.value_or(options.batch);
    options.chunk_tokens = chunk.value_or(options.chunk_tokens);
    options.max_share = share.value_or(0);
    options.keep_first_user = first.value_or(false);
    if (from) {
        PAL_TRY(time, under("from", parse_time(*from)));
        options.from = time;
    }
    return PassFunction([options](const PassInput& input) { return fold(input, options); });
}

}  // namespace palimpsest
