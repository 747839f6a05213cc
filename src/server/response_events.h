// response_events: the event stream of one response, with a model of any format behind.
//
// The events of a model that speaks Responses pass through with our ids and numbers; the pieces of
// others become events by the format's own writer. Those that carry the whole response are written
// here: they have what the request said, the conversation, and the items as they are stored. What
// no event announced is told before the end.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/sse.h"
#include "palimpsest/stream.h"
#include "server/response_object.h"

namespace palimpsest {

class ResponseEvents {
public:
    explicit ResponseEvents(ResponseState state);

    std::string begin();
    // One of these two, for all of the stream.
    std::string add(const StreamDelta& delta);
    std::string pass(std::string_view events);  // of the model's server, cut anywhere
    // `state` is the response as it ended. Each of these events has all that was said: they are
    // told one after the other.
    using Tell = std::function<void(std::string_view bytes)>;
    void end(const ResponseState& state, StopReason stop, const Tell& tell);

private:
    std::string pass_event(std::string_view data);
    std::string own_id(JsonValue event);
    void close_writer(const ResponseState& state, StopReason stop, const Tell& tell);

    ResponseState state_;
    std::unique_ptr<StreamWriter> writer_;
    SseParser incoming_;
    std::map<std::int64_t, std::string> ids_;  // of items that passed, by output index
    std::size_t announced_ = 0;                // items that were told of
    std::uint64_t sequence_ = 0;               // of the next event that is written here
    bool passed_ = false;
};

// The events of a response that has ended, made anew from its output.
std::string replay_events(const ResponseState& state);

// One event of a stream: its bytes, its number, and whether the stream ends with it.
struct StreamedEvent {
    std::string bytes = {};
    std::int64_t sequence = 0;
    bool last = false;
};
std::vector<StreamedEvent> split_events(std::string_view stream);
// The event with another number.
std::string renumbered(std::string_view event, std::int64_t sequence);

}  // namespace palimpsest
