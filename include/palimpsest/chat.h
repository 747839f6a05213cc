// chat: a whole turn with a model that may use tools, durable at every step.
//
//     palimpsest::Tool clock{.name = "clock", .description = "The time in a city.",
//                            .schema =
//                            R"({"type":"object","properties":{"city":{"type":"string"}}})", .run =
//                            [](auto arguments, auto) { return read_clock(arguments); }};
//     auto done = chat(memory, {"default", "alice"}, {.messages = said}, *model, {.tools =
//     {clock}});
//
// A turn is a row of begin/finish pairs: each later begin brings the results of the tools. So every
// round is durable when it ends, is compacted when that is due, and leaves a note of its call. That
// a tool is about to run is durable before it runs. After a crash, a cut connection or an error the
// same call with the same key, or resume() without one, goes on where the log ends: a round that is
// there is not asked for again, a tool that has a result does not run again, and one that was
// started and has none is answered with unknown_outcome_text, unless it is idempotent.
//
// Every call of a tool is answered in the log whatever ends the turn; only a pending one waits.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/memory.h"
#include "palimpsest/model.h"

namespace palimpsest {

struct Tool {
    std::string name = {}, description = {};
    std::string schema = {};  // JSON Schema of its arguments; empty: an object with any fields
    // `arguments` is a JSON object that fits the schema. What it gives is the result; an error or
    // an exception becomes the result "Error: ...", which the model is told.
    std::function<Result<std::string>(std::string_view arguments, std::stop_token stop)> run = {};
    // 0: none, it runs on the caller's thread. Otherwise it runs on a thread of its own, and when
    // the time is over is asked to stop and answered for. That thread may outlive the chat: what
    // `run` uses it must own.
    Duration timeout = {};
    bool parallel = false;    // may run at the same time as other such calls of one answer
    bool idempotent = false;  // may run again when nobody knows whether it ran
    bool approval = false;    // waits for a person's decision: see resume()
    bool ends = false;  // a call that ran is the end of the turn: the model is not asked again
};

// Something that happened. Views are good during the call only. Always told on the caller's thread.
struct ChatEvent {
    enum class Kind : std::uint8_t {
        begun,          // `begun`: what was said is stored, and the model is about to be asked
        text,           // `text`: a piece of the answer
        reasoning,      // `text`
        arguments,      // `text`: a piece of what the model gives the tool `name`
        tool_started,   // `id`, `name`, `text`: the arguments
        tool_finished,  // `id`, `name`, `text`: the result, `is_error`
        compaction,     // `compaction`
        usage,          // `usage`, `cost`: of one round, when its answer is stored
        retry,          // chat_shaped: `text`: why what was told so far is not the answer
    };
    Kind kind = Kind::text;
    std::size_t round = 1;
    std::string_view text = {}, id = {}, name = {};
    bool is_error = false;
    const Begun* begun = nullptr;
    const Compaction* compaction = nullptr;
    Usage usage = {};
    std::optional<double> cost = {};
};
// False asks to stop: what was said so far is kept, marked interrupted.
using OnEvent = std::function<bool(const ChatEvent&)>;

struct ChatOptions {
    std::vector<Tool> tools = {};
    bool recall = false;  // offers the tool "recall": what was left out of the view
    // Calls of tools that are not among `tools` wait, as pending ones, for a caller who runs them
    // himself; else the model is told that there is no such tool.
    bool others_pending = false;
    std::size_t rounds_max = 25;          // calls of the model
    std::optional<double> cost_max = {};  // dollars, of the turn; models without a price cost 0
    // The same calls so many rounds in a row are not run again: the model is told so once, and when
    // it makes them once more the turn ends. 0: any number.
    std::size_t identical_calls_max = 3;
    std::size_t result_bytes_max = 4u << 20;  // a longer result is an error
    OnEvent on_event = {};
    std::stop_token stop = {};
};

constexpr std::string_view unknown_outcome_text =
    "Error: outcome unknown: the tool was started and the program ended before its result was "
    "stored; it may or may not have taken effect";

struct PendingCall {
    std::string id = {}, name = {}, arguments = {};
};

struct ChatDone {
    enum class Outcome : std::uint8_t {
        done,
        rounds_exceeded,
        cost_exceeded,
        identical_calls,
        pending,      // of decisions: see `pending` and resume()
        interrupted,  // by the caller, or the stream was cut: what came is kept
    };
    Outcome outcome = Outcome::done;
    std::string text = {};                // of the last answer
    Answer answer = {};                   // the last one
    StopReason stop = StopReason::other;  // why the model ended it
    Begun begun = {};                     // the begin of the last round
    Finished finished = {};               // and its finish
    std::size_t rounds = 0;               // answers of the model in this turn
    Usage usage = {};                     // of all rounds
    std::optional<double> cost = {};      // of all rounds whose price is known
    std::vector<PendingCall> pending = {};
    std::vector<std::string> warnings = {};
    std::string key = {};  // of the turn: a repeat with it costs nothing
};
std::string_view chat_outcome_name(ChatDone::Outcome outcome);

// One turn. `request.tools` may name more tools (of the provider); options.tools are added. On an
// error what was said and every finished round are stored.
Result<ChatDone> chat(Memory& memory, const ConversationId& name, const BeginRequest& request,
                      Model& model, const ChatOptions& options = {});

// What a person says about a call that waits.
struct Decision {
    enum class Kind : std::uint8_t { approve, deny, result } kind = Kind::approve;
    std::string text = {};  // why it is denied; the result
};
using Decisions = std::map<std::string, Decision>;  // by the id of the call

// Goes on with the newest turn where it ended: with the decisions that it waits for, or after a
// crash. System prompt, tools' names, parameters and key are those of the turn. Also in another
// process, which must bring the same tools. A turn that is finished gives its answer again.
Result<ChatDone> resume(Memory& memory, const ConversationId& name, Model& model,
                        const ChatOptions& options = {}, const Decisions& decisions = {});

// ---- what it took -------------------------------------------------------------------------------

struct UsageRow {
    std::string day = {};   // "2026-11-15", UTC
    std::size_t calls = 0;  // of models, also those for summaries
    Usage usage = {};
    double cost = 0;  // dollars, of the calls whose price is known
};
// All calls of a conversation and of what it was forked from, by day, oldest first.
Result<std::vector<UsageRow>> usage_by_day(Memory& memory, const ConversationId& name);
// Of all conversations of a tenant together, also erased ones. Totals are written every few
// seconds: those of a process that was killed lack its last ones.
Result<std::vector<UsageRow>> tenant_usage_by_day(Memory& memory, const std::string& tenant);

// ---- structured output --------------------------------------------------------------------------

struct AnswerShape {
    std::string schema = {};         // JSON Schema of the answer, an object
    std::string name = "answer";     // of the schema, or of the tool that takes the answer
    enum class Way : std::uint8_t {  // how the model is told
        automatic,                   // response_format for OpenAI's formats, else a tool
        response_format,
        tool,    // it must call a tool whose arguments are the answer
        prompt,  // in words, for servers that have neither
    } way = Way::automatic;
    std::size_t retries = 3;  // how often the model is told what is wrong with its answer
};

struct ShapedDone {
    std::string json = {};  // it fits the schema; empty: tools of the caller are pending
    std::size_t attempts = 1;
    ChatDone chat = {};  // the last attempt; usage, cost and rounds are those of all
};

// A turn whose answer is JSON of a given shape. An answer that is not is sent back with what is
// wrong (told as a ChatEvent of the kind `retry`); unprocessable when the last retry did not help,
// and when the turn ended in another way (see chat_outcome_name in the message), but for calls that
// ChatOptions::others_pending leaves to the caller. All attempts are in the log.
Result<ShapedDone> chat_shaped(Memory& memory, const ConversationId& name,
                               const BeginRequest& request, Model& model, const AnswerShape& shape,
                               const ChatOptions& options = {});

// ---- portable state -----------------------------------------------------------------------------
// Portable state: a conversation as bytes that the caller keeps. Nothing is stored here.
//
//     auto turn = chat_with_state(state, {.messages = said}, *model);
//     state = turn->state;   // keep these bytes wherever you like
//
// The bytes are JSON: {"version":2, "provider", "processed_length", "messages":[raw...], "pinned":
// [indexes], "summaries":[{"at","text"}]}. `messages` is what the model will see next (a summary
// stands there as the message that it is sent as), so under a policy the bytes stay bounded. With
// `keep_log` it is all that was said, and "compactions":[[{"kind","from","to","text" or "message",
// "reason","pass"}]] says by index what the view makes of it.
// `processed_length` is how many of the messages a model has seen. Also read, and written when
// asked for: the states of goaitools and of ailoop (both version 1), of which the view is all that
// they hold.

enum class StateShape : std::uint8_t {
    own,        // version 2
    same,       // as it was read; version 2 for a fresh start
    goaitools,  // {"version":1,"provider","processed_length","messages":[raw...]}
    ailoop,     // {"version":1,"messages":[{"User":{"blocks":[...]}}...],"pinned":[...]}
};
std::optional<StateShape> parse_state_shape(std::string_view name);

// What becomes of bytes that cannot be read whole, or have a field that cannot be true.
enum class BadState : std::uint8_t {
    discard,  // a fresh start
    salvage,  // the messages before the first bad one, and the fields that are good
    fail,     // invalid_request
};

struct StateOptions {
    std::string provider = {};  // who may read the state; empty: the name of the format
    BadState bad = BadState::discard;
    bool keep_log = false;  // keeps all that was said, also what the view leaves out
    // Used after a finished turn, before the state is written. Empty: nothing is compacted.
    std::string policy = {};
    StateShape shape = StateShape::own;
    // How to count, price and summarise (see Memory::shared_options); null: as a Memory does that
    // is told nothing. Its store and its policy are not used.
    const MemoryOptions* memory = nullptr;
    std::string model = {};  // whose window counts where no model is called
    SummaryTerms summaries = {};
};

// Why a state was not taken as it is; empty: it was.
struct StateReport {
    std::string problem = {};  // invalid_conversation_state, unsupported_state_version,
                               // provider_mismatch, message_unmarshal_failed
    std::string detail = {};
    std::size_t kept = 0;  // messages
    // What of the conversation the shape that was read or written has no place for.
    std::vector<std::string> lost = {};
};

struct StateTurn {
    ChatDone chat = {};
    std::string state = {};
    StateReport report = {};
    std::optional<Compaction> compaction = {};  // of the state, after the turn
};
// One turn. A leading run of system messages is sent and is no part of the state. On an error the
// caller keeps the state that he has.
Result<StateTurn> chat_with_state(std::string_view state, const BeginRequest& request, Model& model,
                                  const StateOptions& options = {}, const ChatOptions& chat = {});

struct StateAppended {
    std::string state = {};
    StateReport report = {};
    std::optional<Compaction> compaction = {};
};
// More messages without a model: all of them, system messages too. With `compact` the policy is
// used on what there is then.
Result<StateAppended> append_to_state(std::string_view state, const AppendRequest& request,
                                      const StateOptions& options = {}, bool compact = false);
// An event, as a message of the user.
Result<StateAppended> append_event(std::string_view state, std::string_view text,
                                   FormatId format = FormatId::openai_chat,
                                   const StateOptions& options = {});

// ---- sessions -----------------------------------------------------------------------------------
// A conversation as agent frameworks see one: a list of items that is read, added to,
// shortened from its end and cleared. A thin cover over Memory, for SDKs to wrap.
//
// Nothing is lost: pop, clear and replace hide items in the log, which undo brings back.
class ConversationSession {
public:
    // `memory` must outlive it.
    ConversationSession(Memory& memory, ConversationId name,
                        FormatId format = FormatId::openai_chat);

    // What the model sees, oldest first. With a limit the latest that many, or fewer: a call and
    // its results are never parted. A conversation that is not there has none.
    Result<std::vector<Message>> items(std::optional<std::size_t> limit = {});
    // A message or a list. `operation` makes a repeat harmless.
    Result<void> add(std::string_view messages, std::string operation = {});
    // Takes the newest item away and gives it; with it goes what it cannot be parted from. None
    // when there is none.
    Result<std::vector<Message>> pop(std::string operation = {});
    Result<void> clear(std::string operation = {});
    // A transaction: the latest `count` items (whole groups) go, these messages come. Run again
    // with the same id after a crash it does what is missing, counted from where it began, and
    // nothing twice.
    Result<void> replace_suffix(std::size_t count, std::string_view messages,
                                const std::string& operation);

private:
    Result<View> view();
    Result<void> hide_behind(Seq last_kept, std::string operation);

    Memory& memory_;
    ConversationId name_;
    FormatId format_;
};

}  // namespace palimpsest
