// The state blob: bytes to a conversation in memory, one turn there, and back to bytes.
//
// Invariant: what is written can be read, and reading it gives the same view.
#include <algorithm>
#include <map>

#include "core/fold.h"
#include "engine/edit.h"
#include "engine/state_shapes.h"
#include "format/request.h"
#include "palimpsest/chat.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

const ConversationId the_one{"state", "conversation"};

// A conversation in memory for the length of one call. Message i stands at seq i + 1.
class Workplace {
public:
    Workplace(FormatId format, const StateOptions& options) : format_(format), options_(options) {}

    Result<void> open(std::string_view state) {
        PAL_TRY(parts, read_state(state, format_, options_, report));
        const auto filled = fill(parts);
        if (filled) return {};
        // Each part can be read, and together they cannot be: an edit that parts a call from its
        // result.
        if (report.problem.empty())
            report = {.problem = "invalid_conversation_state", .detail = filled.error().message};
        if (options_.bad == BadState::fail)
            return fail(ErrorCode::invalid_request, report.problem + ": " + report.detail, "state");
        StateParts rest{.provider = parts.provider, .shape = parts.shape};
        if (options_.bad == BadState::salvage) {
            rest.messages = std::move(parts.messages);
            rest.processed = parts.processed;
        }
        report.kept = rest.messages.size();
        return fill(rest);
    }

    Memory& memory() { return *memory_; }

    // What is due under the policy, now. A begin does it, as before any call of a model.
    Result<std::optional<Compaction>> compact(std::string_view model) {
        if (options_.policy.empty() || !memory_->head(the_one)) return std::nullopt;
        auto begun = memory_->begin(the_one, {.messages = "[]",
                                              .format = format_,
                                              .model = std::string(model),
                                              .policy = options_.policy,
                                              .continues = Seq{1},
                                              .summaries = options_.summaries});
        // What cannot be made small enough is kept as it is: a finished reply is never lost.
        if (!begun && begun.error().code == ErrorCode::budget_unreachable) return std::nullopt;
        PAL_TRY(done, std::move(begun));
        return done.compaction;
    }

    Result<std::string> encode(bool all_seen) {
        const auto header = memory_->head(the_one);
        if (!header) return std::string();  // Nothing was ever said.
        std::vector<Item> items;
        PAL_TRY(view, memory_->view(the_one));
        if (options_.keep_log) {
            PAL_TRY(said, whole_log(view));
            items = std::move(said);
        } else {
            items = view.items.copy();
        }
        StateParts parts{.provider = read_.provider, .shape = read_.shape};
        Places places;
        for (const Item& item : items) {
            const std::size_t first = parts.messages.size();
            PAL_CHECK(add_item(item, parts));
            places[item.range.from] = {first, parts.messages.size() - first};
            if (all_seen || item.range.from.value <= read_.processed)
                parts.processed = parts.messages.size();
        }
        if (options_.keep_log) PAL_CHECK(add_compactions(view, places, parts));
        return write_state(parts, format_, options_, report);
    }

    StateReport report = {};

private:
    // Where the messages of an entry stand in the state, and how many it became.
    struct Place {
        std::size_t first = 0, count = 0;
    };
    using Places = std::map<Seq, Place>;

    Result<void> fill(const StateParts& parts) {
        read_ = {.processed = parts.processed, .provider = parts.provider, .shape = parts.shape};
        MemoryOptions own = options_.memory ? *options_.memory : MemoryOptions{};
        own.policy = {};
        own.store = {.clock = own.store.clock};
        PAL_TRY(opened, Memory::open("memory:?ttl=0&max=0", std::move(own)));
        memory_.emplace(std::move(opened));
        if (parts.messages.empty()) return {};
        std::string list = "[";
        for (const std::string& message : parts.messages)
            list += (list.size() > 1 ? "," : "") + message;
        list += "]";
        PAL_TRY(written, memory_->append(the_one, {.messages = list, .format = format_}));
        (void)written;
        return mark(parts);
    }

    Result<void> mark(const StateParts& parts) {
        for (const StateCompaction& compaction : parts.compactions) {
            PAL_TRY(view, memory_->view(the_one));
            PAL_TRY(done,
                    memory_->splice(the_one, view, edits_of(compaction, format_), Cause::import));
            (void)done;
        }
        for (const auto& [at, text] : parts.summaries) {
            // Its message is the summary itself: there is nothing that it could be shorter than.
            PAL_TRY(view, memory_->view(the_one));
            PAL_TRY(edit, own_summary(view, {Seq{at + 1}, Seq{at + 1}}, text));
            PAL_TRY(done, memory_->splice(the_one, view, {std::move(edit)}, Cause::request));
            (void)done;
        }
        for (const std::size_t at : parts.pinned) {
            PAL_TRY(done, memory_->pin(the_one, Seq{at + 1}));
            (void)done;
        }
        return {};
    }

    // Every message as it was said; pins stay what they are.
    Result<std::vector<Item>> whole_log(const View& view) {
        PAL_TRY(entries,
                memory_->log(the_one, {.kinds = only(EntryKind::message), .limit = SIZE_MAX}));
        std::vector<Item> items;
        for (const Entry& entry : entries) {
            Item item;
            item.range = {entry.seq, entry.seq};
            item.message = std::get<MessageEntry>(entry.body).message;
            const auto shown = std::ranges::find(view.items, item.range, &Item::range);
            if (shown != view.items.end()) item.pinned = shown->pinned;
            items.push_back(std::move(item));
        }
        return items;
    }

    // The edits in force, by index.
    Result<void> add_compactions(const View& view, const Places& places, StateParts& parts) {
        if (view.basis == Seq{}) return {};
        PAL_TRY(entries, memory_->log(the_one, {.kinds = basis_kinds, .limit = SIZE_MAX}));
        const std::vector<Seq> applied = resolve_basis(entries.back()).applied;
        for (const Entry& entry : entries) {
            const auto* made = std::get_if<CompactionEntry>(&entry.body);
            if (!made || !std::ranges::binary_search(applied, entry.seq)) continue;
            StateCompaction compaction;
            for (const Edit& edit : made->edits) PAL_CHECK(add_edit(edit, places, compaction));
            if (!compaction.empty()) parts.compactions.push_back(std::move(compaction));
        }
        return {};
    }

    Result<void> add_edit(const Edit& edit, const Places& places, StateCompaction& compaction) {
        const auto first = places.lower_bound(edit.range.from);
        const auto behind = places.upper_bound(edit.range.to);
        if (first == behind) return {};  // It holds no message.
        const Place& last = std::prev(behind)->second;
        StateEdit made{.treatment = edit.treatment,
                       .from = first->second.first,
                       .to = last.first + last.count - 1,
                       .reason = edit.reason,
                       .pass = edit.pass};
        if (edit.treatment == Treatment::folded || edit.treatment == Treatment::dropped) {
            made.result = view_of(edit.result);
            compaction.push_back(std::move(made));
            return {};
        }
        Item item;
        PAL_TRY(message, read_message(edit.format, edit.result));
        item.message = std::move(message);
        PAL_TRY(raw, raw_of(item));
        if (raw.size() != last.count) {
            report.lost.emplace_back("an edit of a message that this format divides otherwise");
            return {};
        }
        for (std::string& one : raw) {
            made.to = made.from;
            made.result = std::move(one);
            compaction.push_back(made);
            ++made.from;
        }
        return {};
    }

    // Of the state's format, whatever the model speaks. One message may become several.
    Result<std::vector<std::string>> raw_of(const Item& item) const {
        const Message& message = item.message;
        if (message.format == format_) return std::vector{std::string(view_of(message.raw))};
        // Without repair: a call whose result is still to come is not broken.
        PAL_TRY(converted, convert_messages(format_, std::span(&message, 1)));
        std::vector<std::string> out;
        for (const Message& one : converted.messages) out.emplace_back(view_of(one.raw));
        return out;
    }

    Result<void> add_item(const Item& item, StateParts& parts) const {
        if (item.pinned) parts.pinned.push_back(parts.messages.size());
        if (item.kind == ItemKind::summary) {
            const auto read = read_parts(item.message);
            const Text* text =
                read && !read->parts.empty() ? std::get_if<Text>(&read->parts[0]) : nullptr;
            parts.summaries.emplace_back(parts.messages.size(), text ? text->text : "");
        }
        PAL_TRY(raw, raw_of(item));
        for (std::string& one : raw) parts.messages.push_back(std::move(one));
        return {};
    }

    FormatId format_;
    const StateOptions& options_;
    std::optional<Memory> memory_;
    StateParts read_ = {};  // what is known of the state as it was, but for its contents
};

}  // namespace

Result<StateTurn> chat_with_state(std::string_view state, const BeginRequest& request, Model& model,
                                  const StateOptions& options, const ChatOptions& chat_options) {
    Workplace place(request.format, options);
    PAL_CHECK(place.open(state));
    BeginRequest named = request;
    if (named.policy.empty()) named.policy = options.policy;
    named.summaries = options.summaries;
    PAL_TRY(done, chat(place.memory(), the_one, named, model, chat_options));
    StateTurn turn{.chat = std::move(done)};
    PAL_TRY(compaction, place.compact(named.model.empty() ? model.name() : named.model));
    turn.compaction = std::move(compaction);
    PAL_TRY(bytes, place.encode(true));
    turn.state = std::move(bytes);
    turn.report = place.report;
    return turn;
}

Result<StateAppended> append_to_state(std::string_view state, const AppendRequest& request,
                                      const StateOptions& options, bool compact) {
    Workplace place(request.format, options);
    PAL_CHECK(place.open(state));
    PAL_TRY(written, place.memory().append(the_one, request));
    (void)written;
    StateAppended appended;
    if (compact) {
        PAL_TRY(done, place.compact(options.model));
        appended.compaction = std::move(done);
    }
    PAL_TRY(bytes, place.encode(false));
    appended.state = std::move(bytes);
    appended.report = place.report;
    return appended;
}

Result<StateAppended> append_event(std::string_view state, std::string_view text, FormatId format,
                                   const StateOptions& options) {
    PAL_TRY(message, make_message(format, Role::user, text));
    const std::string json(view_of(message.raw));
    return append_to_state(state, {.messages = json, .format = format}, options);
}

}  // namespace palimpsest
