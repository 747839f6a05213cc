// The parts of a turn: where it starts from, what it leaves behind, and what is due afterwards.
#include <algorithm>

#include "base/time.h"
#include "engine/edit.h"
#include "engine/prices.h"
#include "engine/turn.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

constexpr std::uint32_t misses_told = 3;

Result<Header> head_or_empty(Store& store, const ConversationId& name) {
    auto header = store.head(name);
    if (header || header.error().code != ErrorCode::not_found) return header;
    Header empty;
    empty.name = name;
    return empty;
}

Result<Footing> footing_on(Memory::State& state, const HotViewPtr& view) {
    if (view->calls) return Footing{view, *view->calls};
    PAL_TRY(calls, read_calls(*state.store, view->header));
    return Footing{view, std::move(calls)};
}

// The facts of messages that are part of the same batch and therefore not in the store yet.
std::vector<MessageFact> facts_of(const Header& header, const std::vector<Said>& said) {
    std::vector<MessageFact> facts;
    for (std::size_t i = 0; i < said.size(); ++i)
        facts.push_back({header.end + i + 1, said[i].message.count.tokens});
    return facts;
}

// Where what was sent at two calls begins to differ, in the bytes of the messages one after the
// other; none: the first is the beginning of the second.
std::optional<std::size_t> first_difference(const View& before, const View& now) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < before.items.size(); ++i) {
        const std::string_view a = view_of(before.items[i].message.raw);
        if (i >= now.items.size()) return offset;
        const std::string_view b = view_of(now.items[i].message.raw);
        const auto differ = std::ranges::mismatch(a, b);
        if (differ.in1 != a.end() || differ.in2 != b.end())
            return offset + static_cast<std::size_t>(differ.in1 - a.begin());
        offset += a.size();
    }
    return std::nullopt;
}

std::string miss_warning(Memory::State& state, const Begun& begun, const CallState& calls) {
    std::string text =
        std::to_string(calls.misses) + " calls in a row found nothing in the provider's cache; ";
    // The newest call but the one that was just answered.
    const auto notes = read_lineage(*state.store, begun.view.header,
                                    {.ranges = {{Seq{1}, begun.turn - 1}},
                                     .kinds = only(EntryKind::note),
                                     .limit = 8,
                                     .newest_first = true});
    if (!notes) return text + "what changed could not be read";
    for (const Entry& entry : *notes) {
        if (!was_sent(std::get<NoteEntry>(entry.body))) continue;
        const auto before = load_view(*state.store, *state.tokenizer, begun.view.header, entry.seq);
        if (!before) break;
        const auto at = first_difference(before->view, begun.view);
        if (at) return text + "the first byte that changed is " + std::to_string(*at);
        return text +
               "no byte of the messages changed: look at the system prompt, the tools, "
               "the cache's lifetime and its least length";
    }
    return text + "there is no earlier call to compare with";
}

// The answer that an earlier attempt of this turn stored behind its begin, if it came that far: all
// its items.
Result<std::vector<Entry>> find_answer(Store& store, const Header& header, Seq turn, Seq begun) {
    ReadQuery query{.ranges = {{std::max(turn, begun) + 1, header.end}},
                    .kinds = only(EntryKind::message)};
    if (query.ranges.front().empty()) return std::vector<Entry>();
    PAL_TRY(entries, read_lineage(store, header, query));
    std::vector<Entry> items;
    for (Entry& entry : entries) {
        if (std::get<MessageEntry>(entry.body).answers != turn) continue;
        // Items of one answer follow each other; what comes later is another answer.
        if (!items.empty() && entry.seq != items.back().seq + 1) break;
        items.push_back(std::move(entry));
    }
    return items;
}

}  // namespace

std::optional<double> cost_of_usage(const Memory::State& state, std::string_view name,
                                    const Usage& usage) {
    if (name.empty() || usage.input == 0) return std::nullopt;
    const ModelSpec& model = state.models->find(name);
    if (model.prices.input < 0) return std::nullopt;
    return price_of(model, usage);
}

Result<Footing> footing_of(Memory::State& state, const Header& header) {
    PAL_TRY(view, current_view(state, header));
    return footing_on(state, view);
}

Result<Footing> find_footing(Memory::State& state, const ConversationId& name, bool may_guess) {
    if (const HotViewPtr hot = may_guess ? state.hot->find(name) : nullptr) {
        PAL_TRY(guessed, footing_on(state, hot));
        guessed.guessed = true;
        return std::move(guessed);
    }
    PAL_TRY(header, head_or_empty(*state.store, name));
    return footing_of(state, header);
}

void expect_footing(Batch& batch, const Header& header) {
    if (!header.log.empty()) {
        batch.expected_log = header.log;
        batch.expected_revision = header.revision;
    }
    batch.expected_end = header.end;
    batch.expected_basis = header.basis;
    batch.expected_epoch = header.epoch;
}

Result<void> add_compaction(Memory::State& state, const Header& header, const Planned& planned,
                            Cause cause, const std::vector<Said>& unwritten,
                            std::vector<Draft>& drafts) {
    PAL_TRY(body, with_basis(*state.store, *state.tokenizer, header, header.end + unwritten.size(),
                             entry_of(planned, cause), facts_of(header, unwritten)));
    drafts.push_back({std::move(body), {}});
    drafts.push_back({report_note(planned.report), {}});
    return {};
}

Result<View> settle(Memory::State& state, const Footing& before, const CallState& calls,
                    const Appended& appended, std::span<const Draft> written, Storing* storing) {
    std::optional<HotView> now;
    if (appended.created) {
        HotView fresh = *before.view;
        fresh.header.log = appended.header.log;
        fresh.header.epoch = appended.header.epoch;
        now = after_write(fresh, appended.header, appended.first, written);
    } else {
        now = after_write(*before.view, appended.header, appended.first, written);
    }
    if (!now) {
        if (storing) PAL_CHECK(storing->wait());
        PAL_TRY(current, current_view(state, appended.header));
        now = *current;
    }
    now->calls = calls;
    View view = now->view();
    auto keep = [&hot = *state.hot, kept = std::make_shared<const HotView>(*std::move(now))] {
        hot.put(kept);
    };
    storing ? storing->when_stored(std::move(keep)) : keep();
    return view;
}

Result<void> add_answer(Store& store, const Header& header, Seq written, Begun& begun) {
    PAL_TRY(items, find_answer(store, header, begun.turn, written));
    if (items.empty()) return {};
    const auto& last = std::get<MessageEntry>(items.back().body);
    begun.already = last.message;
    begun.already_interrupted = last.interrupted;
    begun.already_at = items.back().seq;
    for (std::size_t i = 0; i + 1 < items.size(); ++i)
        begun.already_earlier.push_back(std::get<MessageEntry>(items[i].body).message);
    return {};
}

std::string note_usage(Memory::State& state, const Begun& begun, const Usage& usage,
                       CallState& calls) {
    if (usage.input == 0) return "";
    calls.reported_tokens = usage.input + usage.output;
    calls.usage = usage;
    const ModelSpec& model = state.models->find(begun.model);
    // The first call of a conversation, and the first after an edit, have nothing to hit.
    const bool could_hit = model.cache.least_tokens > 0 &&
                           usage.input >= 2 * std::uint64_t{model.cache.least_tokens} &&
                           !begun.compaction && begun.turn > Seq{1};
    const bool missed = could_hit && usage.cached == 0;
    calls.misses = missed ? calls.misses + 1 : 0;
    state.meters->count_call(usage, price_of(model, usage), missed);
    if (calls.misses != misses_told) return "";
    std::string warning = miss_warning(state, begun, calls);
    calls.misses = 0;  // It is told once for each three.
    return warning;
}

void after_answer(Memory::State& state, const Begun& begun, const Answer& answer,
                  const Appended& done, std::span<const Draft> written, Finished& finished) {
    const HotViewPtr before = state.hot->find(begun.name);
    CallState calls = before && before->calls ? *before->calls : CallState{};
    const std::string warning = note_usage(state, begun, answer.usage, calls);
    for (const std::string& told : answer.warnings) finished.warnings.push_back(told);
    if (!warning.empty()) finished.warnings.push_back(warning);
    if (state.totals->add(begun.name.tenant, {.day = format_time(done.header.updated).substr(0, 10),
                                              .calls = 1,
                                              .usage = answer.usage,
                                              .cost = finished.cost.value_or(0)}))
        state.totals->write(*state.store);
    auto after = before ? after_write(*before, done.header, done.first, written) : std::nullopt;
    if (!after) return;
    if (before->calls) after->calls = calls;
    const auto now = std::make_shared<const HotView>(*std::move(after));
    const auto in_force = state.policies->read_chosen(begun.policy);
    // Whether another one that the conversation was given meanwhile is due the next begin finds
    // out.
    const bool stands = done.header.policy == begun.view.header.policy;
    if (state.background && stands && in_force && in_force->policy) {
        const HotViewPtr measured = state.measures->view(begun.model, now);
        const Occasion occasion =
            make_occasion(state, measured->totals, calls,
                          {begun.model, begun.tools, {}, begun.preamble, measured->items});
        finished.summary_due = find_due(*in_force->policy, occasion).level != Level::none;
        if (finished.summary_due) (void)put_job(state, done.header, in_force->text, begun.model);
    }
    state.hot->put(now);
}

}  // namespace palimpsest
