// serve: the server in the foreground, until SIGINT or SIGTERM.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/clock.h"
#include "base/ids.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/tracing.h"
#include "net/listen.h"
#include "palimpsest/model.h"
#include "server/server.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"check", "", "Only try whether the server would start: settings, store, models, keys."},
};

std::string authority(const Listen& listen) {
    const bool six = listen.host.find(':') != std::string::npos;
    return (six ? "[" + listen.host + "]" : listen.host) + ":" + std::to_string(listen.port);
}

// The lock file names the address before the server listens, so "any free port" (0) is chosen here;
// and a port that is in use is refused before a store is made. Between this and listening another
// process could take it; serve then fails and says so.
Result<std::uint16_t> free_port(const Listen& listen) {
    PAL_TRY(listener, listen_on(listen.host, listen.port));
    close(listener.descriptor);
    return listener.port;
}

// Blocked in every thread that starts after this, so that only wait_for_stop sees them.
sigset_t block_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

// The settings' model, which answers where a request names none, and all that say where they are.
Result<Models> open_models(const Settings& settings) {
    Models models;
    PAL_TRY(first, open_model(settings));
    models.add(std::move(first));
    for (const Endpoint& endpoint : settings.endpoints) {
        if (endpoint.name == settings.model) continue;
        PAL_TRY(model, make_http_model(endpoint));
        models.add(std::move(model));
    }
    if (settings.unknown_model == "default") models.answer_to_any_name();
    return models;
}

// In the audit log of the server's own tenant: a store tells how many went, not whose.
void note_sweep(Store& store, const std::string& tenant, const Result<std::size_t>& swept) {
    if (!swept || *swept == 0) return;
    auto act = begin_act(store, tenant, "retention.sweep", std::to_string(*swept) + " expired");
    if (act) act->end();
}

// Until a signal comes; expired conversations are removed meanwhile. They are invisible anyway, so
// a sweep that fails is simply tried again a minute later.
void wait_for_stop(const sigset_t& signals, Store& store, const std::string& tenant) {
    constexpr timespec between_sweeps{.tv_sec = 60, .tv_nsec = 0};
    constexpr std::size_t swept_at_once = 1000;
    SweepGuard guard;
    while (sigtimedwait(&signals, nullptr, &between_sweeps) < 0)
        if (errno == EAGAIN && guard.may_sweep(system_now(), running_time()))
            note_sweep(store, tenant, store.sweep(swept_at_once));
}

void write_log_line(std::string_view line) {
    std::string text(line);
    text += '\n';
    // One write a line: lines of several threads do not mix. A log that cannot be written is lost.
    [[maybe_unused]] const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
}

void announce(Invocation& call, const std::string& address) {
    if (call.json()) {
        call.out.json_line("{\"listen\":" + json_string(address) +
                           ",\"store\":" + json_string(call.settings.store) + "}");
        return;
    }
    call.out.line("palimpsest listens on http://" + address + " (store " +
                  printable(call.settings.store) + ", model " + printable(call.settings.model) +
                  ")");
    call.out.line("try: curl http://" + address +
                  "/api/v1/chat -H 'Content-Type: application/json' -d '{\"message\":\"Hello\"}'");
    call.out.line("Ctrl-C stops it");
}

ServerOptions options_of(const Settings& settings, const Listen& listen) {
    ServerOptions options{.host = listen.host,
                          .port = listen.port,
                          .tenant = settings.tenant,
                          .open_to_anyone = !settings.without_keys.empty(),
                          .hosts = split_list(settings.hosts),
                          .body_bytes_max = settings.body_bytes_max,
                          .connections_max = settings.connections_max,
                          .network_threads = static_cast<int>(settings.network_threads),
                          .store_threads = static_cast<int>(settings.store_threads),
                          .turn_threads = static_cast<int>(settings.turns_max),
                          .finish_abandoned = settings.client_gone == "finish"};
    if (settings.log_level == "info") options.log = write_log_line;
    return options;
}

// Whether `serve` would start with these settings: store, models, keys and address. The port may be
// in use, by the very server that is to be replaced; so a free one is tried.
Result<int> check_settings(Invocation& call, Listen listen) {
    listen.port = 0;
    PAL_TRY(memory, open_memory(call.settings, {}));
    PAL_TRY(models, open_models(call.settings));
    PAL_CHECK(open_tracer(call.settings));
    PAL_CHECK(Server::start(memory, std::move(models), options_of(call.settings, listen)));
    const Durability durability = memory.store().durability();
    if (call.json())
        call.out.json_line("{\"status\":\"ok\",\"durability\":" + json_string(durability.level) +
                           "}");
    else
        call.out.line("these settings are good; the store keeps what it acknowledges: " +
                      printable(durability.level));
    return 0;
}

}  // namespace

extern const Flags serve_flags;
const Flags serve_flags = flags;

Result<int> run_serve(Invocation& call) {
    const sigset_t signals = block_stop_signals();
    const Settings& settings = call.settings;
    PAL_TRY(listen, parse_listen(settings.listen));
    if (call.arguments.has("check")) return check_settings(call, listen);
    PAL_TRY(port, free_port(listen));
    listen.port = port;
    const std::string token = hex(random_log_id());
    MemoryOptions background{.policy = std::string(default_policy), .background = true};
    if (settings.log_level == "info") background.log = write_log_line;
    PAL_TRY(memory,
            open_memory(settings, {.holder_address = authority(listen), .holder_token = token},
                        std::move(background)));
    PAL_TRY(models, open_models(settings));
    ServerOptions options = options_of(settings, listen);
    PAL_TRY(tracer, open_tracer(settings));
    options.tracer = std::move(tracer);
    options.store_token = token;
    options.run_jobs = true;
    PAL_TRY(server, Server::start(memory, std::move(models), std::move(options)));
    announce(call, authority(listen));
    PAL_CHECK(call.out.flush());
    wait_for_stop(signals, memory.store(), settings.tenant);
    server->stop(std::chrono::milliseconds(settings.grace_ms));
    return 0;
}

}  // namespace palimpsest
