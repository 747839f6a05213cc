// The model port: messages in, an answer out, piece by piece.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/format.h"
#include "palimpsest/message.h"
#include "palimpsest/stream.h"

namespace palimpsest {

struct ModelRequest {
    std::span<const Message> messages = {};  // of any formats; leading system messages are its own
    std::string_view tools = {};             // JSON list
    std::string_view parameters = {};        // JSON object
    FormatId fields_format = FormatId::openai_chat;  // that tools and parameters are written in
    std::stop_token stop = {};                       // interrupts the call from another thread
    // What a provider's prompt cache is told: a name for requests that begin alike (empty: nothing
    // is told), and how many messages stand behind the last one that a compaction changed.
    std::string_view cache_key = {};
    std::size_t behind_edit = 0;
    // With it the answer is streamed, and the events go there as the server sends them, in the
    // model's own format. Not called for an answer that comes in one piece. False: stop, as below.
    std::function<bool(std::string_view bytes)> on_bytes = {};
    std::span<const std::pair<std::string, std::string>> headers = {};  // sent along by HTTP
};

// A request that is passed on as it is, and its answer, whatever its status is.
struct RelayRequest {
    std::string_view path = {};  // behind the endpoint's URL; empty: where the model is asked
    std::string_view body = {};  // JSON, in the model's own format and with its server's names
    std::vector<std::pair<std::string, std::string>> headers = {};  // beside the endpoint's own
    std::stop_token stop = {};
};
struct RelayReply {
    int status = 200;
    std::string type = {};  // of the body
    std::string body = {};  // without what went to on_bytes
    std::string retry_after = {};
    bool cut = false;                      // the stream broke off
    std::optional<ReplyUsage> usage = {};  // where somebody read along
};

// Each piece as it comes. False asks the model to stop: what came so far is the answer, marked
// interrupted.
using OnPiece = std::function<bool(const StreamDelta&)>;

// May be called from several threads at once.
class Model {
public:
    virtual ~Model() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view server_name() const { return name(); }  // what its server calls it
    // The format that it speaks: what it is sent, and what its answer is in.
    virtual FormatId format() const = 0;
    // With `on_piece` the answer is streamed. When the server fails after the answer began, gives
    // what there is, marked interrupted. Errors: rate_limited, unavailable, upstream_failed with
    // the provider's words, outcome_unknown (the request was sent, no answer came), unauthorized
    // (there is no key); is_context_overflow() tells when the request was too long for the model.
    virtual Result<Reply> call(const ModelRequest& request, const OnPiece& on_piece) = 0;
    // Whether there is a key to ask it with, if it needs one; its server is not asked.
    virtual Result<void> check_key() const { return {}; }
    // Whether its server answers and takes our key, asked within a few seconds and without the
    // model's work. What has no server is always there.
    virtual Result<void> reach() { return {}; }
    // The server's own words: events go to `on_bytes` as they come (false: stop), an answer in one
    // piece is the body of the reply. Errors as above; unprocessable: there is no server to ask.
    virtual Result<RelayReply> relay(const RelayRequest& request,
                                     const std::function<bool(std::string_view)>& on_bytes);
};

// Whether a model refused a request because it is longer than its window.
bool is_context_overflow(const Error& error);

// ---- summaries ----------------------------------------------------------------------------------

struct SummaryCall {
    std::string_view system = {}, user = {};  // what to do; the material, marked as quoted
    std::string_view model = {};              // that the policy asks for; empty: any
    std::uint32_t max_tokens = 300;
    Time deadline = {};         // whoever asks does not wait longer
    std::stop_token stop = {};  // nobody waits any more
};
struct SummaryText {
    std::string text = {};
    std::string model = {};
    ReplyUsage usage = {};
    std::string fault = {};  // why the text is of no use; the call was made and is paid for
};

// The summariser port: texts in, a text out. May be called from several threads at once.
class Summarizer {
public:
    virtual ~Summarizer() = default;
    virtual std::uint64_t window_tokens() const = 0;
    virtual Result<SummaryText> summarize(const SummaryCall& call) = 0;
};

struct SummarizerOptions {
    std::string prompt_file = {};     // replaces the words in which a model is asked for a summary
    std::uint64_t window_tokens = 0;  // most that it is sent; 0: the smallest window of its models
};
// Summaries by models. A policy that names one of them gets that one, else the first is asked.
Result<std::shared_ptr<Summarizer>> make_summarizer(std::vector<std::shared_ptr<Model>> models,
                                                    const SummarizerOptions& options = {});

// For demos and tests, offline: repeats the latest user message, word by word, and says how much
// it was sent.
std::unique_ptr<Model> make_echo_model();

// Where a model is and what it speaks. Works with every server that speaks one of the formats.
struct Endpoint {
    std::string name = {};   // what our users call it
    std::string model = {};  // what its server calls it; empty: the same
    FormatId format = FormatId::openai_chat;
    // Up to the version: "http://localhost:11434/v1". Empty: the format's own provider, with the
    // key in OPENAI_API_KEY or ANTHROPIC_API_KEY.
    std::string url = {};
    // Where its key is. Never the key itself: keys do not stand in settings, logs or errors.
    std::string key_env = {}, key_file = {};
    std::vector<std::pair<std::string, std::string>> headers = {};  // sent along
    std::string parameters = {};  // JSON object: what a request does not say itself
    // The limit of an answer, where the format insists on one and nobody names it; 0: what the
    // model is known to write at most.
    std::uint32_t output_tokens = 0;
    int connect_timeout_ms = 5'000, first_byte_timeout_ms = 120'000;
    int idle_timeout_ms = 60'000, total_timeout_ms = 600'000;
    int retries = 2;           // of what was refused for now or never arrived
    std::string ca_file = {};  // trusted authorities; empty: the system's
    std::string proxy = {};    // http://HOST:PORT, or "none"; empty: by the environment
    // A longer answer is stopped there, and is what came so far, marked interrupted; one that comes
    // in one piece is refused. As MemoryOptions::message_bytes_max, or less.
    std::size_t answer_bytes_max = 16u << 20;
};
// invalid_request names the field.
Result<std::unique_ptr<Model>> make_http_model(Endpoint endpoint);

}  // namespace palimpsest
