#include "server/server.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "model/refusal.h"
#include "net/errand.h"
#include "server/acts.h"
#include "server/answer_stream.h"
#include "server/asked_model.h"
#include "server/edge.h"
#include "server/guard.h"
#include "server/job_runner.h"
#include "server/keeper.h"
#include "server/openapi.h"
#include "server/request_meters.h"
#include "server/request_trace.h"
#include "server/respond.h"
#include "server/retry_key.h"
#include "server/router.h"
#include "server/sites.h"
#include "server/upstream_probe.h"

namespace palimpsest {
namespace {

using Instant = std::chrono::steady_clock::time_point;

constexpr std::size_t network_body_bytes_max = std::size_t{64} << 10;

Repeat repeat_of(const HttpRequest& request) {
    return {.changes = request.method != "GET" && request.method != "HEAD",
            .keyed = request.headers.find("Idempotency-Key").has_value() ||
                     (request.path.starts_with("/v1/") && counts_attempts(request))};
}

// A route that recognises its repeats by itself needs no key.
Repeat repeat_of(const HttpRequest& request, const Route& route) {
    Repeat repeat = repeat_of(request);
    repeat.keyed = repeat.keyed || route.own_key;
    return repeat;
}

// Clients of a provider's API are told of their own mistakes with the provider's status. That it
// does not take our key, or is busy, is no mistake of theirs.
HttpResponse write_refusal(const Error& error, const HttpRequest& request, const Route& route) {
    HttpResponse response = write_error(error, repeat_of(request, route), route.errors);
    // How long to wait the model's server knows best.
    if (const int seconds = refused_wait_s(error))
        response.headers.set("Retry-After", std::to_string(seconds));
    const int status = route.pattern.starts_with("/v1/") ? refused_status(error) : 0;
    if (status != 400 && status != 404 && status != 413 && status != 422) return response;
    response.status = status;
    response.headers.set("x-should-retry", "false");
    if (route.errors == ErrorShape::anthropic)
        response.body = anthropic_error(status, error.message);
    return response;
}

// The way out of a route: see Outlet. Belongs to the worker.
class WorkerOutlet final : public Outlet {
public:
    WorkerOutlet(Exchange& exchange, std::string request_id)
        : exchange_(exchange), request_id_(std::move(request_id)) {}

    void start(HttpResponse head) override {
        if (started_) return;
        started_ = true;
        set_request_id(head, request_id_, exchange_.request().path);
        exchange_.start_from_worker(std::move(head));
    }
    bool write(std::string_view bytes) override {
        if (!started_) start(event_stream());
        sent_ += bytes.size();
        return exchange_.write_from_worker(bytes);
    }
    bool started() const override { return started_; }
    std::stop_token stop() const override { return exchange_.stop_token(); }
    std::stop_token halt() const override { return exchange_.halt_token(); }
    bool ending() const override { return exchange_.draining(); }
    std::size_t sent() const { return sent_; }

private:
    Exchange& exchange_;
    const std::string request_id_;
    bool started_ = false;
    std::size_t sent_ = 0;
};

// What a worker made of a request: an answer, or the head of a stream and what writes it.
struct Outcome {
    HttpResponse response;
    std::function<void(const SendEvent& send)> stream;
};

HttpResponse write_denied(const Denied& denied, const Route& route) {
    HttpResponse response = write_error(denied.error, {}, route.errors);
    if (denied.retry_after_s)
        response.headers.set("Retry-After", std::to_string(denied.retry_after_s));
    if (denied.error.code == ErrorCode::unauthorized)
        response.headers.set("WWW-Authenticate", "Bearer");
    return response;
}

std::string_view key_of(const HttpRequest& request) {
    return key_text(request.header("Authorization"), request.header("x-api-key"));
}

// What is known of a request before anybody looks at it.
struct Arrival {
    std::string id = {};
    std::shared_ptr<RequestTrace> trace = {};
    std::string key = {};                   // its id, once it is known
    std::size_t streamed = 0;               // bytes of its answer, where that is a stream
    std::string_view fault = {};            // what ended its stream before the answer did
    RequestMeters::StreamPlace place = {};  // of its answer, where that is to be a stream
};

std::string span_name(const HttpRequest& request, const Route* route) {
    return route ? std::string(route->method) + " " + std::string(route->pattern) : request.method;
}

void describe_request(Span& span, const HttpRequest& request, const Route* route,
                      std::string_view id, int status, std::string_view fault) {
    span.set("http.request.method", request.method);
    if (route) span.set("http.route", std::string(route->pattern));
    span.set("http.response.status_code", std::int64_t{status});
    span.set("palimpsest.request.id", std::string(id));
    if (status >= 500)
        span.fail(std::to_string(status));
    else if (!fault.empty())
        span.fail(fault);
}

// A caller that wants its answer as a stream: by the body, or by the query of a read.
bool wants_stream(const Call& call) {
    if (!call.route.streams) return false;
    const auto field = call.field("stream");
    return (field && field->boolean().value_or(false)) || call.query.flag("stream");
}

// The stream, and what follows if its client takes all of it.
std::function<void(const SendEvent&)> noting(std::function<void(const SendEvent&)> stream,
                                             std::function<void()> delivered) {
    if (!delivered) return stream;
    return [stream = std::move(stream), delivered = std::move(delivered)](const SendEvent& send) {
        bool all = true;
        stream([&](const ServerEvent& event) {
            const bool taken = send(event);
            all = all && taken;
            return taken;
        });
        if (all) delivered();
    };
}

}  // namespace

struct Server::State {
    std::shared_ptr<RequestMeters> meters;
    std::shared_ptr<Tracer> tracer;
    std::unique_ptr<Sites> sites;
    std::unique_ptr<Access> access;
    ServerOptions options;
    std::shared_ptr<Terms> terms;
    Models models = {};  // the same as those of all sites
    SchemaSet schemas = {};
    std::unique_ptr<RequestIds> request_ids = std::make_unique<RequestIds>();
    std::uint16_t port = 0;
    std::unique_ptr<HttpServer> http = {};
    std::unique_ptr<HttpServer> store_http = {};  // see ServerOptions::store_port
    std::unique_ptr<JobRunner> jobs = {};

    Lane lane_of(const Route* route, const HttpRequest& request);
    std::expected<ApiKey, Denied> admit(const Route& route, const HttpRequest& request);
    Outcome answer(RouteMatch match, const HttpRequest& request, Arrival& arrival, Outlet& out);
    Outcome route_and_answer(const HttpRequest& request, Arrival& arrival, Result<RouteMatch> match,
                             Outlet& out);
    Task<void> serve(Exchange& exchange);
    Task<void> stream(Exchange& exchange, Outcome& outcome, std::size_t& sent);
    void log(const HttpRequest& request, const HttpResponse& response, const Arrival& arrival,
             std::string_view trace_id, Instant begun) const;
};

// On the network thread begins only what is small, and known to need nothing that blocks until its
// route says so.
Lane Server::State::lane_of(const Route* route, const HttpRequest& request) {
    if (!route) return Lane::quick;
    if (route->lane != Lane::network) return route->lane;
    const bool quick = request.body.size() <= network_body_bytes_max && !tracer;
    return quick && access->is_fresh(key_of(request)) ? Lane::network : Lane::slow;
}

std::expected<ApiKey, Denied> Server::State::admit(const Route& route, const HttpRequest& request) {
    const bool reads = route.method == "GET";
    const Scope scope = route.scope.value_or(reads ? Scope::read : Scope::write);
    // The probes answer also when the store does not.
    if (scope == Scope::open) {
        const ApiKey nobody{.tenant = options.tenant};
        return route.knows_caller ? access->admit(key_of(request), Scope::read).value_or(nobody)
                                  : nobody;
    }
    // On the network thread what is known is fresh: lane_of() has looked.
    return access->admit(key_of(request), scope,
                         on_network() ? 2 * Access::fresh_for : Access::fresh_for / 2);
}

Outcome Server::State::answer(RouteMatch match, const HttpRequest& request, Arrival& arrival,
                              Outlet& out) {
    const Route& route = *match.route;
    const auto caller = admit(route, request);
    if (!caller) return {write_denied(caller.error(), route), {}};
    arrival.key = caller->id;
    if (!caller->budget.empty()) leave_network();  // It stands in the store.
    // What may be a repeat is looked at where it would ask: see check_paid().
    if (route.asks_model && !may_repeat(request))
        if (const auto denied = access->check_budget(*caller))
            return {write_denied(*denied, route), {}};
    Site& site = sites->of(caller->tenant);
    const auto now = terms->now();
    const ServerLimits& limits = now->limits;
    Result<Call> call = read_call(site, schemas, {limits.json_depth_max, limits.items_max},
                                  std::move(match), request);
    if (!call) return {write_error(call.error(), repeat_of(request, route), route.errors), {}};
    call->caller = *caller;
    call->request_id = arrival.id;
    call->trace = arrival.trace;
    call->finish_abandoned = now->finish_abandoned;
    if (wants_stream(*call)) {
        auto place = meters->take_stream(limits.streams_max);
        if (!place) return {write_busy("open streams", request.path), {}};
        arrival.place = *std::move(place);
    }
    call->out = &out;
    Result<RouteReply> reply = carry_out(*call);
    if (!reply && is_over_budget(reply.error()))
        if (const auto denied = access->check_budget(*caller))
            return {write_denied(*denied, route), {}};
    if (!reply && route.asks_model)
        reply = std::unexpected(why_stopped(out, std::move(reply).error()));
    if (!reply) return {write_refusal(reply.error(), request, route), {}};
    const std::function<void()> delivered = on_delivery(*call);
    if (reply->stream) return {event_stream(), noting(std::move(reply->stream), delivered)};
    if (delivered && !out.stop().stop_requested()) delivered();
    return {write_reply(route, *std::move(reply)), {}};
}

Outcome Server::State::route_and_answer(const HttpRequest& request, Arrival& arrival,
                                        Result<RouteMatch> match, Outlet& out) {
    if (!match) return {write_error(match.error(), {}, shape_of(request.path)), {}};
    if (!match->route) return {no_route(*match, request.method, request.path), {}};
    return answer(*std::move(match), request, arrival, out);
}

Task<void> Server::State::serve(Exchange& exchange) {
    const Instant begun = std::chrono::steady_clock::now();
    const HttpRequest& request = exchange.request();
    Result<RouteMatch> match = match_route(routes(), request.method, request.path);
    const Route* const route = match ? match->route : nullptr;
    const Lane lane = lane_of(route, request);
    const auto parent =
        parse_traceparent(request.header("traceparent"), request.header("tracestate"));
    Span span(tracer, tracer ? span_name(request, route) : std::string(), SpanKind::server,
              parent.value_or(TracePoint{}));
    Arrival arrival{request_ids->next(), std::make_shared<RequestTrace>(tracer, span.context())};
    WorkerOutlet out(exchange, arrival.id);
    const auto finish = [&](const HttpResponse& response) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        meters->count(route, response.status, took.count());
        arrival.fault = arrival.trace->fault();
        arrival.trace.reset();  // A turn ends before its request.
        if (tracer)
            describe_request(span, request, route, arrival.id, response.status, arrival.fault);
        log(request, response, arrival, span.context().trace_id, begun);
    };
    auto work = [&] {
        Outcome made = route_and_answer(request, arrival, std::move(match), out);
        set_request_id(made.response, arrival.id, request.path);
        if (made.stream) return made;
        arrival.streamed = out.sent();
        if (out.started()) made.response.status = 200;
        finish(made.response);
        if (!out.started()) exchange.answer_from_worker(made.response);
        return made;
    };
    // The probes tell the truth about a server that is busy, so they wait.
    const bool waits = route && route->scope == Scope::open;
    if (!waits && exchange.busy(lane)) {
        meters->refuse(RequestMeters::Refusal::queue);
        HttpResponse busy = write_busy("requests wait", request.path);
        set_request_id(busy, arrival.id, request.path);
        finish(busy);
        exchange.answer(std::move(busy));
        co_return;
    }
    Outcome outcome = co_await exchange.run(work, lane);
    if (!outcome.stream) co_return;
    co_await stream(exchange, outcome, arrival.streamed);
    finish(outcome.response);
}

// Also when the client has gone already: the turn was begun, and what the model says is stored.
Task<void> Server::State::stream(Exchange& exchange, Outcome& outcome, std::size_t& sent) {
    co_await exchange.start(outcome.response);
    const SendEvent send = [&exchange, &sent](const ServerEvent& event) {
        const std::string bytes = write_event(event);
        sent += bytes.size();
        return exchange.write_from_worker(bytes);
    };
    auto work = [&] { outcome.stream(send); };
    co_await exchange.run(work, Lane::slow);
}

// Before the answer goes out, so that who has it finds it counted and logged.
void Server::State::log(const HttpRequest& request, const HttpResponse& response,
                        const Arrival& arrival, std::string_view trace_id, Instant begun) const {
    const auto now = terms->now();
    if (!now->log) return;
    const auto took = std::chrono::steady_clock::now() - begun;
    now->log(write_log_line(
        {.request_id = arrival.id,
         .method = request.method,
         .path = request.path,
         .peer = request.peer,
         .key = arrival.key,
         .trace_id = trace_id,
         .status = response.status,
         .fault = arrival.fault,
         .micros = std::chrono::duration_cast<std::chrono::microseconds>(took).count(),
         .bytes_in = request.body.size(),
         .bytes_out = arrival.streamed > 0 ? arrival.streamed : response.body.size()}));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
    stop(std::chrono::milliseconds(0));
}

Result<std::unique_ptr<Server>> Server::start(Memory& memory, Model& model, ServerOptions options) {
    Models models;
    models.add(std::shared_ptr<Model>(std::shared_ptr<Model>(), &model));
    return start(memory, std::move(models), std::move(options));
}

namespace {

Result<void> check_listen(const ServerOptions& options, Access& access) {
    if (is_loopback(options.host) || options.open_to_anyone) return {};
    PAL_TRY(keyed, access.has_keys());
    if (keyed) return {};
    return fail(ErrorCode::forbidden,
                "without keys this server listens on loopback only; make one with `pal keys "
                "create`, or say --without-keys \"anyone may use it\"",
                "listen");
}

Site make_site(Memory& memory, Models models, const ServerOptions& options) {
    return {.memory = memory,
            .models = std::move(models),
            .running = {},  // each site has its own
            .tenant = options.tenant,
            .store_token = options.store_token,
            .openapi =
                std::make_shared<const std::string>(write_openapi(routes(), palimpsest::schemas())),
            .keeper = std::make_shared<Keeper>(),
            .meters = std::make_shared<RequestMeters>(),
            .tracer = options.tracer,
            .probe = std::make_shared<UpstreamProbe>(),
            .secure = options.tls != nullptr};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(Memory& memory, Models models,
                                              ServerOptions options) {
    PAL_CHECK(check_id(options.tenant, "tenant"));
    Site site = make_site(memory, models, options);
    const std::shared_ptr<RequestMeters> meters = site.meters;
    const std::shared_ptr<Tracer> site_tracer = site.tracer;
    const auto terms = std::make_shared<Terms>(options.terms);
    HttpServerOptions edge = public_edge(options, terms, meters);
    auto access = std::make_unique<Access>(memory.store(), options.tenant);
    PAL_CHECK(check_listen(options, *access));
    auto state = std::make_unique<State>(State{.meters = meters,
                                               .tracer = site_tracer,
                                               .sites = std::make_unique<Sites>(std::move(site)),
                                               .access = std::move(access),
                                               .options = std::move(options),
                                               .terms = terms,
                                               .models = std::move(models)});
    for (const Route& route : routes())
        for (const Parameter& row : route.query) state->schemas.add(row.schema);
    State* const self = state.get();
    const HttpService service = [self](Exchange& exchange) { return self->serve(exchange); };
    state->http = std::make_unique<HttpServer>(std::move(edge), service);
    meters->ask_load([http = state->http.get()] { return write_load(*http); });
    PAL_TRY(port, state->http->start());
    state->port = port;
    if (state->options.store_port != 0) {
        state->store_http = std::make_unique<HttpServer>(store_edge(state->options), service);
        PAL_CHECK(state->store_http->start());
    }
    if (state->options.run_jobs)
        state->jobs = std::make_unique<JobRunner>(
            memory, [sites = state->sites.get()] { return sites->tenants(); }, state->tracer);
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const {
    return state_->port;
}

void Server::reload(Models models, ServerTerms terms) {
    state_->models.replace(models);
    reload(std::move(terms));
}

void Server::reload(ServerTerms terms) {
    state_->http->set_limits(http_limits(terms.limits));
    state_->terms->replace(std::move(terms));
}

void Server::stop(std::chrono::milliseconds grace) {
    state_->jobs.reset();
    // A stored response goes on when its client has gone, so it is told when the grace is over.
    std::jthread hurry([&](const std::stop_token& stopped) {
        std::mutex mutex;
        std::condition_variable_any woken;
        std::unique_lock lock(mutex);
        if (woken.wait_for(lock, stopped, grace, [] { return false; }); !stopped.stop_requested())
            state_->sites->interrupt();
    });
    state_->http->stop(static_cast<int>(grace.count()));
    if (state_->store_http) state_->store_http->stop(0);
    hurry = {};
    state_->sites->stop();
}

}  // namespace palimpsest
