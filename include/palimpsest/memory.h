// Memory: conversations that remember. The facade over a store; start reading here.
//
//     auto memory = palimpsest::Memory::open("sqlite:palimpsest.db");
//     memory->append({"default", "alice"}, {.messages = R"({"role":"user","content":"Hello"})"});
//     auto view = memory->view({"default", "alice"});   // what the model should be sent
//
// A turn has two halves. `begin` stores what was said, compacts if it is due, and gives the view;
// the caller asks the model; `finish` stores the answer. chat() (chat.h) does all of it.
//
// One Memory serves all threads. Nothing is returned before it is durable (see Store).
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/error.h"
#include "palimpsest/store.h"
#include "palimpsest/tokenizer.h"
#include "palimpsest/view.h"

namespace palimpsest {

class Storing;     // of the engine
class Summarizer;  // model.h
class Embedder;    // search.h
struct SearchRequest;
struct SearchPage;
struct ReindexRequest;
struct Reindexed;

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
    std::vector<NoteEntry> notes = {};  // stored behind the messages, in the same step
};

struct ViewOptions {
    std::optional<Seq> at = {};  // the view as it was after that entry
    // A preview: what would be sent within so many tokens, or to that model, under that policy (or
    // else the conversation's). Nothing is written.
    std::optional<std::uint64_t> window = {};
    std::string model = {};
    std::string policy = {};
};

struct LogQuery {
    Range range = {Seq{1}, seq_max};
    Kinds kinds = all_kinds;
    std::size_t limit = 1000;
    bool newest_first = false;
    bool content = true;
};

struct CompactOptions {
    // JSON or the name of a preset, see docs/POLICIES.md. Empty: the conversation's, its agent's,
    // or else the one of MemoryOptions.
    std::string_view policy = {};
    bool preview = false;                      // plan it and show it, write nothing
    std::string model = {};                    // whose window is to be kept; empty: the last one's
    std::optional<std::uint64_t> window = {};  // tokens to be kept, where that is less
    SummaryTerms summaries = {};
};

// ---- what comes back ----------------------------------------------------------------------------

struct Written {
    Seq first = {}, last = {};
    Header header = {};
    bool again = false;
    std::vector<std::string> ids = {};  // one for each message
};

// The account of one compaction: what was asked for, what was done, what it costs.
struct CompactionReport {
    std::string strategy = {}, policy = {};  // none, trim, compact, summarize, own; its name
    std::string trigger = {}, level = {};    // "tokens", "hard"
    std::uint64_t messages_before = 0, messages_after = 0;  // items of the view
    std::uint64_t turns_before = 0, turns_after = 0;
    std::uint64_t used_before = 0, used_after = 0;  // tokens of the whole request
    std::uint64_t target = 0, limit = 0;            // what it was to come down to; 0: not known
    std::uint64_t floor = 0;                        // unreachable: what must stay
    std::uint64_t cleared = 0, shortened = 0, folded = 0, dropped = 0;  // items
    std::vector<std::string> call_ids = {}, tool_names = {};  // whose inputs or outputs went
    std::uint64_t cleared_inputs = 0, cleared_outputs = 0;
    std::optional<std::uint64_t> token_budget = {}, token_soft_budget = {};
    // Of the memory strategy object, where there was one.
    std::optional<std::uint64_t> keep_turns = {}, trigger_turns = {};
    bool clear_tool_inputs = false;
    std::vector<std::string> excluded_tools = {}, included_tools = {};
    // By edit: the tokens of the request before its first changed byte, which a cache keeps.
    std::vector<std::uint64_t> edit_prefixes = {};
    // What the provider's cache loses: all that is sent behind this.
    Seq first_changed = {};
    std::uint64_t first_byte = 0, prefix_tokens = 0;
    // Who wrote the summaries: "" nobody, "extractive", or a model; and what that took.
    std::string summarizer = {};
    std::uint64_t summary_calls = 0, summary_input = 0, summary_output = 0;
    double summary_cost = 0;       // dollars; 0 when the price is not known
    std::string explanation = {};  // for people
};

// What a compaction did, or would do.
struct Compaction {
    enum class Outcome : std::uint8_t {
        not_due,
        done,
        not_enough_history,
        no_progress,
        unreachable,
    };
    Outcome outcome = Outcome::not_due;
    Seq seq = {};  // its entry; 0 for a preview
    std::vector<Edit> edits = {};
    std::uint64_t tokens_before = 0, tokens_after = 0;
    CompactionReport report = {};
};
std::string_view outcome_name(Compaction::Outcome outcome);

// One summary of a conversation.
struct Summary {
    Seq seq = {};            // of its compaction
    std::uint32_t edit = 0;  // its place among the edits there
    Range range = {};        // what it stands for
    std::string text = {};   // empty: scrubbed
    std::uint64_t tokens_before = 0, tokens = 0;
    std::string model = {};  // who wrote it: "extractive", "caller", or a model
    Time at = {};
    double cost = 0;        // of all summaries of that compaction, dollars
    bool in_force = false;  // not undone, and nothing that it tells was taken back
};

// What was said and is not shown as it was said: by call id (the call and its results), by seq or
// range. Where both are given the call counts, if there is one of that id.
struct RecallQuery {
    std::string call_id = {};
    Range range = {};
    std::size_t limit = 100;
};
struct Recalled {
    Seq seq = {};
    Time at = {};
    Message message = {};
    std::string shown = {};  // how the view has it: verbatim, cleared, shortened, folded, dropped
};

// Where the tokens of a request go, in tokens and in dollars (0 when the price is not known).
struct TokenBreakdown {
    struct Part {
        std::string name = {};  // system, tools, messages, summaries, framing, free
        std::uint64_t tokens = 0;
        double dollars = 0;
    };
    struct Distance {
        std::string trigger = {}, level = {};
        double now = 0, at = 0;  // it fires at that value
        bool due = false;
    };
    std::string model = {};
    std::uint64_t window = 0, reserved = 0, used = 0;
    std::vector<Part> parts = {};
    std::vector<Distance> triggers = {};
};
struct BreakdownOptions {
    std::string model = {}, tools = {}, policy = {};
};

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

// ---- one turn ----------------------------------------------------------------------------------

// What the conversations of an agent have where the request and they themselves say nothing.
struct AgentSpec {
    std::string key = {};  // its name
    std::string model = {}, system_prompt = {};
    std::string policy = {};  // JSON or the name of a preset
};

// What becomes of a turn while another one of its conversation is under way, in this process or
// another. Plain appends are always allowed. A conversation's own answer stands in its metadata,
// field "turns".
enum class Turns : std::uint8_t {
    allow,   // both go on; whatever the order, what is sent can be sent
    wait,    // until the other has ended, or `conflict` after turn_wait
    refuse,  // `conflict`
    fork,    // it takes place in a fork from before the other: Begun::name tells which
};
std::optional<Turns> parse_turns(std::string_view name);

struct BeginRequest {
    std::string_view messages = {};  // as in AppendRequest; a leading run of system messages is the
                                     // preamble: it is sent and noted, not part of the log
    FormatId format = FormatId::openai_chat;
    std::string model = {};         // name, for the note
    std::string tools = {};         // JSON list, for the note
    std::string parameters = {};    // JSON object, for the note
    std::string policy = {};        // of this request; overrides the conversation's
    std::string agent_policy = {};  // of the agent that it is for; below the conversation's
    // The key of the agent that it is for; not_found when there is none. A conversation that begins
    // so keeps it in its metadata, field "agent_type", for requests that name none.
    std::string agent = {};
    std::optional<Turns> turns = {};  // of this request; overrides the conversation's
    WriteOptions write = {};
    HeaderPatch header = {};
    Seq continues = {};  // nothing new is said: the answer is for what was said from this seq on
    // The messages are all or the end of what the client has: what the conversation has already is
    // not said again, and what it has beyond that is taken back by a rewind, in the same step.
    bool resend = false;
    std::string digest = {};  // of the client's request, for the note: tells a repeat without a key
    SummaryTerms summaries = {};
    // In an errand of the server: it may be over when what was said would survive the death of this
    // process and is still being synced. Nobody is told anything of the turn before
    // Begun::stored().
    bool ahead = false;
};

struct Begun {
    ConversationId name = {};
    std::string key = {};
    LogId log = {};
    Seq turn = {};  // the first seq of what was said
    View view = {};
    std::vector<Message> preamble = {};
    bool injected = false;  // the last of the preamble is a summary of another conversation
    std::string model = {}, tools = {};  // as in the request
    // What the whole request is expected to take of the model's window; 0 when no model was named.
    std::uint64_t tokens_expected = 0;
    // What to send: preamble and view, without the reasoning of other models that is bound to them.
    std::vector<Message> request() const;
    std::vector<Range> of_other_models = {};  // what of the log others wrote than this model
    std::string cache_key() const;  // and behind_edit(): for a prompt cache, see ModelRequest
    std::size_t behind_edit() const;
    std::optional<Compaction> compaction = {};
    std::vector<std::string> warnings = {};
    std::string policy = {};                    // the one in force
    SummaryTerms summaries = {};                // as in the request
    bool shrunk = false;                        // by shrink()
    std::optional<Message> already = {};        // a repeat of a finished turn: its answer
    bool already_interrupted = false;           // that answer is a partial one
    std::vector<Message> already_earlier = {};  // as in Answer
    Seq already_at = {};
    bool exclusive = false;                            // it may hold its conversation: see Turns
    std::chrono::steady_clock::time_point ready = {};  // when begin ended
    std::shared_ptr<Storing> storing = {};             // null: what was said is stored
    // Waits until it is as durable as the store makes it; its error when it is not. finish() and
    // shrink() do so.
    Result<void> stored() const;
};

struct Answer {
    Message message = {};
    Usage usage = {};
    bool interrupted = false;
    // Items of the same answer that stand before the message: reasoning and calls, where each is an
    // item of its own.
    std::vector<Message> earlier = {};
    std::vector<std::string> warnings = {};  // as in Reply; told in Finished
};

struct Finished {
    Seq seq = {};  // of the answer
    Header header = {};
    std::vector<std::string> warnings = {};
    std::optional<double> cost = {};  // dollars, where the model's prices and the usage are known
    bool summary_due = false;         // work for the background: see run_jobs()
    bool again = false;               // this turn had an answer already: `seq` is that one's
};

// Pieces of an answer as they arrive. False asks the model to stop: the answer so far is kept,
// marked interrupted.
using OnText = std::function<bool(std::string_view text)>;

// ---- the facade ---------------------------------------------------------------------------------

// A row of the table of models, changed or added. What is not said stays as it is for the built-in
// model that the name matches, or else for an unknown one. Prices: dollars per million tokens.
struct OwnModel {
    std::string name = {};
    std::optional<std::uint32_t> window_tokens = {}, output_tokens = {};
    std::optional<std::uint32_t> reply_tokens = {};  // kept for answers that no request limits
    std::string same_as = {};   // what its server calls it: what is not said here is as there
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
    // The policy of conversations that have none, and whose request and agent name none. Empty:
    // nothing is ever compacted by itself.
    std::string policy = {};
    std::vector<AgentSpec> agents = {};  // of all tenants, beside those of the store
    Turns turns = Turns::allow;          // where neither request nor conversation say
    Duration turn_wait = std::chrono::seconds(30);
    // A turn that has not been finished or renewed for so long is taken for dead.
    Duration turn_lease = std::chrono::minutes(5);
    Extensions extensions = {};                            // passes and triggers of one's own
    std::shared_ptr<Summarizer> summarizer = {};           // null: the deterministic one
    Duration summary_deadline = std::chrono::seconds(20);  // at the hard level, inside begin
    std::shared_ptr<Embedder> embedder = {};               // null: search compares words only
    // Someone calls run_jobs(): what is due at the soft level is left to them. False: the next
    // begin does it.
    bool background = false;
    // Gets each compaction as one line of JSON, from any thread.
    std::function<void(std::string_view line)> log = {};
    // Told once about each model that is not known. From any thread.
    std::function<void(std::string_view message)> warn = {};
};

// The tool that lets a model fetch what was left out, as an element of `tools` in that format; and
// the answer to a call of it: text for the model, also when it fails.
constexpr std::string_view recall_tool_name = "recall";
std::string recall_tool(FormatId format);

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
                         std::optional<std::uint64_t> expected_revision = {},
                         std::optional<Seq> expected_end = {});
    Result<Header> fork(const ConversationId& name, const ConversationId& child,
                        std::optional<Seq> at = {},
                        const WriteOptions& write = {});  // its `expected_end` is the parent's
    Result<Checkpoint> checkpoint(const ConversationId& name, std::string_view checkpoint_name,
                                  std::string_view metadata = "{}", const WriteOptions& write = {});
    // Pins the whole group that the message is in.
    Result<Seq> pin(const ConversationId& name, Seq message, const WriteOptions& write = {});
    Result<Seq> unpin(const ConversationId& name, Seq message, const WriteOptions& write = {});
    // Hides messages, undoably. A range that would split a group is widened to whole groups. What
    // quotes them (recalled, or an answer of the tools recall and search_memory) is hidden as well.
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
    // A summary of the caller's own in place of these messages (whole groups, none open or pinned).
    Result<Compaction> summarize(const ConversationId& name, Range messages, std::string_view text,
                                 const WriteOptions& write = {});
    // Removes the content of messages, their summaries and quotations, in every fork, for good.
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
    // What the compaction entry at `seq` did, as it was told then.
    Result<Compaction> find_compaction(const ConversationId& name, Seq seq);
    // not_found when there is no such call or message, or a person has hidden or removed it.
    Result<std::vector<Recalled>> recall(const ConversationId& name, const RecallQuery& query);
    std::string answer_recall(const ConversationId& name, std::string_view arguments);
    // Any word ever said; see search.h.
    Result<SearchPage> search(const SearchRequest& request);
    // The answer to a call of search_tool(): text for the model, also when it fails.
    std::string answer_search(const ConversationId& name, std::string_view arguments);
    Result<Reindexed> reindex(const ReindexRequest& request);
    Result<TokenBreakdown> breakdown(const ConversationId& name,
                                     const BreakdownOptions& options = {});
    Result<std::vector<Summary>> summaries(const ConversationId& name);  // oldest first

    // -- turns
    Result<Begun> begin(const ConversationId& name, const BeginRequest& request);
    Result<Finished> finish(const Begun& begun, const Answer& answer);
    // The provider refused what `begun` sent as too long: compacts once more and gives what to send
    // instead, which is smaller; else budget_unreachable.
    Result<Begun> shrink(const Begun& begun);
    // This turn will not be finished: where turns are exclusive the next may begin.
    void release(const Begun& begun);

    // -- agents. Those of the store win over those of MemoryOptions with the same key.
    Result<void> put_agent(const std::string& tenant, const AgentSpec& agent);
    Result<AgentSpec> find_agent(const std::string& tenant, std::string_view key);
    Result<std::vector<AgentSpec>> agents(const std::string& tenant);            // by key
    Result<void> remove_agent(const std::string& tenant, std::string_view key);  // of the store

    // -- work that can wait
    // Claims and does at most `limit` due summaries of the tenant's conversations; gives how many
    // were done. Any number of processes may call it. When it is stopped the rest stays due.
    Result<std::size_t> run_jobs(const std::string& tenant, std::size_t limit = 16,
                                 const std::stop_token& stop = {});

    // Totals of tenants that wait to be written, see tenant_usage_by_day() in chat.h.
    void write_usage();

    // The models and agents of MemoryOptions anew, for calls from now on. From any thread.
    void reload(std::vector<OwnModel> models, std::vector<AgentSpec> agents);

    // Dollars; none when the model's prices or the usage are not known.
    std::optional<double> cost_of(std::string_view model, const Usage& usage) const;
    // For the metrics: a model answered outside of a turn; no usage: it was not read.
    void count_call(std::string_view model, const Usage& usage, double seconds);
    std::string metrics() const;  // counters in the text format of Prometheus

    Store& store();

    // How it counts, prices and summarises, for a Memory beside it: no store, policy or agents.
    MemoryOptions shared_options() const;

private:
    std::unique_ptr<State> state_;
};

}  // namespace palimpsest
