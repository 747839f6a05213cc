// request_trace: what is traced of one request. Shared by all that is done for it, also after it
// was answered, as a response in the background is.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/memory.h"
#include "server/tracer.h"

namespace palimpsest {

// Of one thread at a time, but for the fault.
class RequestTrace {
public:
    // `request`: where what follows belongs; empty: in no trace.
    RequestTrace(std::shared_ptr<Tracer> tracer, TracePoint request)
        : tracer_(std::move(tracer)), request_(std::move(request)) {}

    // What follows is part of the turn, which ends when this goes.
    void begin_turn(const ConversationId& name);
    Span span(std::string name, SpanKind kind = SpanKind::internal) const;
    Span span(std::string name, const Span& within) const;
    const TracePoint& context() const { return in_turn_ ? turn_.context() : request_; }
    const std::string& conversation() const { return conversation_; }  // of the turn
    bool with_content() const { return tracer_ && tracer_->with_content(); }
    // There is something to record or to pass on.
    bool active() const { return tracer_ || !request_.empty(); }

    // An answer that was told with success broke off for that reason, which its status does not
    // tell. The first one stays.
    void tell_fault(ErrorCode reason);
    std::string_view fault() const;  // its name; empty: there was none

private:
    const std::shared_ptr<Tracer> tracer_;
    const TracePoint request_;
    std::string conversation_;
    bool in_turn_ = false;
    Span turn_;
    std::atomic<const ErrorInfo*> fault_ = nullptr;
};

// The halves of a turn, each a span. Errors are Memory's.
Result<Begun> begin_traced(RequestTrace& trace, Memory& memory, const ConversationId& name,
                           const BeginRequest& request);
Result<Begun> shrink_traced(RequestTrace& trace, Memory& memory, const Begun& begun);
Result<Finished> finish_traced(RequestTrace& trace, Memory& memory, const Begun& begun,
                               const Answer& answer);
// One that was asked for by itself.
void describe_compaction(Span& span, const Compaction& compaction);

}  // namespace palimpsest
