// response_events: the event stream of one response. The pieces become events by the format's own
// writer; here the events that carry the whole response get all of it (what the request said, the
// conversation, the stored items), and items that no piece announced are told before the end.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/stream.h"
#include "server/openai_items.h"
#include "server/response_object.h"

namespace palimpsest {

class ResponseEvents {
public:
    explicit ResponseEvents(ResponseState state);

    std::string begin();
    std::string add(const StreamDelta& delta);
    // `state` is the response as it ended; `items` its output.
    std::string end(const ResponseState& state, StopReason stop,
                    const std::vector<ShownItem>& items);

private:
    std::string item_events(const ShownItem& item, std::size_t index);

    ResponseState state_;
    std::unique_ptr<StreamWriter> writer_;
    std::uint64_t sequence_ = 0;  // of the next event of ours
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
