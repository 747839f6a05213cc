// answer_stream: an answer on its way to a client as the events of the client's own format.
//
// Either the model speaks that format: then its events pass through as they come, but for what the
// client must not see or must see otherwise. Or it does not: then pieces are written as events.
// Invariant: the event that ends a stream goes out by end() only, when the answer is stored.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/stream.h"
#include "server/route.h"

namespace palimpsest {

struct StreamPlan {
    FormatId format = FormatId::openai_chat;
    StreamIdentity identity = {};
    bool own_id = false;            // the model's id of the answer is replaced by the identity's
    bool usage_wanted = true;       // chat: the chunk with the usage is for those who asked for it
    std::string extra = {};         // a member of Anthropic's message_delta: "name":{...}
    bool finish_abandoned = false;  // go on when the client has gone
    bool kept = true;               // the answer, also one that breaks off
    std::vector<std::pair<std::string, std::string>> headers = {};
};

// For one stream and one thread.
class AnswerStream {
public:
    AnswerStream(Outlet& out, StreamPlan plan);

    // Both give whether the model should go on.
    bool piece(const StreamDelta& delta);
    bool bytes(std::string_view bytes);

    // The rest: all of the answer, if nothing of it was told yet.
    void end(const Reply& reply);
    // An error event, in place of the end.
    void fail(const Error& error);

private:
    bool send(std::string_view bytes);
    std::string pass(std::string_view event);
    std::string cut(std::string_view bytes);
    void learn_id(std::string_view event);

    Outlet& out_;
    StreamPlan plan_;
    std::unique_ptr<StreamWriter> writer_;
    std::string rest_;          // of an event that has not come whole
    std::size_t searched_ = 0;  // no empty line begins in it before that
    std::string last_;          // the event that ends the stream
    std::string model_id_;      // the model's id of the answer, as JSON
    bool begun_ = false;        // the writer has written
    bool passed_ = false;       // events of the model went through
    bool gone_ = false;
};

// What a client is told of an answer that did not come to its end; see Reply::cut.
Error why_cut(const Outlet& out, std::optional<ErrorCode> cut);
// The error of a request that asked a model: of one that we stopped, why, and no more.
Error why_stopped(const Outlet& out, Error error);

// The event that tells of an error inside a stream of that format.
std::string error_event(FormatId format, const Error& error);

}  // namespace palimpsest
