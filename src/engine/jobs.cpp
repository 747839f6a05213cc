// Due summaries as work for the background.
//
// A job is a record of the store (space "jobs"), one for each conversation at most. Whoever claims
// it puts a lease into it, by comparing its version, so that of many servers one does it and a dead
// one's job is done by another when the lease is over. The conversation goes on meanwhile: the
// result is spliced into the view as it is then if all that it covers still stands as it was, else
// it is thrown away.
#include <algorithm>

#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "engine/edit.h"
#include "engine/next_request.h"
#include "engine/turn.h"
#include "palimpsest/memory.h"

namespace palimpsest {
namespace {

constexpr std::string_view jobs_space = "jobs";
constexpr std::string_view summary_prefix = "summary/";
constexpr Duration lease_time = std::chrono::minutes(5);
constexpr Duration patience = std::chrono::minutes(2);  // less than the lease
constexpr Duration kept_for = std::chrono::hours(24);
constexpr std::uint64_t attempts_max = 5;
constexpr int splices_max = 4;

struct Job {
    std::string conversation = {}, log = {}, policy = {}, model = {};
    std::string own_policy = {};  // the conversation's, when the job was put
    Time leased_until = {};
    std::uint64_t attempts = 0;
};

std::string write_job(const Job& job) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("conversation", job.conversation).field("log", job.log);
    out.field("policy", job.policy).field("model", job.model);
    out.field("own_policy", job.own_policy);
    out.key("leased_until").number(std::int64_t{job.leased_until.time_since_epoch().count()});
    out.key("attempts").number(job.attempts).end_object();
    return text;
}

std::optional<Job> read_job(std::string_view text) {
    const auto document = parse_json(text);
    if (!document || !document->root().is_object()) return std::nullopt;
    const JsonValue root = document->root();
    const auto string = [&](std::string_view field) {
        const auto value = root.find(field);
        return value ? std::string(value->string()) : std::string();
    };
    const auto number = [&](std::string_view field) {
        const auto value = root.find(field);
        return value ? value->integer().value_or(0) : 0;
    };
    return Job{string("conversation"),
               string("log"),
               string("policy"),
               string("model"),
               string("own_policy"),
               Time(Duration(number("leased_until"))),
               static_cast<std::uint64_t>(std::max<std::int64_t>(number("attempts"), 0))};
}

// Everything that the edit covers is shown as it was when the edit was planned.
bool still_stands(const Edit& edit, const View& planned, const View& now) {
    const auto covered = [&](const View& view) {
        std::vector<const Item*> items;
        for (const Item& item : view.items)
            if (edit.range.contains(item.range.from)) items.push_back(&item);
        return items;
    };
    return std::ranges::equal(covered(planned), covered(now), [](const Item* a, const Item* b) {
        return a->range == b->range && a->kind == b->kind && a->by == b->by &&
               a->pinned == b->pinned;
    });
}

class SummaryWork {
public:
    SummaryWork(Memory::State& state, const ConversationId& name, const Job& job,
                const std::stop_token& stop)
        : state_(state), name_(name), job_(job), stop_(stop) {}

    // False: there was nothing to do, or not any more.
    Result<bool> run() {
        auto header = state_.store->head(name_);
        if (!header && header.error().code == ErrorCode::not_found) return false;
        if (!header) return std::unexpected(header.error());
        if (hex(header->log) != job_.log) return false;
        PAL_TRY(footing, footing_of(state_, *header));
        PAL_TRY(sent, sent_beside(state_, *header, footing.calls, job_.model));
        const View view = state_.measures->view(sent.model, footing.view)->view();
        PAL_TRY(in_force, choose_policy(*header));
        if (!in_force.policy) return false;
        PAL_TRY(planned, plan(view, footing.calls, sent, in_force));
        if (planned && planned->plan.outcome != PlanOutcome::done)
            note_stall(planned->plan, *in_force.policy, footing);
        if (!planned || planned->plan.outcome != PlanOutcome::done) return false;
        if (stop_.stop_requested()) return false;
        return splice(view, *std::move(planned), sent.model);
    }

private:
    // The one that found it due, whose models its caller may ask. Nobody was asked about another
    // that the conversation was given since: whether that one is due the next begin finds out.
    Result<PolicyInForce> choose_policy(const Header& header) const {
        if (header.policy != job_.own_policy) return PolicyInForce{};
        PAL_TRY(policy, state_.policies->read(job_.policy));
        return PolicyInForce{job_.policy, policy};
    }

    Result<std::optional<Planned>> plan(const View& view, const CallState& calls, const Sent& sent,
                                        const PolicyInForce& in_force) {
        const Occasion occasion =
            make_occasion(state_, view.totals, calls, sent.beside(view.items));
        const Due due = find_due(*in_force.policy, occasion);
        if (due.level == Level::none) return std::nullopt;
        return plan_compaction(state_, view, occasion, in_force, due,
                               {.time = patience, .stop = stop_});
    }

    // The turns that this process begins go by it.
    void note_stall(const Plan& plan, const Policy& policy, const Footing& footing) {
        if (plan.outcome == PlanOutcome::unreachable) return;
        HotView now = *footing.view;
        now.calls = footing.calls;
        const Due due{.level = plan.level, .trigger = plan.trigger};
        note_progress(now.calls->stalls, policy.print, due, plan.tokens_before, false);
        state_.hot->put(std::make_shared<const HotView>(std::move(now)));
    }

    // Turns go on meanwhile, so what is told of it is counted on the view that it meets. A log that
    // never rests is edited all the same.
    Result<bool> splice(const View& view, Planned planned, std::string_view model) {
        for (int tries = 1;; ++tries) {
            PAL_TRY(header, state_.store->head(name_));
            if (header.log != view.header.log || header.epoch != view.header.epoch ||
                header.policy != view.header.policy)
                return false;
            PAL_TRY(hot, current_view(state_, header));
            const View now = state_.measures->view(model, hot)->view();
            for (const Edit& edit : planned.plan.edits)
                if (!still_stands(edit, view, now)) return false;
            move_to(planned, now);
            Batch batch;
            expect_footing(batch, header);
            if (tries == splices_max) batch.expected_end.reset();
            batch.expected_revision.reset();
            batch.if_absent = IfAbsent::fail;
            PAL_CHECK(add_compaction(state_, header, planned, Cause::policy, {}, batch.entries));
            const auto done = state_.store->append(name_, batch);
            if (done) return tell(planned, *done);
            if (done.error().code != ErrorCode::conflict || tries == splices_max)
                return std::unexpected(done.error());
        }
    }

    Result<bool> tell(const Planned& planned, const Appended& done) {
        announce(state_, name_, told_of(planned, done.first));
        PAL_CHECK(keep_newest_summary(state_, done.header, done.first, planned.plan.edits));
        return true;
    }

    Memory::State& state_;
    const ConversationId& name_;
    const Job& job_;
    const std::stop_token& stop_;
};

// Stopped before it was done: as it was, for whoever comes next.
void give_back(Memory::State& state, const Record& record, std::uint64_t claimed) {
    (void)state.store->put_record(
        {.key = record.key, .value = record.value, .expected = claimed, .ttl = kept_for});
}

}  // namespace

Result<void> put_job(Memory::State& state, const Header& header, std::string_view policy,
                     std::string_view model) {
    const Job job{.conversation = header.name.id,
                  .log = hex(header.log),
                  .policy = std::string(policy),
                  .model = std::string(model),
                  .own_policy = header.policy};
    const auto put = state.store->put_record({.key = {header.name.tenant, std::string(jobs_space),
                                                      std::string(summary_prefix) + job.log},
                                              .value = write_job(job),
                                              .expected = 0,
                                              .ttl = kept_for});
    // One that is there already will do.
    if (put || put.error().code == ErrorCode::conflict) return {};
    return std::unexpected(put.error());
}

Result<std::size_t> Memory::run_jobs(const std::string& tenant, std::size_t limit,
                                     const std::stop_token& stop) {
    PAL_TRY(records, state_->store->list_records({.tenant = tenant,
                                                  .space = std::string(jobs_space),
                                                  .prefix = std::string(summary_prefix),
                                                  .limit = limit}));
    state_->meters->set_jobs(records.size());
    std::size_t done = 0;
    for (const Record& record : records) {
        if (stop.stop_requested()) break;
        auto job = read_job(record.value);
        if (job && job->leased_until > state_->clock()) continue;
        RecordWrite write{.key = record.key, .expected = record.version, .ttl = kept_for};
        if (job && job->attempts < attempts_max) {
            job->leased_until = state_->clock() + lease_time;
            ++job->attempts;
            write.value = write_job(*job);
        }
        // Somebody else was quicker, or it was tried often enough and goes.
        const auto claimed = state_->store->put_record(write);
        if (!claimed || !write.value) continue;
        const auto worked = SummaryWork(*state_, {tenant, job->conversation}, *job, stop).run();
        if (stop.stop_requested()) {
            give_back(*state_, record, *claimed);
            break;
        }
        if (!worked) continue;  // Its lease runs out; it is tried again.
        done += *worked ? 1 : 0;
        (void)state_->store->put_record({.key = record.key, .expected = *claimed});
    }
    return done;
}

}  // namespace palimpsest
