// Event streams: a reply that comes in pieces, read into the reply it would have been at once, and
// written as the events that the official clients accept. Pure: ids and times are passed in. One
// object belongs to one stream and one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/message.h"

namespace palimpsest {

// A piece of a reply. Views are good during the call only.
struct StreamDelta {
    enum class Kind : std::uint8_t { text, reasoning, refusal, call, arguments } kind = Kind::text;
    std::size_t index = 0;                // of the call, counted from 0; for call and arguments
    std::string_view text = {};           // what was added
    std::string_view id = {}, name = {};  // for call
};

enum class StopReason : std::uint8_t { end, length, tool_calls, stop_sequence, refusal, other };

struct ReplyUsage {
    std::uint64_t input_tokens = 0, output_tokens = 0;
    std::uint64_t cached_tokens = 0, cache_write_tokens = 0, reasoning_tokens = 0;
};

// A whole reply, streamed or not.
struct Reply {
    std::string body = {};               // as a non-streamed reply would have been
    std::vector<Message> messages = {};  // what the model said: one message, or items
    StopReason stop = StopReason::other;
    std::string stop_text = {};  // the provider's own word
    std::optional<ReplyUsage> usage = {};
    bool interrupted = false;  // the stream ended early: the text so far, complete calls only
    // What cut it: too_large when it is longer than Endpoint::answer_bytes_max. None: whoever asked
    // wanted no more of it.
    std::optional<ErrorCode> cut = {};
    // For whoever asked: why it was cut, in the provider's words, and what had to be mended in it.
    std::vector<std::string> warnings = {};
};

// A non-streamed reply. upstream_failed, with the provider's message, when it is an error object;
// its param is then the provider's own code or type.
Result<Reply> read_reply(FormatId format, std::string_view json);

class StreamReader {
public:
    virtual ~StreamReader() = default;
    // Bytes of the event stream, cut anywhere. Fails with upstream_failed when the provider sends
    // an error event and with invalid_request when an event cannot be read.
    virtual Result<void> feed(std::string_view bytes) = 0;
    // After the last byte. A stream without its closing event gives a reply marked interrupted.
    virtual Result<Reply> finish() = 0;
};
using OnDelta = std::function<void(const StreamDelta&)>;
std::unique_ptr<StreamReader> make_stream_reader(FormatId format, OnDelta on_delta = {});

// What a writer cannot know. Ids of items and calls derive from `id`.
struct StreamIdentity {
    std::string id = {};  // of the reply, e.g. resp_..., chatcmpl-..., msg_...
    std::string model = {};
    std::int64_t created = 0;  // seconds
};

// Turns pieces into events; each call gives the bytes to send.
class StreamWriter {
public:
    virtual ~StreamWriter() = default;
    virtual std::string begin() = 0;
    virtual std::string add(const StreamDelta& delta) = 0;
    virtual std::string end(StopReason stop, const ReplyUsage& usage) = 0;
};
std::unique_ptr<StreamWriter> make_stream_writer(FormatId format, StreamIdentity identity);

struct ConvertedReply {
    std::string body = {};
    std::vector<std::string> lost = {};  // what has no place in the target format, one line each
};
// The body of a reply in another format: what was said, why it ended and what it cost. Id, model
// and time are those of `identity` where they are given, else those of the reply. In the same
// format the bytes stay. Fails as read_reply() does.
Result<ConvertedReply> convert_reply(FormatId from, FormatId to, std::string_view json,
                                     StreamIdentity identity = {});

// The body of a reply in a format, made of its messages, its stop and its usage.
Result<ConvertedReply> make_reply_body(FormatId to, const Reply& reply, StreamIdentity identity);
// What was said, in the pieces that a writer of that format takes. Gives what has no place in it.
Result<std::vector<std::string>> tell_messages(FormatId to, std::span<const Message> messages,
                                               const OnDelta& on_delta);

// The format's word for why a reply ended.
std::string_view stop_word(FormatId format, StopReason stop);

}  // namespace palimpsest
