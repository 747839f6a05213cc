#include "engine/tool_loop.h"

#include "palimpsest/search.h"

#include <algorithm>

namespace palimpsest {
namespace {

using Outcome = ChatDone::Outcome;

std::string not_run(std::string_view why) {
    return "Error: the tool was not run: " + std::string(why);
}

Usage usage_of(const Reply& reply) {
    if (!reply.usage) return {};
    return {.input = reply.usage->input_tokens,
            .cached = reply.usage->cached_tokens,
            .cache_writes = reply.usage->cache_write_tokens,
            .output = reply.usage->output_tokens,
            .reasoning = reply.usage->reasoning_tokens};
}

Answer answer_of(const Round& round) {
    Answer answer{
        .message = round.items.back(), .usage = round.usage, .interrupted = round.interrupted};
    answer.earlier.assign(round.items.begin(), round.items.end() - 1);
    return answer;
}

std::vector<PendingCall> plain(std::span<const ReadyCall> wave) {
    std::vector<PendingCall> calls;
    for (const ReadyCall& ready : wave) calls.push_back(ready.call);
    return calls;
}

}  // namespace

ToolLoop::ToolLoop(Memory& memory, ConversationId name, Model& model, const ChatOptions& options,
                   TurnRequest turn, const Decisions& decisions)
    : memory_(memory),
      name_(std::move(name)),
      model_(model),
      options_(options),
      turn_(std::move(turn)),
      decisions_(decisions),
      tools_(options.tools) {
    done_.key = turn_.request.write.key;
    if (!options.recall) return;
    tools_.push_back({.name = std::string(recall_tool_name),
                      .run =
                          [this](std::string_view arguments, const std::stop_token&) {
                              return Result<std::string>(memory_.answer_recall(name_, arguments));
                          },
                      .idempotent = true});
    tools_.push_back({.name = std::string(search_tool_name),
                      .run =
                          [this](std::string_view arguments, const std::stop_token&) {
                              return Result<std::string>(memory_.answer_search(name_, arguments));
                          },
                      .idempotent = true});
}

ToolLoop::~ToolLoop() {
    if (held_.exclusive) memory_.release(held_);
}

// The turn may take place in a fork.
void ToolLoop::hold(const Begun& begun) {
    name_ = begun.name;
    held_.name = begun.name;
    held_.turn = begun.turn;
    held_.exclusive = begun.exclusive;
}

Result<ChatDone> ToolLoop::start(std::string_view messages) {
    turn_.request.messages = messages;
    PAL_TRY(begun, memory_.begin(name_, turn_.request));
    hold(begun);
    // Later rounds change nothing but what is said.
    turn_.request.header = {};
    turn_.request.write.expected_end.reset();
    turn_.request.write.if_absent = IfAbsent::fail;
    const std::size_t own = begun.preamble.size() - (begun.injected ? 1 : 0);
    for (std::size_t i = 0; i < own; ++i) {
        if (!turn_.preamble.empty()) turn_.preamble += ',';
        turn_.preamble += view_of(begun.preamble[i].raw);
    }
    tell({.kind = ChatEvent::Kind::begun, .begun = &begun});
    tell_compaction(begun);
    PAL_TRY(round, ask(std::move(begun)));
    return go_on(std::move(round));
}

Result<ChatDone> ToolLoop::answer(Seq said) {
    const std::string messages = "[" + turn_.preamble + "]";
    BeginRequest request = turn_.request;
    request.messages = messages;
    request.continues = said;
    request.write.key += "/again" + std::to_string(said.value);
    PAL_TRY(begun, memory_.begin(name_, request));
    hold(begun);
    tell({.kind = ChatEvent::Kind::begun, .begun = &begun});
    tell_compaction(begun);
    PAL_TRY(round, ask(std::move(begun)));
    return go_on(std::move(round));
}

Result<ChatDone> ToolLoop::go_on(Round round) {
    Seq counted;
    while (!round.items.empty()) {
        PAL_TRY(calls, calls_of(round.items));
        const bool looked_again = round.seq == counted;
        if (!looked_again) account(round, calls);
        counted = round.seq;
        if (calls.empty()) break;
        RoundLog log;
        if (round.stored) {
            PAL_TRY(read, read_round(memory_, name_, round, calls));
            log = std::move(read);
        }
        if (log.next) {
            Begun& begun = log.next->begun;
            begun.name = round.begun.name;
            begun.log = round.begun.log;
            begun.key = round.begun.key;
            begun.model = round.begun.model;
            begun.view = round.begun.view;
            round = *std::move(log.next);
            continue;
        }
        Begun begun;
        auto next = work(round, calls, log, begun);
        // Someone else works on this turn and was faster: what they wrote counts.
        if (!next && next.error().code == ErrorCode::unprocessable && !looked_again) {
            round.stored = true;
            continue;
        }
        PAL_TRY(step, std::move(next));
        if (step == Next::end) return finish(round);
        PAL_TRY(asked, ask(std::move(begun)));
        if (asked.items.empty()) {
            done_.outcome = Outcome::interrupted;
            return finish(round);
        }
        round = std::move(asked);
    }
    if (round.interrupted || round.items.empty()) done_.outcome = Outcome::interrupted;
    return finish(round);
}

Result<ChatDone> ToolLoop::finish(const Round& round) {
    done_.begun = round.begun;
    done_.finished = round.finished;
    done_.stop = round.stop;
    if (round.items.empty()) return std::move(done_);
    PAL_TRY(text, text_of_answer(round.items));
    done_.text = std::move(text);
    done_.answer = answer_of(round);
    return std::move(done_);
}

// ---- the model
// ----------------------------------------------------------------------------------

Result<Round> ToolLoop::ask(Begun begun) {
    if (begun.already) return again(begun, begun.already_at);
    auto reply = call_model(begun);
    if (!reply) {
        // That nothing came before it was stopped is no error: what was said is stored.
        if (stopping()) return Round{.begun = std::move(begun)};
        return std::unexpected(std::move(reply).error());
    }
    return store_answer(std::move(begun), *std::move(reply));
}

Result<Reply> ToolLoop::call_model(Begun& begun) {
    OnPiece on_piece;
    if (options_.on_event)
        on_piece = [this, names = std::map<std::size_t, std::string>()](
                       const StreamDelta& delta) mutable { return tell_piece(delta, names); };
    const auto call = [&] {
        const std::vector<Message> messages = begun.request();
        const std::string cache_key = begun.cache_key();
        return model_.call({.messages = messages,
                            .tools = turn_.request.tools,
                            .parameters = turn_.request.parameters,
                            .fields_format = turn_.request.format,
                            .stop = options_.stop,
                            .cache_key = cache_key,
                            .behind_edit = begun.behind_edit()},
                           on_piece);
    };
    auto reply = call();
    const bool may_shrink = !begun.policy.empty() && !begun.shrunk;
    if (reply || !is_context_overflow(reply.error()) || !may_shrink) return reply;
    PAL_TRY(smaller, memory_.shrink(begun));
    begun = std::move(smaller);
    tell_compaction(begun);
    return call();
}

Result<Round> ToolLoop::store_answer(Begun begun, Reply reply) {
    Round round{.items = std::move(reply.messages), .begun = std::move(begun)};
    round.interrupted = reply.interrupted;
    round.stop = reply.stop;
    round.usage = usage_of(reply);
    if (round.items.empty()) {
        for (std::string& warning : reply.warnings) done_.warnings.push_back(std::move(warning));
        if (reply.interrupted) return round;
        return fail(ErrorCode::upstream_failed,
                    "the model " + std::string(model_.name()) + " answered without a message");
    }
    Answer answer = answer_of(round);
    answer.warnings = std::move(reply.warnings);
    PAL_TRY(finished, memory_.finish(round.begun, answer));
    if (finished.again) return again(round.begun, finished.seq);
    round.seq = finished.seq;
    round.cost = finished.cost;
    round.finished = std::move(finished);
    tell({.kind = ChatEvent::Kind::usage,
          .round = done_.rounds + 1,
          .usage = round.usage,
          .cost = round.cost});
    return round;
}

Result<Round> ToolLoop::again(const Begun& begun, Seq seq) {
    PAL_TRY(round, read_answer(memory_, name_, seq));
    round.begun = begun;
    round.finished.header = begun.view.header;
    return std::move(round);
}

// ---- the calls
// ----------------------------------------------------------------------------------

Result<ToolLoop::Next> ToolLoop::work(const Round& round, const std::vector<PendingCall>& calls,
                                      const RoundLog& log, Begun& begun) {
    std::vector<PendingCall> open;
    for (const PendingCall& call : calls)
        if (!log.answered.contains(call.id)) open.push_back(call);
    if (round.interrupted)
        return give_up(round, open, Outcome::interrupted, "the answer was cut off");
    if (const auto over = limit())
        return give_up(round, open, *over,
                       *over == Outcome::rounds_exceeded ? "the limit of rounds was reached"
                       : *over == Outcome::cost_exceeded ? "the limit of costs was reached"
                                                         : "the same calls were made again");
    if (stopping()) return give_up(round, open, Outcome::interrupted, "the turn was stopped");
    if (!open.empty()) return work_open(round, open, log, begun);
    if (ended_by(calls)) return Next::end;
    BeginRequest request = turn_.request;
    const std::string messages = "[" + turn_.preamble + "]";
    request.messages = messages;
    request.continues = log.results.front();
    request.write.key = key_of(round, "/again");
    PAL_TRY(next, memory_.begin(name_, request));
    begun = std::move(next);
    tell_compaction(begun);
    return Next::ask;
}

bool ToolLoop::waits(const PendingCall& call) const {
    const Tool* tool = find_tool(call.name);
    return (tool ? tool->approval : options_.others_pending) && !decisions_.contains(call.id);
}

// The result of a call that does not run, if it has one.
std::optional<CallResult> ToolLoop::settled(const PendingCall& call, const RoundLog& log) const {
    const Tool* tool = find_tool(call.name);
    const bool is_started = log.started.contains(call.id);
    if (is_started && !(tool && tool->idempotent))
        return CallResult{call.id, std::string(unknown_outcome_text), true};
    if (nudged())
        return CallResult{call.id,
                          not_run("it was called " + std::to_string(repeats_ - 1) +
                                  " times in a row with the same arguments and will not give "
                                  "another result; use what you have, or do something else"),
                          true};
    const auto decision = decisions_.find(call.id);
    if (!tool && options_.others_pending && decision == decisions_.end()) return std::nullopt;
    const bool asked = tool ? tool->approval : options_.others_pending;
    if (auto result = decided(call, asked ? decision : decisions_.end())) return result;
    return refuse_call(call, tool);
}

std::optional<CallResult> ToolLoop::decided(const PendingCall& call,
                                            Decisions::const_iterator decision) const {
    if (decision == decisions_.end()) return std::nullopt;
    if (decision->second.kind == Decision::Kind::deny)
        return CallResult{
            call.id,
            not_run("a person denied it") +
                (decision->second.text.empty() ? std::string() : ": " + decision->second.text),
            true};
    if (decision->second.kind == Decision::Kind::result)
        return CallResult{call.id, decision->second.text, false};
    return std::nullopt;
}

Result<ToolLoop::Next> ToolLoop::work_open(const Round& round, const std::vector<PendingCall>& open,
                                           const RoundLog& log, Begun& begun) {
    std::vector<CallResult> results;
    std::vector<ReadyCall> ready;
    std::vector<PendingCall> waiting;
    for (const PendingCall& call : open) {
        if (auto result = settled(call, log))
            results.push_back(std::move(*result));
        else if (waits(call))
            waiting.push_back(call);
        else
            ready.push_back({call, find_tool(call.name)});
    }
    PAL_TRY(unwritten, run_waves(round, std::move(ready), std::move(results)));
    results = std::move(unwritten);
    // In the order of the calls.
    std::ranges::stable_sort(results, {}, [&](const CallResult& result) {
        return std::ranges::find(open, result.id, &PendingCall::id) - open.begin();
    });
    if (!waiting.empty() && !stopping())
        return suspend(round, results, std::move(waiting), log.answered.size());
    if (!stopping() && !ended_by(open)) {
        PAL_TRY(next, begin_round(round, write_results(turn_.request.format, results)));
        begun = std::move(next);
        return Next::ask;
    }
    for (const PendingCall& call : waiting)
        results.push_back({call.id, not_run("the turn was stopped"), true});
    PAL_CHECK(write(write_results(turn_.request.format, results), key_of(round, "/end"), {}));
    if (stopping()) done_.outcome = Outcome::interrupted;
    return Next::end;
}

bool ToolLoop::ended_by(const std::vector<PendingCall>& calls) const {
    return std::ranges::any_of(calls, [&](const PendingCall& call) {
        const Tool* tool = find_tool(call.name);
        return tool && tool->ends && !refuse_call(call, tool);
    });
}

// The results of all but the last wave are written with the note that starts the next one.
Result<std::vector<CallResult>> ToolLoop::run_waves(const Round& round,
                                                    std::vector<ReadyCall> ready,
                                                    std::vector<CallResult> unwritten) {
    bool first = true;
    for (const std::vector<ReadyCall>& wave : split_waves(std::move(ready))) {
        if (!stopping()) {
            const std::vector<CallResult> none;
            PAL_TRY(mine, note_started(round, first ? none : unwritten, wave));
            if (!first) unwritten.clear();
            first = false;
            if (!mine)
                return fail(ErrorCode::unprocessable,
                            "another process runs the tools of this turn");
        }
        for (const ReadyCall& one : wave)
            tell({.kind = ChatEvent::Kind::tool_started,
                  .round = done_.rounds,
                  .text = one.call.arguments,
                  .id = one.call.id,
                  .name = one.call.name});
        std::vector<CallResult> results;
        if (!stopping()) results = run_wave(wave, options_, options_.stop);
        for (std::size_t i = results.size(); i < wave.size(); ++i)
            results.push_back({wave[i].call.id, not_run("the turn was stopped"), true});
        for (std::size_t i = 0; i < wave.size(); ++i) {
            tell({.kind = ChatEvent::Kind::tool_finished,
                  .round = done_.rounds,
                  .text = results[i].text,
                  .id = wave[i].call.id,
                  .name = wave[i].call.name,
                  .is_error = results[i].is_error});
            unwritten.push_back(std::move(results[i]));
        }
    }
    return unwritten;
}

// False: someone else has started them.
Result<bool> ToolLoop::note_started(const Round& round, const std::vector<CallResult>& before,
                                    const std::vector<ReadyCall>& wave) {
    const std::string messages = "[" + write_results(turn_.request.format, before) + "]";
    AppendRequest request{.messages = messages, .format = turn_.request.format};
    request.write.key = key_of(round, "/start/" + wave.front().call.id);
    request.write.if_absent = IfAbsent::fail;
    request.notes.push_back(calls_note(tool_started_note, round.seq, done_.key, plain(wave)));
    PAL_TRY(written, memory_.append(name_, request));
    // An idempotent tool may be started by two at once.
    const auto safe = [](const ReadyCall& one) { return one.tool->idempotent; };
    return !written.again || std::ranges::all_of(wave, safe);
}

Result<Begun> ToolLoop::begin_round(const Round& round, const std::string& results) {
    const std::string messages = "[" + turn_.preamble +
                                 (turn_.preamble.empty() || results.empty() ? "" : ",") + results +
                                 "]";
    BeginRequest request = turn_.request;
    request.messages = messages;
    request.write.key = key_of(round, "");
    PAL_TRY(begun, memory_.begin(name_, request));
    tell_compaction(begun);
    return std::move(begun);
}

Result<ToolLoop::Next> ToolLoop::give_up(const Round& round, const std::vector<PendingCall>& open,
                                         Outcome outcome, std::string_view why) {
    std::vector<CallResult> results;
    for (const PendingCall& call : open) results.push_back({call.id, not_run(why), true});
    if (!results.empty())
        PAL_CHECK(write(write_results(turn_.request.format, results), key_of(round, "/end"), {}));
    done_.outcome = outcome;
    return Next::end;
}

Result<ToolLoop::Next> ToolLoop::suspend(const Round& round, const std::vector<CallResult>& results,
                                         std::vector<PendingCall> waiting, std::size_t answered) {
    PAL_CHECK(write(write_results(turn_.request.format, results),
                    key_of(round, "/pending/" + std::to_string(answered) + "/" +
                                      std::to_string(results.size())),
                    {calls_note(tool_pending_note, round.seq, done_.key, waiting)}));
    done_.pending = std::move(waiting);
    done_.outcome = Outcome::pending;
    return Next::end;
}

Result<void> ToolLoop::write(const std::string& results, std::string key,
                             std::vector<NoteEntry> notes) {
    const std::string messages = "[" + results + "]";
    AppendRequest request{.messages = messages, .format = turn_.request.format};
    request.write = {.key = std::move(key), .if_absent = IfAbsent::fail};
    request.notes = std::move(notes);
    PAL_TRY(written, memory_.append(name_, request));
    (void)written;
    return {};
}

}  // namespace palimpsest
