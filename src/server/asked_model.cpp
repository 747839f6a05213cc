#include "server/asked_model.h"

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "engine/count_request.h"
#include "engine/model_table.h"
#include "server/budget.h"
#include "server/gateway.h"
#include "server/model_span.h"
#include "server/replay.h"
#include "server/request_meters.h"
#include "server/retry_key.h"
#include "token/estimator.h"

namespace palimpsest {
namespace {

// What a call took; estimated where the model's server does not say.
using OnSpent = std::function<void(const ReplyUsage& usage)>;

constexpr std::size_t bytes_a_token = 4;  // where nobody says how many there were

std::uint64_t tokens_in(std::span<const Message> messages) {
    std::size_t bytes = 0;
    for (const Message& message : messages) bytes += view_of(message.raw).size();
    return bytes / bytes_a_token;
}

ReplyUsage usage_or_estimate(const Reply* reply, std::uint64_t input) {
    if (reply && reply->usage) return *reply->usage;
    return {.input_tokens = input,
            .output_tokens = reply ? tokens_in(reply->messages) : std::uint64_t{0}};
}

// Whether the model's server may have worked for it: what it refused, or never got, costs nothing.
bool may_cost(const Error& error) {
    return error.code == ErrorCode::outcome_unknown;
}

// Of embeddings, which say nothing else that we know.
std::optional<Reply> usage_alone(std::string_view body) {
    const auto document = parse_json(body);
    const auto usage = document ? document->root().find("usage") : std::nullopt;
    const auto tokens = usage ? usage->find("prompt_tokens") : std::nullopt;
    const auto count = tokens ? tokens->integer() : std::nullopt;
    if (!count || *count < 0) return {};
    Reply reply;
    reply.usage = ReplyUsage{.input_tokens = static_cast<std::uint64_t>(*count)};
    return reply;
}

// Reads along what is passed on, to know what it took.
class RelayTap {
public:
    RelayTap(FormatId format, const std::function<bool(std::string_view)>& on_bytes)
        : format_(format), on_bytes_(on_bytes), reader_(make_stream_reader(format)) {}

    bool take(std::string_view bytes) {
        streamed_ = true;
        const bool more = on_bytes_(bytes);  // First: nobody waits for our reading.
        readable_ = readable_ && reader_->feed(bytes).has_value();
        return more;
    }
    bool streamed() const { return streamed_; }

    // None: it cannot be read as an answer of a model.
    std::optional<Reply> reply(const RelayReply& relayed) {
        if (relayed.status >= 300) return {};
        auto read = streamed_ ? reader_->finish() : read_reply(format_, relayed.body);
        if (!read) return usage_alone(relayed.body);
        return *std::move(read);
    }

private:
    const FormatId format_;
    const std::function<bool(std::string_view)>& on_bytes_;
    const std::unique_ptr<StreamReader> reader_;
    bool streamed_ = false, readable_ = true;
};

class AskedModel final : public Model {
public:
    AskedModel(Model& model, std::shared_ptr<RequestTrace> trace,
               std::shared_ptr<RequestMeters> meters, OnSpent on_spent)
        : model_(model),
          trace_(std::move(trace)),
          meters_(std::move(meters)),
          on_spent_(std::move(on_spent)) {}

    std::string_view name() const override { return model_.name(); }
    std::string_view server_name() const override { return model_.server_name(); }
    FormatId format() const override { return model_.format(); }
    Result<void> reach() override { return model_.reach(); }

    Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) override {
        ModelSpan span(*trace_, model_, "chat");
        span.describe_request(request.parameters, on_piece || request.on_bytes);
        span.describe_said(request.messages);
        auto headers = trace_headers(span.context());
        headers.insert(headers.end(), request.headers.begin(), request.headers.end());
        ModelRequest asked = request;
        asked.headers = headers;
        if (request.on_bytes)
            asked.on_bytes = [&](std::string_view bytes) {
                span.first_piece();
                return request.on_bytes(bytes);
            };
        OnPiece told;
        if (on_piece)
            told = [&](const StreamDelta& delta) {
                span.first_piece();
                return on_piece(delta);
            };
        Result<Reply> reply = model_.call(asked, told);
        span.describe(reply);
        if (reply && reply->interrupted) count_cut(reply->cut);
        if (on_spent_ && (reply || may_cost(reply.error())))
            on_spent_(usage_or_estimate(reply ? &*reply : nullptr, tokens_in(request.messages)));
        return reply;
    }

    Result<RelayReply> relay(const RelayRequest& request,
                             const std::function<bool(std::string_view)>& on_bytes) override {
        ModelSpan span(*trace_, model_, operation_of(request.path));
        RelayRequest asked = request;
        for (auto& header : trace_headers(span.context()))
            asked.headers.push_back(std::move(header));
        if (!span.recorded() && !on_spent_) {
            Result<RelayReply> relayed = model_.relay(asked, on_bytes);
            if (relayed && relayed->cut) count_cut(cut_of(request));
            return relayed;
        }
        RelayTap tap(model_.format(), on_bytes);
        Result<RelayReply> relayed = model_.relay(asked, [&](std::string_view bytes) {
            span.first_piece();
            return tap.take(bytes);
        });
        // There is no server: the caller asks in another way.
        if (!relayed && relayed.error().code == ErrorCode::unprocessable) {
            span.drop();
            return relayed;
        }
        describe(span, request, relayed, tap);
        return relayed;
    }

private:
    // Whose stream was passed on as it came.
    static std::optional<ErrorCode> cut_of(const RelayRequest& request) {
        if (request.stop.stop_requested()) return {};
        return ErrorCode::upstream_failed;
    }
    void count_cut(std::optional<ErrorCode> reason) {
        meters_->count_cut(reason);
        if (reason) trace_->tell_fault(*reason);
    }

    void describe(ModelSpan& span, const RelayRequest& request, Result<RelayReply>& relayed,
                  RelayTap& tap) {
        span.describe_request(request.body, tap.streamed());
        std::optional<Reply> reply = relayed ? tap.reply(*relayed) : std::nullopt;
        if (relayed && relayed->cut) {
            count_cut(cut_of(request));
            if (reply) reply->cut = cut_of(request);
        }
        if (reply)
            span.describe(*reply);
        else
            span.describe(relayed);
        if (reply) relayed->usage = reply->usage;
        const bool answered = relayed && relayed->status < 300;
        const bool cost = answered || (!relayed && may_cost(relayed.error()));
        if (!on_spent_ || !cost || operation_of(request.path) == "count_tokens") return;
        on_spent_(
            usage_or_estimate(reply ? &*reply : nullptr, request.body.size() / bytes_a_token));
    }

    Model& model_;
    const std::shared_ptr<RequestTrace> trace_;
    const std::shared_ptr<RequestMeters> meters_;
    const OnSpent on_spent_;
};

// That it cannot be written is no reason to keep an answer back that was given.
OnSpent spending_of(const Call& call, const Model& model) {
    if (call.caller.budget.empty()) return {};
    return [&memory = call.site.memory, id = call.caller.id,
            name = std::string(model.name())](const ReplyUsage& usage) {
        (void)add_spent(memory.store(), id, system_now(),
                        {.tokens = usage.input_tokens + usage.output_tokens,
                         .dollars = memory.cost_of(name, usage_of(usage)).value_or(0)});
    };
}

// Others were looked at when they came.
std::optional<Error> over_budget(const Call& call) {
    if (!call.route.asks_model || call.caller.budget.empty() || !may_repeat(call.request))
        return {};
    const auto denied = Access(call.site.memory.store(), {}).check_budget(call.caller);
    return denied ? std::optional(denied->error) : std::nullopt;
}

// A model that a caller may not ask any more, for what is read of it without asking.
class UnpaidModel final : public Model {
public:
    UnpaidModel(Model& model, Error why) : model_(model), why_(std::move(why)) {}

    std::string_view name() const override { return model_.name(); }
    std::string_view server_name() const override { return model_.server_name(); }
    FormatId format() const override { return model_.format(); }
    Result<Reply> call(const ModelRequest&, const OnPiece&) override {
        return std::unexpected(why_);
    }
    Result<RelayReply> relay(const RelayRequest&,
                             const std::function<bool(std::string_view)>&) override {
        return std::unexpected(why_);
    }

private:
    Model& model_;
    const Error why_;
};

// Whether the turn of that key has its answer. A store looks at the key before all else, so what
// could never be written asks for it without writing.
bool has_answer(Store& store, const KeyedTurn& turn) {
    if (turn.key.empty()) return false;
    Batch question{.key = turn.key + "/out", .expected_log = LogId{}};
    question.if_absent = IfAbsent::fail;
    const auto known = store.append(turn.name, question);
    return known || known.error().code == ErrorCode::unprocessable;
}

}  // namespace

Result<void> check_paid(const Call& call, std::span<const KeyedTurn> keyed) {
    auto over = over_budget(call);
    if (!over) return {};
    for (const KeyedTurn& turn : keyed)
        if (has_answer(call.site.memory.store(), turn)) return {};
    return std::unexpected(*std::move(over));
}

bool is_over_budget(const Error& error) {
    return error.code == ErrorCode::rate_limited && error.param == "budget";
}

Result<void> check_may_ask(const Call& call, std::string_view name) {
    if (call.caller.may_ask(name)) return {};
    return fail(ErrorCode::forbidden, "this key may not ask that model", "model");
}

Result<std::shared_ptr<Model>> choose_model(Call& call, std::string_view name) {
    const Result<Model*> chosen = call.site.models.choose(name);
    // To a key that may ask some models only, those that are not there look like the others.
    PAL_CHECK(check_may_ask(call, chosen ? (*chosen)->name() : name));
    PAL_TRY(model, chosen);
    if (auto over = over_budget(call))
        return std::make_shared<UnpaidModel>(*model, *std::move(over));
    return std::make_shared<AskedModel>(*model, call.trace, call.site.meters,
                                        spending_of(call, *model));
}

SummaryTerms summary_terms(const Call& call) {
    SummaryTerms terms{.models = call.caller.models};
    if (call.caller.budget.empty()) return terms;
    terms.may_spend = [&store = call.site.memory.store(), caller = call.caller]() -> Result<void> {
        auto denied = Access(store, {}).check_budget(caller);
        if (denied) return std::unexpected(std::move(denied->error));
        return {};
    };
    terms.on_spent = [&store = call.site.memory.store(), id = call.caller.id](std::uint64_t tokens,
                                                                              double dollars) {
        (void)add_spent(store, id, system_now(), {.tokens = tokens, .dollars = dollars});
    };
    return terms;
}

Result<Begun> begin_for(const Call& call, const ConversationId& name, BeginRequest request) {
    request.summaries = summary_terms(call);
    // A count of attempts makes keys of its own, which are good for a short time (retry_key.h).
    const bool keyed = !call.key.empty() && !call.retry;
    if (keyed && call.route.own_key) PAL_CHECK(check_not_erased(call, name.id));
    Result<Begun> begun = begin_traced(*call.trace, call.site.memory, name, request);
    // Kept now: the model may fail, or the client leave, before there is an answer.
    if (begun && keyed) PAL_CHECK(begun->stored());
    if (begun && keyed) keep_request(call, begun->view.header.end, begun->log, name.id);
    return begun;
}

Result<std::uint64_t> count_for_model(const Call& call, std::string_view name, const Model* model,
                                      FormatId format, std::string_view body) {
    const ModelTable models(call.site.memory.shared_options().models, {});
    ModelMatch match = models.match(name);
    if (!match.known && model) match = models.match(model->server_name());
    PAL_TRY(tokenizer, open_tokenizer(match.spec->encoding));
    const auto counter = tokenizer->counter();
    PAL_TRY(counted, count_request(format, *match.spec, *counter, body));
    return match.spec->exact ? counted.total() : Calibration(*match.spec).estimate(counted);
}

}  // namespace palimpsest
