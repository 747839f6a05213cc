#include "server/response_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "net/stream.h"
#include "server/kept_words.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::string_view running_space = "responses", cancel_space = "response_cancels",
                           delete_space = "response_deletes";
constexpr Duration kept_for = std::chrono::hours(1);
constexpr Duration announced_for = std::chrono::seconds(15);
constexpr Duration renewed_every = std::chrono::seconds(5);
constexpr Duration renewed_in_background = std::chrono::seconds(1);
constexpr Duration fresh_for = std::chrono::seconds(2);  // of a sign of one in the background
constexpr Duration asked_every = std::chrono::milliseconds(500);
constexpr Duration silent_for = std::chrono::milliseconds(200);
constexpr int looks_ms = 100;
constexpr std::size_t chunk_bytes_max = 256u << 10;
constexpr std::size_t piece_bytes_max = 4 * chunk_bytes_max;  // that one look copies
constexpr int background_threads = 64;
constexpr std::size_t background_max = 1000;

std::string chunk_key(const std::string& id, std::uint64_t epoch, std::size_t chunk) {
    return fmt::format("{}/{}/{:08}", id, epoch, chunk);
}

}  // namespace

void LiveResponse::add(std::string_view events) {
    if (!options_.kept) return;  // Nobody will read them.
    const std::scoped_lock lock(mutex_);
    bytes_ += events;
    tell();
}

void LiveResponse::end(std::optional<Error> failure) {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    failure_ = std::move(failure);
    tell();
}

std::optional<Error> LiveResponse::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

void LiveResponse::cancel() {
    {
        const std::scoped_lock lock(mutex_);
        cancelled_ = true;
    }
    stop_.request_stop();
}

bool LiveResponse::cancelled() const {
    const std::scoped_lock lock(mutex_);
    return cancelled_;
}

// With the lock held, as piece().
void LiveResponse::tell() const {
    changed_.notify_all();
    for (const Parked& one : parked_)
        one.loop->post([bell = one.bell] {
            if (*bell) (*bell)->wake();
        });
}

LiveResponse::Piece LiveResponse::piece(std::size_t from) const {
    const std::size_t at = std::min(from, bytes_.size());
    const bool all = bytes_.size() - at <= piece_bytes_max;
    return {bytes_.substr(at, piece_bytes_max), ended_ && all};
}

LiveResponse::Piece LiveResponse::wait(std::size_t from, Duration patience) const {
    if (Errand* const errand = Errand::current()) return park(*errand, from, patience);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return ended_ || bytes_.size() > from; });
    return piece(from);
}

// Whoever rings does it through the loop, so on its thread no ring comes between looking and
// parking.
LiveResponse::Piece LiveResponse::park(Errand& errand, std::size_t from, Duration patience) const {
    errand.go_to(Errand::Place::network);
    const Errand::Time until = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock(mutex_);
    parked_.push_back({&errand.loop(), errand.bell()});
    while (!ended_ && bytes_.size() <= from && std::chrono::steady_clock::now() < until) {
        lock.unlock();
        errand.park_until(until);
        lock.lock();
    }
    std::erase_if(parked_, [&](const Parked& one) { return one.bell == errand.bell(); });
    return piece(from);
}

ResponseLog::ResponseLog(Store& store, std::string tenant, Keeper& keeper)
    : store_(store),
      tenant_(std::move(tenant)),
      keeper_(keeper),
      alone_(store.held_alone()),
      workers_(std::make_unique<Workers>(background_threads)) {}

ResponseLog::~ResponseLog() {
    stop();
}

void ResponseLog::interrupt() {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const auto& [id, live] : live_) live->stop();
}

void ResponseLog::stop() {
    interrupt();
    workers_.reset();  // Waits for them.
}

std::shared_ptr<LiveResponse> ResponseLog::open(const std::string& id, LiveOptions options) {
    auto live = std::make_shared<LiveResponse>(id, options);
    Kept record{.live = live, .begun = system_now()};
    if (find(id) || (options.kept && !claim(record))) return nullptr;
    {
        const std::scoped_lock lock(mutex_);
        if (!live_.emplace(id, live).second) return nullptr;
        if (stopping_) live->stop();
    }
    keeper_.add(
        [this, record = std::move(record)](bool last) mutable { return look(record, last); });
    return live;
}

// One whose events are kept stays here until they are.
void ResponseLog::close(const std::shared_ptr<LiveResponse>& live, std::optional<Error> failure) {
    const bool kept = live->options().kept && !failure;
    live->end(std::move(failure));
    const std::scoped_lock lock(mutex_);
    if (!kept) live_.erase(live->id());
}

std::shared_ptr<LiveResponse> ResponseLog::find(const std::string& id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(id);
    return found == live_.end() ? nullptr : found->second;
}

Result<void> ResponseLog::run(std::move_only_function<void()> work) {
    {
        const std::scoped_lock lock(mutex_);
        if (stopping_ || running_ >= background_max)
            return fail(ErrorCode::unavailable, "too many responses run in the background; later");
        ++running_;
    }
    workers_->add([this, work = std::move(work)]() mutable {
        work();
        const std::scoped_lock lock(mutex_);
        --running_;
    });
    return {};
}

Result<bool> ResponseLog::is_running(const std::string& id) {
    if (find(id)) return true;
    PAL_TRY(sign, sign_of(id));
    return sign.has_value();
}

RecordKey ResponseLog::running_key(const std::string& id) const {
    return {tenant_, std::string(running_space), id};
}

// What another server says of it; none: nobody makes it.
Result<std::optional<Record>> ResponseLog::sign_of(const std::string& id) {
    if (alone_) return std::optional<Record>();
    auto record = store_.get_record(running_key(id));
    if (record) return std::optional(*std::move(record));
    if (record.error().code == ErrorCode::not_found) return std::optional<Record>();
    return std::unexpected(record.error());
}

Result<bool> ResponseLog::await_sign(const std::string& id, Hurry hurry,
                                     const std::stop_token& stop) {
    PAL_TRY(first, sign_of(id));
    const bool fresh =
        first && first->expires && system_now() < *first->expires - announced_for + fresh_for;
    if (fresh && hurry == Hurry::trusts_fresh) return true;
    for (std::optional<Record> now = first; now; pause_ms(looks_ms, stop)) {
        if (stop.stop_requested()) return true;
        PAL_TRY(sign, sign_of(id));
        if (sign && sign->version != first->version) return true;
        now = std::move(sign);
    }
    return false;
}

Result<std::optional<std::string>> ResponseLog::kept_events(const std::string& id,
                                                            std::uint64_t epoch,
                                                            std::size_t chunk) {
    auto record =
        store_.get_record({tenant_, std::string(event_space), chunk_key(id, epoch, chunk)});
    if (record) return std::optional(std::move(record->value));
    if (record.error().code == ErrorCode::not_found) return std::optional<std::string>();
    return std::unexpected(record.error());
}

Result<void> ResponseLog::cancel(const std::string& id) {
    if (const auto live = find(id)) {
        live->cancel();
        return {};
    }
    PAL_TRY(version,
            store_.put_record(
                {.key = {tenant_, std::string(cancel_space), id}, .value = "{}", .ttl = kept_for}));
    (void)version;
    return {};
}

Result<void> ResponseLog::mark_deleted(const std::string& id) {
    PAL_TRY(version,
            store_.put_record({.key = {tenant_, std::string(delete_space), id}, .value = "{}"}));
    (void)version;
    if (const auto live = find(id)) live->drop();
    return purge_records(store_, {tenant_, std::string(event_space), id + "/"});
}

Result<bool> ResponseLog::is_deleted(const std::string& id) {
    const auto record = store_.get_record({tenant_, std::string(delete_space), id});
    if (record) return true;
    if (record.error().code == ErrorCode::not_found) return false;
    return std::unexpected(record.error());
}

Result<std::size_t> ResponseLog::count_deleted(const LogId& log) {
    RecordQuery query{tenant_, std::string(delete_space), "resp_" + hex(log)};
    std::size_t count = 0;
    for (query.limit = 1000;;) {
        PAL_TRY(records, store_.list_records(query));
        count += records.size();
        if (records.size() < query.limit) return count;
        query.after = records.back().key.key;
    }
}

void ResponseLog::drop(const LogId& log) {
    const std::string prefix = "resp_" + hex(log);
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, live] : live_)
        if (id.starts_with(prefix)) live->drop();
}

// False: another server was faster. A store that does not answer stops nobody.
bool ResponseLog::claim(Kept& kept) {
    if (alone_) return true;
    kept.renewed = system_now();
    const auto claimed = store_.put_record(
        {.key = running_key(kept.live->id()), .value = "{}", .expected = 0, .ttl = announced_for});
    return claimed || claimed.error().code != ErrorCode::conflict;
}

void ResponseLog::announce(Kept& kept) {
    if (alone_) return;
    kept.renewed = system_now();
    (void)store_.put_record(
        {.key = running_key(kept.live->id()), .value = "{}", .ttl = announced_for});
}

// ---- on the keeper's thread ---------------------------------------------------------------------

// Events that could not be kept are tried again at the next look, unless it has ended: the log has
// the answer.
bool ResponseLog::keep_events(Kept& kept) {
    const LiveResponse& live = *kept.live;
    while (live.options().kept && !live.dropped()) {
        const LiveResponse::Piece piece = live.wait(kept.written, Duration::zero());
        if (piece.bytes.empty()) return !piece.ended;
        if (!keep_piece(kept, piece.bytes)) break;
    }
    return !live.wait(SIZE_MAX, Duration::zero()).ended;
}

// What an attempt that died kept of its stream: this one begins another. False: nothing.
bool ResponseLog::forget_events(const LiveResponse& live) {
    for (std::size_t chunk = 0;; ++chunk) {
        const auto old = kept_events(live.id(), live.options().epoch, chunk);
        if (!old || !*old) return chunk > 0;
        (void)store_.put_record({.key = {tenant_, std::string(event_space),
                                         chunk_key(live.id(), live.options().epoch, chunk)}});
    }
}

bool ResponseLog::keep_piece(Kept& kept, std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk_bytes_max, bytes.size()))) {
        const std::string chunk(bytes.substr(0, chunk_bytes_max));
        const RecordKey key{tenant_, std::string(event_space),
                            chunk_key(kept.live->id(), kept.live->options().epoch, kept.chunks)};
        if (!store_.put_record({.key = key, .value = chunk, .ttl = kept_for})) return false;
        // Whoever dropped it meanwhile may have looked before it was there.
        if (kept.live->dropped()) (void)store_.put_record({.key = key, .purge = true});
        kept.written += chunk.size();
        ++kept.chunks;
    }
    return true;
}

bool ResponseLog::look(Kept& kept, bool last) {
    // Whoever waits for a sign may follow it from then on.
    if (!std::exchange(kept.clean, true) && kept.live->options().kept && forget_events(*kept.live))
        announce(kept);
    if (!keep_events(kept) || last) {
        settle(kept);
        return false;
    }
    const Time now = system_now();
    const bool background = kept.live->options().background;
    const Duration renewal = background ? renewed_in_background : renewed_every;
    if (now - kept.begun >= silent_for && now - kept.renewed >= renewal) announce(kept);
    if (!alone_ && background && now - kept.asked >= asked_every) {
        kept.asked = now;
        if (store_.get_record({tenant_, std::string(cancel_space), kept.live->id()}))
            kept.live->cancel();
    }
    return true;
}

// Whoever waits for it on another server need not wait until its record ends by itself.
void ResponseLog::settle(const Kept& kept) {
    const std::string& id = kept.live->id();
    if (kept.renewed != Time{}) (void)store_.put_record({.key = running_key(id)});
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(id);
    if (found != live_.end() && found->second == kept.live) live_.erase(found);
}

}  // namespace palimpsest
