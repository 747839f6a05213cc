// route: what a row of the route table is, and what its function gets and gives.
//
// A route is one row of routes.cpp, one function, and the schemas that the row names. The same row
// routes requests, checks their query and body, and describes them in /openapi.json, so none of
// these can disagree. A function is called on a worker thread with a request that fits its row; it
// answers with a RouteReply or an Error and never sees a socket.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "net/http.h"
#include "palimpsest/memory.h"
#include "palimpsest/model.h"
#include "server/access.h"
#include "server/models.h"

namespace palimpsest {

struct Route;
class RequestMeters;
class RunningTurns;
class Keeper;
class ResponseLog;
class RequestTrace;
class Tracer;
class UpstreamProbe;

// What all requests share. The references outlive the server.
struct Site {
    Memory& memory;
    Models models;  // the first one answers when a request names none
    std::shared_ptr<RunningTurns> running;
    std::string tenant;       // whose conversations these are
    std::string store_token;  // who knows it may use the internal store route; empty: nobody
    std::shared_ptr<const std::string> openapi = {};
    std::shared_ptr<Keeper> keeper = {};          // of all tenants; never null
    std::shared_ptr<ResponseLog> responses = {};  // those that are being made; never null
    std::shared_ptr<RequestMeters> meters = {};   // never null
    std::shared_ptr<Tracer> tracer = {};          // null: nothing is traced
    std::shared_ptr<UpstreamProbe> probe = {};    // never null
    bool secure = false;                          // it is reached by https
};

// A parameter of the query. A name that ends in '*' stands for every name that begins so.
struct Parameter {
    std::string_view name;
    std::string_view schema;  // JSON Schema of one value; its "type" says how the text is read
    std::string_view about;
};

// The query of a request after it was checked against its route's parameters.
class Query {
public:
    Query() = default;
    explicit Query(QueryParameters parameters) : parameters_(std::move(parameters)) {}
    std::optional<std::string_view> text(std::string_view name) const;
    std::optional<std::uint64_t> number(std::string_view name) const;
    bool flag(std::string_view name) const;
    const QueryParameters& all() const { return parameters_; }

private:
    QueryParameters parameters_;
};

// The way out for an answer that a route streams itself. Nothing is sent before the first bytes, so
// until then an error is an answer like any other.
class Outlet {
public:
    // The head of the answer; without it the first bytes begin an event stream.
    virtual void start(HttpResponse head) = 0;
    // False: the client has gone. A slow reader slows the caller down.
    virtual bool write(std::string_view bytes) = 0;
    virtual bool started() const = 0;
    // Stops when the client has gone, the time for the request is over, or the server must end.
    virtual std::stop_token stop() const = 0;
    // Stops when the time for the request is over, or the server must end: for those who go on
    // when the client has gone.
    virtual std::stop_token halt() const = 0;
    // The server is stopping: what is halted now is halted by that.
    virtual bool ending() const = 0;

protected:
    ~Outlet() = default;
};

// One request that fits its route.
// What tells the next attempt of a client that counts them: see retry_key.h.
struct RetryMark {
    RecordKey record = {};
    std::string value = {};
    bool first_creates = false;  // a first attempt that makes something new
};

struct Call {
    Site& site;
    const Route& route;
    const HttpRequest& request;
    std::vector<std::string> ids = {};  // the values of the {names} of the pattern, in order
    Query query = {};
    std::optional<JsonDocument> json = {};  // the body, checked against its schema
    std::string key = {};                   // Idempotency-Key
    std::optional<RetryMark> retry = {};
    std::optional<Seq> if_match = {};
    Outlet* out = nullptr;  // never null inside a route's function
    ApiKey caller = {};     // who asks; its tenant is the site's
    std::string request_id = {};
    std::shared_ptr<RequestTrace> trace = {};  // never null inside a route's function
    bool finish_abandoned = false;             // a turn whose client has gone is brought to its end

    // Members of the body. Wrong kinds cannot be met here: the schema was checked.
    std::optional<JsonValue> field(std::string_view name) const;
    std::optional<std::string> text(std::string_view name) const;
    std::optional<std::uint64_t> number(std::string_view name) const;

    // The conversation that the path names.
    ConversationId name() const { return {site.tenant, ids.at(0)}; }
    // Key (one space for each route) and If-Match. Edits do not create conversations.
    WriteOptions write(IfAbsent if_absent = IfAbsent::fail) const;
};

// Where the events of a streamed answer go. False: the client has gone, stop.
using SendEvent = std::function<bool(const ServerEvent& event)>;

struct RouteReply {
    std::string body = {};
    std::string type = "application/json";
    std::optional<Seq> etag = {};  // the end of the conversation
    // What was lost or changed to make the answer; told in the header x-warnings where the body has
    // no place for it.
    std::vector<std::string> warnings = {};
    bool again = false;  // a repeat of an earlier request with the same key
    int status = 0;      // 0: the row's
    std::vector<std::pair<std::string, std::string>> headers = {};
    // Set for a streamed answer: called on a worker after the head was sent. It owns what it uses.
    // A function that streams by itself uses Call::out instead, and what it gives is not sent.
    std::function<void(const SendEvent& send)> stream = {};
};

enum class BodyKind : std::uint8_t { none, json, bytes };

// Who expects the errors of a route: OpenAI's shape is ours too.
enum class ErrorShape : std::uint8_t { openai, anthropic };

struct Route {
    std::string_view method;
    std::string_view pattern;  // "/api/v1/conversations/{id}/messages"
    Result<RouteReply> (*function)(Call& call);
    std::string_view summary;
    int status = 200;               // when it succeeds
    std::string_view reply = {};    // its schema
    bool tells_end = false;         // ETag has the end of the conversation, where there is one
    std::string_view request = {};  // the schema of the body; empty: it takes none
    std::span<const Parameter> query = {};
    bool if_match = false;         // honoured; where it is not it is refused
    bool named_by_header = false;  // X-Conversation-Id says which conversation is meant
    // What a key must allow; none: read for GET, write for the others.
    std::optional<Scope> scope = {};
    bool knows_caller = false;  // open, and tells more to a key that may read
    bool internal = false;      // for our own commands: /openapi.json does not show it
    // POST: how the answer is made again for a repeat with the same Idempotency-Key, from the seq
    // of the first time. Null where the store's own key does it
    // and the function can be called again.
    Result<RouteReply> (*again)(Call& call, Seq seq) = nullptr;
    // slow: it waits for a model; network: it does, and calls leave_network() (net/errand.h) before
    // it uses the store or works long.
    Lane lane = Lane::quick;
    bool asks_model = false;                     // on the budget of the caller's key
    std::string_view events = {};                // the schema of its stream, where it has one
    bool streams = false;                        // it can answer with server-sent events
    BodyKind body = BodyKind::json;              // how the body is read, where there is one
    std::string_view type = "application/json";  // of the reply
    // It uses the Idempotency-Key itself: nothing else is kept for its repeats.
    bool own_key = false;
    ErrorShape errors = ErrorShape::openai;
    // How the audit log calls it; where fields are named, only when the body has one of them.
    std::string_view act = {};
    std::span<const std::string_view> act_fields = {};
};

// THE table.
std::span<const Route> routes();

}  // namespace palimpsest
