// The second half of a turn: the answer is appended, and what follows from it is done.
#include <algorithm>

#include "base/hash.h"
#include "engine/calibrate.h"
#include "engine/call_note.h"
#include "engine/count.h"
#include "engine/stopwatch.h"
#include "engine/turn.h"
#include "engine/turn_lease.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

Result<void> check_answer(const Memory::State& state, const Message& message) {
    const Role role = message.shape.role;
    // A provider that runs tools itself puts their results into its answer.
    const bool hosted = role == Role::tool && message.shape.results.empty();
    if (role != Role::assistant && role != Role::other && !hosted)
        return fail(
            ErrorCode::unprocessable,
            "an answer is an assistant's message, this is a " + std::string(role_name(role)) + "'s",
            "message");
    return check_message_size(message, state.message_bytes_max, "the answer", "message");
}

// Since the model could be asked. Where `begin` was another request it is the note of the call that
// knows, if the view behind it is kept here; none where nobody does.
std::optional<double> seconds_since_begin(Memory::State& state, const Begun& begun) {
    using Seconds = std::chrono::duration<double>;
    using Steady = std::chrono::steady_clock;
    if (begun.ready != Steady::time_point{}) return Seconds(Steady::now() - begun.ready).count();
    const HotViewPtr hot = state.hot->find(begun.name);
    const bool known = hot && hot->calls && hot->header.log == begun.log &&
                       hot->calls->last != Seq{} && hot->calls->last == begun.view.seq;
    if (!known) return std::nullopt;
    return std::max(0.0, Seconds(state.clock() - hot->calls->last_at).count());
}

}  // namespace

bool has_calls(const Message& message, const std::vector<Message>& earlier) {
    const auto calls = [](const Message& one) { return !one.shape.calls.empty(); };
    return calls(message) || std::ranges::any_of(earlier, calls);
}

Result<Finished> Memory::finish(const Begun& begun, const Answer& answer) {
    const Stopwatch watch;
    const std::optional<double> upstream = seconds_since_begin(*state_, begun);
    PAL_CHECK(check_answer(*state_, answer.message));
    for (const Message& item : answer.earlier) PAL_CHECK(check_answer(*state_, item));
    Batch batch;
    batch.key = begun.key.empty() ? "" : begun.key + "/out";
    batch.digest = hash_bytes("finish " + begun.key);  // any answer of this turn will do
    batch.expected_log = begun.log;
    batch.if_absent = IfAbsent::fail;
    std::vector<Message> items = answer.earlier;
    items.push_back(answer.message);
    for (Message& item : items) {
        PAL_TRY(count, count_message(*state_->tokenizer, item));
        item.count = count;
        batch.entries.push_back({MessageEntry{.message = std::move(item),
                                              .interrupted = answer.interrupted,
                                              .answers = begun.turn},
                                 {}});
    }
    const auto cost = cost_of_usage(*state_, begun.model, answer.usage);
    if (state_->call_notes)
        batch.entries.push_back({usage_note(answer, begun.model, begun.view.seq, cost), {}});
    PAL_CHECK(begun.stored());
    PAL_TRY(done, state_->store->append(begun.name, batch));
    if (upstream && !done.again) state_->meters->count_step(Meters::Step::upstream, *upstream);
    // Of a repeat: where the answer of the first time stands.
    const std::uint64_t notes = state_->call_notes ? 1 : 0;
    Finished finished{.seq = done.last - notes, .header = done.header, .cost = cost};
    finished.again = done.again;
    keep_turn(*state_, begun, !has_calls(answer.message, answer.earlier));
    // The answer is stored: that nothing could be learned from it must not fail the turn.
    if (!done.again) {
        after_answer(*state_, begun, answer, done, batch.entries, finished);
        (void)learn_usage(*state_, begun, answer.usage.input);
    }
    state_->meters->count_step(Meters::Step::finish, watch.seconds());
    return finished;
}

Result<PastCall> Memory::past_call(const ConversationId& name, Seq note) {
    PAL_TRY(header, head(name));
    PAL_TRY(entry, read_entry(*state_->store, header, note));
    const auto* body = std::get_if<NoteEntry>(&entry.body);
    if (body && body->kind == "call" && !was_sent(*body))
        return fail(ErrorCode::unprocessable,
                    "the call at seq " + std::to_string(note.value) +
                        " was refused (budget_unreachable): the model was sent nothing",
                    "seq");
    PAL_TRY(call, read_call_note(*state_->store, header, entry));
    PAL_TRY(loaded, load_view(*state_->store, *state_->tokenizer, header, note));
    call.view = std::move(loaded.view);
    return std::move(call);
}

}  // namespace palimpsest
