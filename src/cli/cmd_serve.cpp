// serve: the server in the foreground, until SIGINT or SIGTERM; SIGHUP reads the settings again.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json_write.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/serve_terms.h"
#include "cli/tracing.h"
#include "net/listen.h"
#include "net/url.h"
#include "server/kept_words.h"
#include "store/sweep_guard.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"check", "",
     "Only try whether the server would start: settings, store, models, keys. Leaves nothing "
     "behind."},
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

int network_threads(const Settings& settings) {
    const std::uint64_t cores = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    return static_cast<int>(settings.network_threads > 0 ? settings.network_threads : cores);
}

// Blocked in every thread that starts after this, so that only wait_for_stop sees them.
sigset_t block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

// In the audit log of the server's own tenant: a store tells how many went, not whose.
void note_sweep(Store& store, const std::string& tenant, std::size_t went) {
    if (went == 0) return;
    auto act = begin_act(store, tenant, "retention.sweep", std::to_string(went) + " expired");
    if (act) act->end();
}

// Whoever sweeps, once an hour also what is kept of conversations that are gone: a database may
// have removed them by itself, or another server.
class Sweeper {
public:
    explicit Sweeper(Serving& serving)
        : serving_(serving), sweeps_(serving.memory.store(), serving.settings.tenant) {}
    void run() {
        constexpr std::size_t at_once = 1000;
        constexpr Duration between_looks = std::chrono::hours(1);
        Store& store = serving_.memory.store();
        const auto swept = sweeps_.run(system_now(), running_time(), at_once);
        if (!swept || !*swept) return;
        note_sweep(store, serving_.settings.tenant, **swept);
        if (looked_at_ && running_time() - *looked_at_ < between_looks) return;
        if (purge_gone(store)) looked_at_ = running_time();
    }

private:
    Serving& serving_;
    GuardedSweeps sweeps_;
    std::optional<Duration> looked_at_ = {};
};

// That it cannot be written down is no reason to keep settings that someone wants to be rid of.
void reload_now(Serving& serving, const Invocation& call) {
    auto act = begin_act(serving.memory.store(), serving.settings.tenant, "settings.reload", "");
    Result<Settings> next = call.read_settings();
    const Result<Reloaded> reloaded =
        next ? reload(serving, *std::move(next)) : std::unexpected(next.error());
    if (act) act->end(reloaded ? nullptr : &reloaded.error());
    write_log_line(write_reloaded(reloaded));
}

// Until a signal comes that says so; expired conversations are removed meanwhile. They are
// invisible anyway, so a sweep that fails is simply tried again a minute later.
void wait_for_stop(const sigset_t& signals, Serving& serving, const Invocation& call) {
    constexpr timespec between_sweeps{.tv_sec = 60, .tv_nsec = 0};
    Sweeper sweeper(serving);
    while (true) {
        const int number = sigtimedwait(&signals, nullptr, &between_sweeps);
        if (number == SIGHUP)
            reload_now(serving, call);
        else if (number > 0)
            return;
        else if (errno == EAGAIN)
            sweeper.run();
    }
}

void announce(Invocation& call, const std::string& address, const Durability& durability) {
    const std::string url = (call.settings.tls_cert.empty() ? "http://" : "https://") + address;
    if (call.json()) {
        call.out.json_line("{\"listen\":" + json_string(address) + ",\"url\":" + json_string(url) +
                           ",\"store\":" + json_string(without_password(call.settings.store)) +
                           ",\"durability\":" + json_string(durability.level) + "}");
        return;
    }
    call.out.line("palimpsest listens on " + url + " (store " +
                  printable(without_password(call.settings.store)) + ", model " +
                  printable(call.settings.model) + ")");
    call.out.line("try: curl " + url +
                  "/api/v1/chat -H 'Content-Type: application/json' -d '{\"message\":\"Hello\"}'");
    call.out.line("what it acknowledges is kept: " + printable(durability.level));
    call.out.line("Ctrl-C stops it");
}

ServerOptions options_of(const Settings& settings, const Listen& listen) {
    return {.host = listen.host,
            .port = listen.port,
            .tenant = settings.tenant,
            .open_to_anyone = !settings.without_keys.empty(),
            .network_threads = network_threads(settings),
            .store_threads = static_cast<int>(settings.store_threads),
            .turns_max = settings.turns_max,
            .terms = terms_of(settings)};
}

// Models that could not be asked. The server starts without their keys: they may come later.
std::vector<std::string> missing_keys(const Models& models) {
    std::vector<std::string> lines;
    for (const auto& model : models.all())
        if (const auto key = model->check_key(); !key) lines.push_back(key.error().message);
    return lines;
}

// A store that is not there yet is tried beside its place, under a name that nobody else has, and
// goes again: nobody is to find one that was only tried. A database is left as it is.
class Trial {
public:
    explicit Trial(std::string_view url) : suffix_(".check-" + hex(random_log_id()).substr(0, 12)) {
        const std::size_t options = std::min(url.find('?'), url.size());
        url_ = "memory:";
        if (!url.starts_with("sqlite:") && !url.starts_with("files:")) return;
        path_ = std::string(url.substr(0, options).substr(url.find(':') + 1)) + suffix_;
        url_ = std::string(url.substr(0, options)) + suffix_ + std::string(url.substr(options));
    }
    ~Trial() {
        std::error_code ignored;
        for (const std::string_view part : {"", "-wal", "-shm", "-journal", ".lock"})
            if (!path_.empty()) std::filesystem::remove_all(path_ + std::string(part), ignored);
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    Result<Memory> open(Settings settings) const {
        settings.store = url_;
        auto memory = open_memory(settings, {});
        if (memory) return memory;
        Error error = std::move(memory).error();
        if (const auto at = error.message.find(suffix_); at != error.message.npos)
            error.message.erase(at, suffix_.size());
        return std::unexpected(std::move(error));
    }
    bool tries_the_place() const { return !path_.empty(); }

private:
    std::string suffix_, url_, path_;
};

// `durability`: of the store; none where it was not tried.
void print_good(Invocation& call, const std::optional<Durability>& durability,
                const std::vector<std::string>& warnings) {
    if (call.json()) {
        std::string line;
        JsonWriter json(line);
        json.begin_object().field("status", "ok").key("durability");
        durability ? json.string(durability->level) : json.null();
        json.key("warnings").begin_array();
        for (const std::string& warning : warnings) json.string(warning);
        json.end_array().end_object();
        call.out.json_line(line);
        return;
    }
    std::string good = "these settings are good";
    if (durability)
        good += "; the store keeps what it acknowledges: " + printable(durability->level);
    call.out.line(good);
    for (const std::string& warning : warnings) call.out.line("warning: " + printable(warning));
}

// Whether `serve` would start with these settings: store, models, keys, certificate and address.
// The port may be in use, by the very server that is to be replaced; so a free one is tried.
Result<int> check_settings(Invocation& call, Listen listen) {
    listen.port = 0;
    PAL_TRY(identity, open_identity(call.settings));
    const Trial trial(call.settings.store);
    auto memory = open_memory(call.settings, {.create = false});
    const bool absent = !memory && memory.error().code == ErrorCode::not_found;
    if (absent) memory = trial.open(call.settings);
    if (!memory) return std::unexpected(std::move(memory).error());
    PAL_TRY(models, open_models(call.settings));
    PAL_CHECK(open_tracer(call.settings));
    std::vector<std::string> warnings = missing_keys(models);
    const bool tried = !absent || trial.tries_the_place();
    if (!tried)
        warnings.emplace_back("there is no store yet; whether one can be made there was not tried");
    ServerOptions options = options_of(call.settings, listen);
    options.tls = identity;
    PAL_CHECK(Server::start(*memory, std::move(models), std::move(options)));
    print_good(call, tried ? std::optional(memory->store().durability()) : std::nullopt, warnings);
    return 0;
}

// Where commands beside this server reach its store: at the server itself, or with TLS at a door of
// their own, because the certificate need not name this machine's loopback.
Result<Listen> store_door(const Listen& listen, bool tls) {
    if (!tls) return listen;
    Listen door{.host = "127.0.0.1", .port = 0};
    PAL_TRY(port, free_port(door));
    door.port = port;
    return door;
}

}  // namespace

extern const Flags serve_flags;
const Flags serve_flags = flags;

Result<int> run_serve(Invocation& call) {
    const sigset_t signals = block_signals();
    const Settings& settings = call.settings;
    PAL_TRY(listen, parse_listen(settings.listen));
    if (call.arguments.has("check")) return check_settings(call, listen);
    PAL_TRY(identity, open_identity(settings));
    PAL_TRY(port, free_port(listen));
    listen.port = port;
    PAL_TRY(door, store_door(listen, identity != nullptr));
    const std::string token = hex(random_log_id());
    const auto logging = std::make_shared<std::atomic<bool>>(settings.log_level == "info");
    MemoryOptions background{.policy = std::string(default_policy), .background = true};
    background.log = [logging](std::string_view line) {
        if (*logging) write_log_line(line);
    };
    PAL_TRY(memory,
            open_memory(settings, {.holder_address = authority(door), .holder_token = token},
                        std::move(background)));
    PAL_TRY(models, open_models(settings));
    ServerOptions options = options_of(settings, listen);
    PAL_TRY(tracer, open_tracer(settings));
    options.tracer = std::move(tracer);
    options.store_token = token;
    options.run_jobs = true;
    options.tls = identity;
    if (identity) options.store_port = door.port;
    PAL_TRY(server, Server::start(memory, std::move(models), std::move(options)));
    announce(call, authority(listen), memory.store().durability());
    PAL_CHECK(call.out.flush());
    Serving serving{.settings = settings,
                    .memory = memory,
                    .server = *server,
                    .identity = identity,
                    .logging = logging};
    wait_for_stop(signals, serving, call);
    server->stop(std::chrono::milliseconds(serving.settings.grace_ms));
    return 0;
}

}  // namespace palimpsest
