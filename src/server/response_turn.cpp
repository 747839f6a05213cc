#include "server/response_turn.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/stopwatch.h"
#include "format/sse.h"
#include "net/errand.h"
#include "net/stream.h"
#include "server/gateway.h"
#include "server/openai_items.h"
#include "server/request_trace.h"
#include "server/response_events.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

constexpr int looks_ms = 100;
constexpr std::size_t part = std::size_t{256} << 10;  // that is sent at once
constexpr auto between_looks = std::chrono::milliseconds(looks_ms);
constexpr Duration last_events = std::chrono::seconds(1);  // for a server to keep its last events
constexpr Duration note_patience = std::chrono::seconds(2);

// From where waiting has brought it to where the store may be used.
void come_home() {
    if (Errand* const errand = Errand::current()) errand->go_home();
}

std::int64_t now_seconds() {
    return std::chrono::floor<std::chrono::seconds>(system_now()).time_since_epoch().count();
}

Result<Reply> ask(ResponseTurn& turn, const TurnEars& ears) {
    const std::vector<Message> messages = sent_messages(turn);
    const std::string cache_key = turn.stored ? turn.begun.cache_key() : std::string();
    return turn.model->call({.messages = messages,
                             .tools = turn.tools,
                             .parameters = turn.parameters,
                             .fields_format = item_format,
                             .stop = turn.live ? turn.live->stop_token() : turn.stop,
                             .cache_key = cache_key,
                             .behind_edit = turn.stored ? turn.begun.behind_edit() : 0,
                             .on_bytes = ears.on_bytes,
                             .headers = turn.headers},
                            ears.on_piece);
}

Result<Reply> ask_within_window(ResponseTurn& turn, const TurnEars& ears) {
    const Stopwatch watch;
    auto reply = ask(turn, ears);
    if (reply && !turn.stored)
        turn.site.memory.count_call(turn.model->name(),
                                    usage_of(reply->usage.value_or(ReplyUsage{})), watch.seconds());
    const bool shrinks = turn.stored && !turn.begun.policy.empty();
    if (reply || !shrinks || !is_context_overflow(reply.error())) return reply;
    PAL_TRY(smaller, shrink_traced(*turn.trace, turn.site.memory, turn.begun));
    turn.begun = std::move(smaller);
    return ask(turn, ears);
}

Result<void> store_answer(ResponseTurn& turn, const Reply& reply) {
    PAL_TRY(answer, answer_of(reply, turn.model->name()));
    PAL_TRY(finished, finish_traced(*turn.trace, turn.site.memory, turn.begun, answer));
    (void)finished;
    return {};
}

void tell_end(ResponseTurn& turn, const Reply& reply) {
    const ResponseEnd end = response_end(reply);
    ResponseState& state = turn.state;
    state.status = end.status;
    state.reason = end.reason;
    if (turn.live && turn.live->cancelled()) state.status = "cancelled";
    state.completed = now_seconds();
    state.usage = reply.usage.value_or(ReplyUsage{});  // Clients insist on numbers.
    state.output.clear();
    for (ShownItem& item : output_items(state.id, reply.messages))
        state.output.push_back(std::move(item.json));
}

// Stopped from outside, or failed by itself.
void tell_failure(ResponseTurn& turn, const Error& error) {
    ResponseState& state = turn.state;
    if (turn.live && turn.live->cancelled()) {
        state.status = "cancelled";
    } else if (turn.live && turn.live->stop_token().stop_requested()) {
        state.status = "incomplete";
        state.reason = "interrupted";
    } else {
        state.status = "failed";
        state.error = error;
    }
    if (turn.stored) note_end(turn.site.memory, turn.begun.name, turn.begun.view.seq, turn.state);
}

// Sends what is behind a number, and knows when the stream has ended.
class Follower {
public:
    Follower(std::int64_t after, const SendBytes& send) : after_(after), send_(send) {}

    void feed(std::string_view bytes) {
        (void)parser_.feed(bytes, [this](std::string_view name, std::string_view data) {
            return take(name, data);
        });
    }
    bool done() const { return ended_ || gone_; }
    std::int64_t last() const { return last_; }

private:
    Result<void> take(std::string_view name, std::string_view data) {
        const std::string bytes = sse_event(name, data);
        for (const StreamedEvent& event : split_events(bytes)) {
            last_ = event.sequence;
            ended_ = event.last;
            if (event.sequence > after_ && !gone_) gone_ = !send_(bytes);
        }
        return {};
    }

    SseParser parser_;
    const std::int64_t after_;
    const SendBytes& send_;
    std::int64_t last_ = -1;
    bool ended_ = false, gone_ = false;
};

// Until it ends here; what another server goes on with is for follow_kept.
void follow_live(const LiveResponse& live, Follower& follower, const std::stop_token& stop) {
    std::size_t from = 0;
    while (!follower.done() && !stop.stop_requested()) {
        const LiveResponse::Piece piece = live.wait(from, between_looks);
        follower.feed(piece.bytes);
        from += piece.bytes.size();
        if (piece.ended && piece.bytes.empty()) break;
    }
    come_home();
}

// How it ended, for a stream whose last events nobody kept.
std::string missing_end(const ResponseState& state, std::int64_t last) {
    const std::vector<StreamedEvent> events = split_events(replay_events(state));
    const std::int64_t next = last + 1;
    std::string bytes;
    for (const StreamedEvent& event : events)
        if (event.last) bytes = renumbered(event.bytes, next);
    return bytes;
}

// Since when nothing more comes. A response without events was over in a moment, and they are still
// to be kept, or it is old, and they are kept no longer.
Time ended_since(const ResponseState& state, bool has_events) {
    if (has_events) return system_now();
    if (state.completed == 0) return {};
    return std::min(Time{std::chrono::seconds(state.completed + 1)}, system_now());
}

// Not where something of its log was scrubbed since it began: its events may tell of that.
bool may_follow(Site& site, const LiveResponse& live) {
    if (!live.options().kept || live.dropped()) return false;
    const auto stored = load_response(site, live.id());
    return stored && stored->header.epoch == live.options().epoch;
}

void follow_kept(Site& site, const std::string& id, Follower& follower,
                 const std::stop_token& stop) {
    std::optional<Time> ended_at;
    const auto asked = load_response(site, id);
    if (!asked) return;
    for (std::size_t chunk = 0; !follower.done() && !stop.stop_requested();) {
        const auto events = site.responses->kept_events(id, asked->header.epoch, chunk);
        if (!events) return;
        if (*events) {
            follower.feed(**events);
            ++chunk;
            continue;
        }
        const auto response = load_response(site, id);
        if (!response) return;
        if (response->state.is_open()) {
            pause_ms(looks_ms, stop);
            continue;
        }
        if (!ended_at) ended_at = ended_since(response->state, chunk > 0);
        if (system_now() - *ended_at > last_events)
            return follower.feed(chunk == 0 ? replay_events(response->state)
                                            : missing_end(response->state, follower.last()));
        pause_ms(looks_ms, stop);
    }
}

}  // namespace

std::vector<Message> sent_messages(const ResponseTurn& turn) {
    return turn.stored ? turn.begun.request() : turn.messages;
}

Result<StopReason> run_response(ResponseTurn& turn, const TurnEars& ears) {
    auto reply = ask_within_window(turn, ears);
    if (reply && reply->messages.empty())
        reply = fail(ErrorCode::upstream_failed, "the model answered without a message");
    if (reply && turn.stored) {
        if (auto stored = store_answer(turn, *reply); !stored)
            reply = std::unexpected(std::move(stored).error());
    }
    if (!reply) {
        turn.site.memory.release(turn.begun);
        tell_failure(turn, reply.error());
        return std::unexpected(std::move(reply).error());
    }
    tell_end(turn, *reply);
    turn.remarks = std::move(reply->warnings);
    const bool plain = turn.state.status == "completed" || turn.state.reason == "interrupted";
    if (turn.stored && (!plain || turn.state.status == "cancelled"))
        note_end(turn.site.memory, turn.begun.name, turn.begun.view.seq, turn.state);
    return reply->stop;
}

Result<void> stream_response(ResponseTurn& turn, const SendBytes& send) {
    ResponseEvents events(turn.state);
    bool gone = false, begun = false;
    const auto tell = [&](std::string_view bytes) {
        if (turn.live) turn.live->add(bytes);
        // In parts: what a slow reader has not taken waits here, and not copied in his queue.
        for (; !gone && send && !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size())))
            gone = !send(bytes.substr(0, part));
        return !gone || turn.stored;
    };
    const auto begin = [&] {
        if (!std::exchange(begun, true)) tell(events.begin());
    };
    TurnEars ears;
    if (turn.model->format() == item_format)
        ears.on_bytes = [&](std::string_view bytes) {
            begin();
            return tell(events.pass(bytes));
        };
    else
        ears.on_piece = [&](const StreamDelta& delta) {
            begin();
            return tell(events.add(delta));
        };
    if (!send) begin();
    const auto stop = run_response(turn, ears);
    if (!stop && !begun) return std::unexpected(stop.error());
    if (!stop) turn.trace->tell_fault(stop.error().code);
    begin();
    events.end(turn.state, stop.value_or(StopReason::other), tell);
    return {};
}

void follow_response(Site& site, const std::string& id, std::int64_t after, const SendBytes& send,
                     const std::stop_token& stop) {
    Follower follower(after, send);
    if (const auto live = site.responses->find(id); live && may_follow(site, *live))
        return follow_live(*live, follower, stop);
    follow_kept(site, id, follower, stop);
}

void await_response(Site& site, const std::string& id, Duration patience,
                    const std::stop_token& stop) {
    Time until = system_now() + patience;
    bool cut = false;
    while (system_now() < until && !stop.stop_requested()) {
        if (const auto live = site.responses->find(id)) {
            const bool ended = live->wait(SIZE_MAX, between_looks).ended;
            come_home();
            if (ended) return;
            continue;
        }
        const auto response = load_response(site, id);
        if (!response) return;
        const ResponseState& state = response->state;
        const bool interrupted = state.status == "incomplete" && state.reason == "interrupted";
        if (!state.is_open() && !interrupted) return;
        // The answer is stored a moment before the note that says that it was cancelled.
        if (interrupted && !cut) until = std::min(until, system_now() + note_patience);
        cut |= interrupted;
        pause_ms(looks_ms, stop);
    }
}

}  // namespace palimpsest
