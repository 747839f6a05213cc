// Memory: conversations that remember. The facade over a store; start reading here.
//
//     auto memory = palimpsest::Memory::open("sqlite:palimpsest.db");
//     memory->append({"default", "alice"}, {.messages = R"({"role":"user","content":"Hello"})"});
//     auto view = memory->view({"default", "alice"});   // what the model should be sent
//
// A turn has two halves. `begin` stores what was said, compacts if it is due, and gives the view;
// the caller asks the model; `finish` stores the answer. `chat` does both around a Model.
//
// One Memory serves all threads. Nothing is returned before it is durable (see Store).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/store.h"
#include "palimpsest/tokenizer.h"
#include "palimpsest/view.h"

namespace palimpsest {

class Model;  // model.h

// ---- what is handed in --------------------------------------------------------------------------

// What all writes may say. `key` makes a repeat harmless: it gives the first result again.
struct WriteOptions {
    std::string key = {};
    std::optional<Seq> expected_end = {};  // fails with `conflict` when the log has moved
    IfAbsent if_absent = IfAbsent::create;
};

// `messages` is JSON: one message, a list, or a request body that holds one. A message may be
// wrapped as {"at": RFC 3339 time, "message": {...}}.
struct AppendRequest {
    std::string_view messages = {};
    FormatId format = FormatId::openai_chat;
    WriteOptions write = {};
    HeaderPatch header = {};
};

struct ViewOptions {
    std::optional<Seq> at = {};  // the view as it was after that entry
};

struct LogQuery {
    Range range = {Seq{1}, seq_max};
    Kinds kinds = all_kinds;
    std::size_t limit = 1000;
    bool newest_first = false;
    bool content = true;
};

// When it is due to compact, and how. Empty: never, nothing.
struct CompactOptions {
    std::string_view policy = {};  // JSON, see docs/POLICIES.md
    bool preview = false;          // plan it and show it, write nothing
};

// ---- what comes back
// ------------------------------------------------------------------------------

struct Written {
    Seq first = {}, last = {};
    Header header = {};
    bool again = false;
    std::vector<std::string> ids = {};  // one for each message
};

// What a compaction did, or would do.
struct Compaction {
    enum class Outcome : std::uint8_t { not_due, done, not_enough_history, no_progress };
    Outcome outcome = Outcome::not_due;
    Seq seq = {};  // its entry; 0 for a preview
    std::vector<Edit> edits = {};
    std::uint64_t tokens_before = 0, tokens_after = 0;
};
std::string_view outcome_name(Compaction::Outcome outcome);

struct Checkpoint {
    std::string id = {};  // "ckpt_..."
    Seq seq = {};
    Time at = {};
    std::string name = {};
    std::string metadata = {};
};

// What the model was sent at one past call: the preamble, the view, and the tools.
struct PastCall {
    Seq seq = {};  // of the note
    Time at = {};
    std::string note = {};      // the note itself, JSON: model, parameters, usage
    std::string preamble = {};  // JSON list of messages; "[]": none
    std::string tools = {};     // JSON list; "[]": none
    View view = {};
};

// ---- one turn
// ---------------------------------------------------------------------------------------

struct BeginRequest {
    std::string_view messages = {};  // as in AppendRequest; a leading run of system messages is the
                                     // preamble: it is sent and noted, not part of the log
    FormatId format = FormatId::openai_chat;
    std::string model = {};       // name, for the note
    std::string tools = {};       // JSON list, for the note
    std::string parameters = {};  // JSON object, for the note
    std::string policy = {};      // of this request; overrides the conversation's
    WriteOptions write = {};
    HeaderPatch header = {};
};

struct Begun {
    ConversationId name = {};
    std::string key = {};
    LogId log = {};
    Seq turn = {};  // the first seq of what was said
    View view = {};
    std::vector<Message> preamble = {};
    std::string model = {}, tools = {};  // as in the request
    // What the whole request is expected to take of the model's window; 0 when no model was named.
    std::uint64_t tokens_expected = 0;
    std::vector<Message> request() const;  // preamble and view: what to send
    std::optional<Compaction> compaction = {};
    std::optional<Message> already = {};  // a repeat of a finished turn: its answer
    bool already_interrupted = false;     // that answer is a partial one
    Seq already_at = {};
};

struct Usage {
    std::uint64_t input = 0, cached = 0, cache_writes = 0, output = 0, reasoning = 0;
};

struct Answer {
    Message message = {};
    Usage usage = {};
    bool interrupted = false;
};

struct Finished {
    Seq seq = {};  // of the answer
    Header header = {};
};

// Pieces of an answer as they arrive. False asks the model to stop: the answer so far is kept,
// marked interrupted.
using OnText = std::function<bool(std::string_view text)>;

struct ChatTurn {
    Begun begun = {};
    Answer answer = {};
    Finished finished = {};
};

// ---- the facade
// ----------------------------------------------------------------------------------------

// A row of the table of models, changed or added. What is not said stays as it is for the built-in
// model that the name matches, or else for an unknown one. Prices: dollars per million tokens.
struct OwnModel {
    std::string name = {};
    std::optional<std::uint32_t> window_tokens = {}, output_tokens = {};
    std::string encoding = {};  // of its tokenizer; empty: as it is
    std::optional<double> input_price = {}, cached_price = {}, cache_write_price = {},
                          output_price = {};
};

struct MemoryOptions {
    StoreOptions store = {};
    std::shared_ptr<const Tokenizer> tokenizer = {};  // null: exact, o200k_base
    std::size_t message_bytes_max = 16u << 20;        // larger messages are refused: too_large
    // Whether `begin` notes each model call, with the preamble and the tools that were sent, so
    // that it can be shown later what the model saw.
    bool call_notes = true;
    std::vector<OwnModel> models = {};
    // Views of conversations that were used lately are kept in memory, so that the next turn reads
    // only what is new. At most so many bytes in all; 0: none.
    std::size_t hot_bytes_max = 48u << 20;
    // Told once about each model that is not known. From any thread.
    std::function<void(std::string_view message)> warn = {};
};

class Memory {
public:
    struct State;

    static Result<Memory> open(std::string_view store_url, MemoryOptions options = {});
    Memory(std::unique_ptr<Store> store, MemoryOptions options = {});
    Memory(Memory&&) noexcept;
    Memory& operator=(Memory&&) noexcept;
    ~Memory();

    // -- writing
    Result<Header> create(const ConversationId& name, const HeaderPatch& header,
                          const WriteOptions& write = {});  // conflict when it is there
    Result<Written> append(const ConversationId& name, const AppendRequest& request);
    Result<Header> patch(const ConversationId& name, const HeaderPatch& header,
                         std::optional<std::uint64_t> expected_revision = {});
    Result<Header> fork(const ConversationId& name, const ConversationId& child,
                        std::optional<Seq> at = {}, const WriteOptions& write = {});
    Result<Checkpoint> checkpoint(const ConversationId& name, std::string_view checkpoint_name,
                                  std::string_view metadata = "{}", const WriteOptions& write = {});
    // Pins the whole group that the message is in.
    Result<Seq> pin(const ConversationId& name, Seq message, const WriteOptions& write = {});
    Result<Seq> unpin(const ConversationId& name, Seq message, const WriteOptions& write = {});
    // Hides messages, undoably. A range that would split a group is widened to whole groups.
    Result<Seq> retract(const ConversationId& name, Range messages, std::string_view reason = {},
                        const WriteOptions& write = {});
    Result<Seq> rewind(const ConversationId& name, Seq to, std::string_view reason = {},
                       const WriteOptions& write = {});
    // Switches an edit entry off, or a switched-off one on again. Default: the newest compaction,
    // pin, retract or rewind in force; not_found when there is none.
    Result<Seq> undo(const ConversationId& name, std::optional<Seq> entry = {},
                     const WriteOptions& write = {});
    Result<Compaction> compact(const ConversationId& name, const CompactOptions& options,
                               const WriteOptions& write = {});
    // Applies edits that someone else computed: a caller's own summary, a background one.
    // `based_on` is the view that they were computed from; `conflict` when an edit was made since.
    Result<Compaction> splice(const ConversationId& name, const View& based_on,
                              std::vector<Edit> edits, Cause cause);
    // Removes the content of messages for good, in every fork, and every summary that covers them.
    Result<void> scrub(const ConversationId& name, const std::vector<Seq>& messages);
    Result<Receipt> erase(const ConversationId& name);

    // -- reading
    Result<Header> head(const ConversationId& name);
    Result<View> view(const ConversationId& name, const ViewOptions& options = {});
    Result<std::vector<Entry>> log(const ConversationId& name, const LogQuery& query = {});
    Result<Page> list(const ListQuery& query);
    // Oldest first; only those whose metadata has all of these fields.
    Result<std::vector<Checkpoint>> checkpoints(
        const ConversationId& name, const std::map<std::string, std::string>& metadata = {});
    // By id ("ckpt_...") or by name (the newest of that name); "" is the newest of all.
    Result<Checkpoint> find_checkpoint(const ConversationId& name, std::string_view which = {});
    Result<PastCall> past_call(const ConversationId& name, Seq note);

    // -- turns
    Result<Begun> begin(const ConversationId& name, const BeginRequest& request);
    Result<Finished> finish(const Begun& begun, const Answer& answer);
    Result<ChatTurn> chat(const ConversationId& name, const BeginRequest& request, Model& model,
                          const OnText& on_text = {});

    Store& store();

private:
    std::unique_ptr<State> state_;
};

}  // namespace palimpsest
