// Compaction, as passes and triggers see it. A pass or a trigger of one's own is a plain function
// over these types: no class to derive from, nothing to register but a name (see Extensions).
//
// All of it is pure: the same input gives the same plan. Times and usage are passed in.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/entry.h"
#include "palimpsest/error.h"
#include "palimpsest/view.h"

namespace palimpsest {

// ---- what is known when it is asked whether to compact ------------------------------------------

// What a request has room for, in tokens. All that is not an item of the view is `fixed`.
struct Budget {
    std::uint64_t window = 0;  // what the model takes, question and answer together; 0: not known
    std::uint64_t reply = 0;   // kept free for the answer
    std::string_view reply_field = {};  // that asks for so much, a literal; empty: none
    bool reply_is_usual = false;    // nobody asked for so much: never more than half of the window
    std::uint64_t tools = 0;        // schemas of the tools that are sent
    std::uint64_t system = 0;       // the preamble
    std::uint32_t per_message = 0;  // what the provider adds around each message
    std::uint32_t per_request = 0;  // and once

    std::uint64_t fixed() const { return tools + system + per_request; }
    // The whole request, without the answer.
    std::uint64_t used(const ViewTotals& totals) const {
        return fixed() + totals.tokens + per_message * totals.messages;
    }
    // The most that `used` may be; without a known window there is no limit.
    std::uint64_t limit() const {
        if (window == 0) return std::numeric_limits<std::uint64_t>::max();
        return window > reply ? window - reply : 0;
    }
};

// What a policy may want to know of the model. Prices: dollars per million tokens, below 0: not
// known.
struct ModelFacts {
    std::string name = {};
    double input_price = -1, cached_price = -1, cache_write_price = -1, output_price = -1;
    std::uint32_t cache_least_tokens = 0;  // 0: there is no prompt cache
    std::uint32_t cache_step_tokens = 1;
    std::uint32_t cache_lifetime_s = 300;
};

// Compactions that freed nothing, of one trigger of one policy. After two of them it rests until
// the view has grown again (by an eighth), because a third would free nothing either.
struct Stall {
    Fingerprint policy = {};   // of its text
    std::string trigger = {};  // with its level: "hard tokens"
    std::uint32_t fruitless = 0;
    std::uint64_t tokens = 0;  // of the view at the last of them
};

// Tokens that a provider reported for one call; `cached` and `cache_writes` are part of `input`.
struct Usage {
    std::uint64_t input = 0, cached = 0, cache_writes = 0, output = 0, reasoning = 0;
};

struct Occasion {
    ViewTotals totals = {};
    // The view, without what this turn says, which `totals` count. Good for the call alone. To read
    // it costs what it is long: triggers are asked at every turn.
    std::span<const Item> items = {};
    Budget budget = {};
    ModelFacts model = {};
    std::span<const Message> preamble = {};
    // What the provider last reported for this conversation: tokens of request and answer. None
    // when the view was edited since.
    std::optional<std::uint64_t> reported_tokens = {};
    std::optional<Usage> usage = {};  // the same in its parts
    Time now = {};
    std::vector<Stall> stalls = {};
    bool explicitly = false;  // someone asked for it
    bool overflow = false;    // the provider refused the request as too long
};

// ---- what messages hold -------------------------------------------------------------------------

enum class ContentKind : std::uint8_t { text, media, tool_call, tool_result, reasoning, opaque };

// One part of a message. Views are good as long as the Content that they are in.
struct ContentPart {
    ContentKind kind = ContentKind::opaque;
    bool is_error = false;       // a result that says so, by flag or by its first word "Error"
    bool hosted = false;         // the provider ran the tool: call and result may be one item
    bool can_change = false;     // PartChange::text has a place here that keeps the item valid
    std::string_view id = {};    // of the call made or answered
    std::string_view tool = {};  // of calls and hosted results; other results carry only the id
    std::string_view text = {};  // text, arguments, result, thinking, words of a document
    std::size_t bytes = 0;       // of its JSON
};
struct Content {
    std::shared_ptr<const void> owner = {};
    std::vector<ContentPart> parts = {};
};

// A change of one part. `text` replaces: a text, a result's content, or (as the only field of an
// object, where that is needed) a call's arguments; media become a text part. Without `text` the
// part goes: allowed for reasoning, media and text beside other parts.
struct PartChange {
    std::size_t part = 0;
    std::optional<std::string> text = {};
};

// Reading and rewriting messages in their own format, and counting: what the pure planner is lent.
// Must be safe to call from the thread that plans; keeps no state that shows.
class MessageTools {
public:
    virtual ~MessageTools() = default;
    virtual Result<Content> read(const Message& message) const = 0;
    // Whether read() would show a tool result: cheap, may say yes too often, never no wrongly.
    virtual bool may_hold_results(const Message& message) const = 0;
    // Whether read() would show an error result. Cheap where it can be.
    virtual bool has_error(const Message& message) const = 0;
    // Whether it is a provider's own compaction: all that it is told of what came before.
    virtual bool is_sealed_past(const Message& message) const = 0;
    // The message with these parts changed, in its own format, counted. Everything else keeps its
    // bytes, and the message its role and its call ids. Without bytes when nothing is left of it.
    virtual Result<Message> rewrite(const Message& message,
                                    std::span<const PartChange> changes) const = 0;
    // A plain text message, counted.
    virtual Result<Message> make_text(FormatId format, Role role, std::string_view text) const = 0;
    virtual std::uint32_t count_text(std::string_view text) const = 0;
    virtual std::uint16_t scheme() const = 0;  // of the counts
};

// ---- passes -------------------------------------------------------------------------------------

// How far a group is out of reach: those that `stay` may be cleared, but neither folded nor
// dropped; `kept` ones only shortened; `verbatim` ones keep their bytes. What a pass asks for
// beyond that is ignored.
enum class Shield : std::uint8_t { none, stays, kept, verbatim };

// What a pass looks at. Groups that earlier passes dropped or folded are not in it any more. All of
// it is good for the call of the pass, `items` and `tools` also for its rewrite, which comes later:
// what else that needs it must copy.
struct PassInput {
    std::span<const Item> items = {};      // the whole view, in the order it is sent
    std::span<const Group> groups = {};    // what is left of it; indices into `items`
    std::span<const Turn> turns = {};      // of `groups`
    std::span<const Shield> shields = {};  // by group: what is out of its reach
    std::span<const std::uint32_t> tokens =
        {};  // by item, with the provider's framing, as it is now
    std::span<const Treatment> treatments = {};  // by item, of edits in force and earlier passes
    std::uint64_t used = 0;                      // the whole request as it is now
    // Groups before this one will go whatever is done to them, because later passes drop or fold
    // what is oldest down to the target: not worth rewriting.
    std::size_t first_lasting = 0;
    std::uint64_t target = 0;  // where to stop; 0: nowhere
    bool has_target = false;
    const Occasion* occasion = nullptr;   // never null
    const MessageTools* tools = nullptr;  // null: contents cannot be read or rewritten
};

// How a fold is to be summarised. A plan always carries a deterministic text; this is what a model
// is asked for in its place.
struct SummaryOrder {
    std::size_t edit = 0;  // index into the plan's edits
    Range range = {};
    std::string mode = "whole";
    std::string model = {};  // empty: the deterministic text is what is wanted
    std::string instructions = {};
    std::vector<std::string> concepts = {};  // facts by named concept
    std::uint32_t max_tokens = 300;
    std::string prefix = "[summary]";
};

// What a pass asks for.
struct PlannedEdit {
    Treatment treatment = Treatment::dropped;
    std::vector<std::size_t> groups = {};  // dropped, folded: whole groups, ascending
    std::size_t item = 0;                  // cleared, shortened: one item
    std::uint32_t tokens_after = 0;        // of the item, or of the summary: an estimate
    std::string reason = {};
    std::shared_ptr<const SummaryOrder> summary = {};  // folded; null: as usual
};

// The changes of one item that the pass wants rewritten; `message` is what the passes before it
// left of the item, counted. Called only for edits that still stand when all passes are done, so a
// pass that is overtaken by a drop costs no rewriting.
using RewriteFunction =
    std::function<Result<std::vector<PartChange>>(std::size_t item, const Message& message)>;

struct PassResult {
    std::vector<PlannedEdit> edits = {};
    RewriteFunction rewrite = {};     // needed by cleared and shortened edits
    bool may_grow = false;            // rewritten items count even if they are no smaller
    bool not_enough_history = false;  // there is nothing that it could cut
    std::string refusal = {};         // not empty: the compaction must fail with these words
};

using PassFunction = std::function<PassResult(const PassInput&)>;
using TriggerFunction = std::function<bool(const Occasion&)>;

// Passes and triggers of the user's own. A policy names them like the built-in ones:
// {"pass": NAME}, {"triggers": {NAME: true}}.
struct OwnPass {
    std::string name = {};
    PassFunction run = {};
};
struct OwnTrigger {
    std::string name = {};
    TriggerFunction is_due = {};
};
// Names must be new (neither a built-in's nor "any", "all", "hard", "soft") and functions not
// empty: Memory::open fails otherwise.
struct Extensions {
    std::vector<OwnPass> passes = {};
    std::vector<OwnTrigger> triggers = {};
    // Groups with an item of which it says yes keep their bytes, under every policy.
    std::function<bool(const Item&)> protect = {};
};

// What whoever causes a compaction may have of models for its summaries.
struct SummaryTerms {
    // Those that a policy may name for them, unless it is the one of MemoryOptions; another name is
    // `forbidden`. Empty: any.
    std::vector<std::string> models = {};
    // Called before a model is asked. An error: none is, the deterministic text stands, and the
    // report says why. Null: one may always be asked.
    std::function<Result<void>()> may_spend = {};
    // Called with what the models took, input and output, whatever becomes of their texts.
    std::function<void(std::uint64_t tokens, double dollars)> on_spent = {};
};

// ---- boundaries ---------------------------------------------------------------------------------

// The group to cut before, so that what is kept begins well: back to the start of the turn of
// `nominal`; if that frees nothing, forward to the next turn; inside one long turn between its
// groups (with reasoning: before a group that begins with it).
std::size_t safe_start(const PassInput& input, std::size_t nominal);
// The first turn that the user begins, as an index into the groups; groups.size() if none.
std::size_t first_user_start(std::span<const Item> items, std::span<const Group> groups);
// The group that holds the item; the turn that holds the group.
std::size_t group_of(std::span<const Group> groups, std::size_t item);
std::size_t turn_of(std::span<const Turn> turns, std::size_t group);

}  // namespace palimpsest
