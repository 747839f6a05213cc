// response_log: responses that are being made, and the events of those that are kept.
//
// A server that makes a response tells its events to whoever follows it here, and keeps them in the
// store for an hour, so that a client whose connection broke, or another server, replays them from
// any number on. The keeper writes them, several events at a time: no event waits for the store. A
// record says that the response is being made; without it and without an answer in the log the
// process that made it is gone. Whoever is told the id before the answer can ask another server at
// once, so the record is there before that; what is answered in one piece and over in a moment has
// none. Of several servers that would make one whose events are kept, the first to write the record
// does; what an attempt that died kept of its stream is gone when the record is renewed. Where this
// process holds the store alone there are no other servers: no record is written, and none is
// believed, for it is of a process that died.
//
// Records: space "responses", ID: it is being made (15 s, renewed every second in the background,
// else every five). "response_events", ID/EPOCH/NUMBER: bytes of its stream, under the epoch of the
// log: after a scrub nobody finds them. "response_cancels", ID: someone wants it to stop.
// "response_deletes", ID: it was deleted; the conversation stays.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "net/errand.h"
#include "net/workers.h"
#include "palimpsest/store.h"
#include "server/keeper.h"

namespace palimpsest {

struct LiveOptions {
    bool kept = false;        // its events go to the store
    bool background = false;  // nobody waits for it, and it can be cancelled
    std::uint64_t epoch = 0;  // of its log, when what was said was stored
};

// One response under way in this process. From any thread.
class LiveResponse {
public:
    LiveResponse(std::string id, LiveOptions options) : id_(std::move(id)), options_(options) {}

    const std::string& id() const { return id_; }
    const LiveOptions& options() const { return options_; }
    void add(std::string_view events);
    // No more comes; the log says how it ended, unless it failed before it said anything.
    void end(std::optional<Error> failure = {});
    // Why whoever waits for it hears nothing; none: it did not end like that.
    std::optional<Error> failure() const;
    void cancel();
    bool cancelled() const;
    // Its events are kept no longer, also those that are there already.
    void drop() { dropped_ = true; }
    bool dropped() const { return dropped_; }
    std::stop_token stop_token() const { return stop_.get_token(); }
    void stop() { stop_.request_stop(); }

    struct Piece {
        std::string bytes = {};
        bool ended = false;
    };
    // What was added behind the first `from` bytes, or a part of it, which is then not the end;
    // waits for some, or for the end, for so long. An errand waits without a thread and is on the
    // network thread afterwards.
    Piece wait(std::size_t from, Duration patience) const;

private:
    Piece park(Errand& errand, std::size_t from, Duration patience) const;
    Piece piece(std::size_t from) const;
    void tell() const;

    const std::string id_;
    const LiveOptions options_;
    std::stop_source stop_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    struct Parked {
        Loop* loop;
        Errand::Bell bell;
    };
    mutable std::vector<Parked> parked_;
    std::string bytes_;
    std::optional<Error> failure_;
    bool ended_ = false, cancelled_ = false;
    std::atomic<bool> dropped_ = false;
};

class ResponseLog {
public:
    // The store must outlive it, and it the keeper's thread.
    ResponseLog(Store& store, std::string tenant, Keeper& keeper);
    ~ResponseLog();  // stops what runs in the background
    ResponseLog(const ResponseLog&) = delete;
    ResponseLog& operator=(const ResponseLog&) = delete;

    // Announces a response of this process: one whose events are kept before this returns. Null: it
    // is being made here already, or, where its events are kept, another server says so first.
    std::shared_ptr<LiveResponse> open(const std::string& id, LiveOptions options);
    // With a failure nothing of it was told: the next attempt may begin at once.
    void close(const std::shared_ptr<LiveResponse>& live, std::optional<Error> failure = {});
    std::shared_ptr<LiveResponse> find(const std::string& id) const;  // null: not here

    // Runs on a thread of its own after the request is answered. unavailable when too many do.
    Result<void> run(std::move_only_function<void()> work);

    // Whether some server says that it makes this response.
    Result<bool> is_running(const std::string& id);
    // Waits until it says so again, so that it is no process that died; false: it says so no more.
    // Takes up to 15 s; who trusts a sign of the last two seconds has an answer at once where there
    // is one. True, too, when `stop` comes first.
    enum class Hurry : std::uint8_t { none, trusts_fresh };
    Result<bool> await_sign(const std::string& id, Hurry hurry, const std::stop_token& stop);
    // So many bytes of the stream as were kept behind chunk `from`; none: not (yet) there.
    Result<std::optional<std::string>> kept_events(const std::string& id, std::uint64_t epoch,
                                                   std::size_t chunk);
    // Asks whoever makes it to stop.
    Result<void> cancel(const std::string& id);
    Result<void> mark_deleted(const std::string& id);
    Result<bool> is_deleted(const std::string& id);
    Result<std::size_t> count_deleted(const LogId& log);  // of the responses of that log
    // The events of the log's responses that are being made here are kept no longer.
    void drop(const LogId& log);
    // What is being made here ends now, with what there is of it; nothing new begins.
    void interrupt();
    // As the destructor; nobody may use it any more but for reading. The keeper keeps what there
    // is.
    void stop();

private:
    struct Kept {
        std::shared_ptr<LiveResponse> live = {};
        std::size_t written = 0, chunks = 0;
        Time begun = {}, renewed = {}, asked = {};
        bool clean = false;  // nothing is left of an attempt that died
    };
    // On the keeper's thread. False: it has ended and all of it is kept.
    bool look(Kept& kept, bool last);
    bool keep_events(Kept& kept);
    bool keep_piece(Kept& kept, std::string_view bytes);
    bool forget_events(const LiveResponse& live);
    RecordKey running_key(const std::string& id) const;
    Result<std::optional<Record>> sign_of(const std::string& id);
    bool claim(Kept& kept);
    void announce(Kept& kept);
    void settle(const Kept& kept);

    Store& store_;
    const std::string tenant_;
    Keeper& keeper_;
    const bool alone_;  // no other server can look
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<LiveResponse>> live_;
    std::size_t running_ = 0;
    bool stopping_ = false;
    std::unique_ptr<Workers> workers_;
};

}  // namespace palimpsest
