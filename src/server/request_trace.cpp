#include "server/request_trace.h"

namespace palimpsest {
namespace {

constexpr std::string_view conversation_attribute = "gen_ai.conversation.id";

std::int64_t number(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

template <class T>
void describe_error(Span& span, const Result<T>& result) {
    if (!result) span.fail(error_info(result.error().code).name);
}

// A compaction inside another step has no clock of its own: its span is as long as the step's.
void describe_compaction_of(Span& within, const Begun& begun, Span compaction) {
    if (!begun.compaction || begun.compaction->outcome != Compaction::Outcome::done)
        return compaction.drop();
    describe_compaction(compaction, *begun.compaction);
    within.set("gen_ai.conversation.compacted", true);
}

}  // namespace

void RequestTrace::begin_turn(const ConversationId& name) {
    conversation_ = name.id;
    if (in_turn_) return;
    turn_ = Span(tracer_, "turn", SpanKind::internal, request_);
    turn_.set(conversation_attribute, name.id);
    in_turn_ = true;
}

Span RequestTrace::span(std::string name, SpanKind kind) const {
    return Span(tracer_, std::move(name), kind, context());
}

Span RequestTrace::span(std::string name, const Span& within) const {
    return Span(tracer_, std::move(name), SpanKind::internal, within.context());
}

void RequestTrace::tell_fault(ErrorCode reason) {
    const ErrorInfo* none = nullptr;
    fault_.compare_exchange_strong(none, &error_info(reason));
}

std::string_view RequestTrace::fault() const {
    const ErrorInfo* const info = fault_;
    return info ? info->name : std::string_view();
}

void describe_compaction(Span& span, const Compaction& compaction) {
    const CompactionReport& report = compaction.report;
    span.set("palimpsest.compaction.strategy", report.strategy);
    span.set("palimpsest.compaction.trigger", report.trigger);
    span.set("palimpsest.compaction.outcome", std::string(outcome_name(compaction.outcome)));
    span.set("palimpsest.compaction.edits", number(compaction.edits.size()));
    span.set("palimpsest.compaction.tokens_before", number(compaction.tokens_before));
    span.set("palimpsest.compaction.tokens_after", number(compaction.tokens_after));
}

Result<Begun> begin_traced(RequestTrace& trace, Memory& memory, const ConversationId& name,
                           const BeginRequest& request) {
    trace.begin_turn(name);
    Span span = trace.span("memory.begin");
    Span compaction = trace.span("memory.compact", span);
    Result<Begun> begun = memory.begin(name, request);
    describe_error(span, begun);
    if (!begun) {
        compaction.drop();
        return begun;
    }
    span.set(conversation_attribute, begun->name.id);
    span.set("palimpsest.view.items", number(begun->view.items.size()));
    span.set("palimpsest.view.tokens", number(begun->tokens_expected));
    if (begun->already) span.set("palimpsest.turn.repeated", true);
    describe_compaction_of(span, *begun, std::move(compaction));
    return begun;
}

Result<Begun> shrink_traced(RequestTrace& trace, Memory& memory, const Begun& begun) {
    Span span = trace.span("memory.compact");
    Result<Begun> smaller = memory.shrink(begun);
    describe_error(span, smaller);
    if (smaller && smaller->compaction) describe_compaction(span, *smaller->compaction);
    return smaller;
}

Result<Finished> finish_traced(RequestTrace& trace, Memory& memory, const Begun& begun,
                               const Answer& answer) {
    Span span = trace.span("memory.finish");
    Result<Finished> finished = memory.finish(begun, answer);
    describe_error(span, finished);
    if (answer.interrupted) span.set("palimpsest.answer.interrupted", true);
    if (finished && finished->cost) span.set("gen_ai.usage.cost", *finished->cost);
    return finished;
}

}  // namespace palimpsest
