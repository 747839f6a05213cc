#include "engine/wording.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <span>
#include <thread>

#include "base/time.h"
#include "core/summary.h"
#include "engine/prices.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

using Instant = std::chrono::steady_clock::time_point;

// A request that outlives the one who waits for it.
struct Asked {
    std::shared_ptr<Summarizer> summarizer;
    SummaryRequest request;
    std::string model;
    Time deadline;
    std::stop_token stop;
};

Result<SummaryText> ask(const Asked& asked) {
    return asked.summarizer->summarize({.system = asked.request.system,
                                        .user = asked.request.user,
                                        .model = asked.model,
                                        .max_tokens = asked.request.max_tokens,
                                        .deadline = asked.deadline,
                                        .stop = asked.stop});
}

// When it is late, or nobody waits any more, it is asked to stop and left behind, whether it heeds
// that or not. It owns what it uses.
Result<SummaryText> ask_until(Asked asked, Instant until, const std::stop_token& stop) {
    constexpr auto between_looks = std::chrono::milliseconds(50);
    std::stop_source source;
    asked.stop = source.get_token();
    std::packaged_task<Result<SummaryText>()> task(
        [asked = std::move(asked)] { return ask(asked); });
    std::future<Result<SummaryText>> answer = task.get_future();
    std::thread(std::move(task)).detach();
    for (;;) {
        const Instant now = std::chrono::steady_clock::now();
        const Instant look = stop.stop_possible() ? std::min(until, now + between_looks) : until;
        if (answer.wait_until(look) == std::future_status::ready) return answer.get();
        if (look < until && !stop.stop_requested()) continue;
        source.request_stop();
        return fail(ErrorCode::unavailable, look < until ? "the summariser was stopped"
                                                         : "the summariser did not answer in time");
    }
}

class Wording {
public:
    Wording(Memory::State& state, const View& view, const MessageTools& tools,
            const SummaryWait& patience)
        : state_(state),
          view_(view),
          tools_(tools),
          until_(std::chrono::steady_clock::now() + patience.time),
          deadline_(state.clock() + patience.time),
          stop_(patience.stop) {}

    Result<void> word(const SummaryOrder& order, Plan& plan, Bill& bill) {
        const std::uint64_t window = state_.summarizer->window_tokens();
        std::vector<std::string> texts;
        for (SummaryRequest& request : summary_requests(order, view_.items, window, tools_)) {
            PAL_TRY(text, one(std::move(request), order, bill));
            texts.push_back(std::move(text));
        }
        while (texts.size() > 1) {
            PAL_TRY(merged, merge_once(texts, order, bill));
            texts = std::move(merged);
        }
        if (texts.empty()) return fail(ErrorCode::unprocessable, "there is nothing to summarise");
        PAL_CHECK(put_summary(plan, order, texts.front(), view_.items, tools_));
        bill.summarizer = author_;
        if (!order.model.empty() && order.model != author_)
            bill.remark = "the policy asks " + order.model + " for summaries, which is not among " +
                          "the summarisers; " + author_ + " wrote it";
        return {};
    }

private:
    // As many at once as the summariser's window holds: what comes out may be several still.
    Result<std::vector<std::string>> merge_once(std::span<const std::string> texts,
                                                const SummaryOrder& order, Bill& bill) {
        const std::size_t many =
            merged_at_once(order, texts, state_.summarizer->window_tokens(), tools_);
        if (many < 2)
            return fail(ErrorCode::unprocessable,
                        "the summaries of the parts are too long to make one of them");
        std::vector<std::string> merged;
        for (std::size_t at = 0; at < texts.size(); at += many) {
            const auto part = texts.subspan(at, std::min(many, texts.size() - at));
            if (part.size() == 1) {
                merged.push_back(part.front());
                continue;
            }
            PAL_TRY(text, one(merge_request(order, part), order, bill));
            merged.push_back(std::move(text));
        }
        return merged;
    }

    Result<std::string> one(SummaryRequest request, const SummaryOrder& order, Bill& bill) {
        PAL_TRY(answer,
                ask_until({state_.summarizer, std::move(request), order.model, deadline_, {}},
                          until_, stop_));
        const ReplyUsage& used = answer.usage;
        const Usage usage{.input = used.input_tokens,
                          .cached = used.cached_tokens,
                          .cache_writes = used.cache_write_tokens,
                          .output = used.output_tokens,
                          .reasoning = used.reasoning_tokens};
        const double cost = price_of(state_.models->find(answer.model), usage);
        add_usage(bill.sum, UsageRow{.calls = 1, .usage = usage, .cost = cost});
        if (!answer.fault.empty()) return fail(ErrorCode::upstream_failed, answer.fault);
        author_ = answer.model;
        return std::move(answer.text);
    }

    Memory::State& state_;
    const View& view_;
    const MessageTools& tools_;
    const Instant until_;
    const Time deadline_;
    const std::stop_token stop_;
    std::string author_;  // of the newest answer
};

}  // namespace

Bill word_summaries(Memory::State& state, const View& view, const MessageTools& tools,
                    const SummaryWait& patience, Plan& plan) {
    Bill bill;
    for (const Edit& edit : plan.edits)
        if (edit.treatment == Treatment::folded) bill.summarizer = "extractive";
    if (patience.time <= Duration::zero()) return bill;
    if (!state.summarizer) {
        for (const SummaryOrder& order : plan.summaries)
            if (!order.model.empty())
                bill.trouble = "the policy asks " + order.model +
                               " for summaries, and there is no summariser: set \"summarizer\"";
        return bill;
    }
    if (plan.summaries.empty()) return bill;
    const SummaryTerms& terms = patience.terms;
    if (terms.may_spend)
        if (const auto allowed = terms.may_spend(); !allowed) {
            bill.trouble = allowed.error().message;
            return bill;
        }
    Wording wording(state, view, tools, patience);
    for (const SummaryOrder& order : std::vector<SummaryOrder>(plan.summaries)) {
        const auto worded = wording.word(order, plan, bill);
        if (!worded) bill.trouble = worded.error().message;
    }
    // Whatever becomes of the plan, they are paid for.
    if (bill.sum.calls > 0) {
        bill.sum.day = format_time(state.clock()).substr(0, 10);
        state.meters->count_call(bill.sum.usage, bill.sum.cost, false);
        const Usage& used = bill.sum.usage;
        if (terms.on_spent) terms.on_spent(used.input + used.output, bill.sum.cost);
        if (state.totals->add(view.header.name.tenant, bill.sum)) state.totals->write(*state.store);
    }
    return bill;
}

}  // namespace palimpsest
