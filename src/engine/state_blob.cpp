// The state blob: bytes to a conversation in memory, one turn there, and back to bytes.
//
// Invariant: what is written can be read, and reading it gives the same view.
#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/chat.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

const ConversationId the_one{"state", "conversation"};

struct StateParts {
    std::vector<std::string> messages = {};
    std::vector<std::size_t> pinned = {};
    std::vector<std::pair<std::size_t, std::string>> summaries = {};  // index, text
    std::size_t processed = 0;
};

std::size_t number_in(JsonValue object, std::string_view field) {
    const auto value = object.find(field);
    const auto number = value ? value->integer() : std::nullopt;
    return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
}

class StateReader {
public:
    StateReader(FormatId format, const StateOptions& options)
        : format_(format), options_(options) {}

    Result<StateParts> read(std::string_view state, StateReport& report) {
        StateParts parts;
        if (state.find_first_not_of(" \t\r\n") == state.npos) return parts;
        read_into(state, parts, report);
        if (!report.problem.empty() && options_.bad == BadState::fail)
            return fail(ErrorCode::invalid_request, report.problem + ": " + report.detail, "state");
        if (!report.problem.empty() && options_.bad == BadState::discard) parts = {};
        report.kept = parts.messages.size();
        return parts;
    }

private:
    void read_into(std::string_view state, StateParts& parts, StateReport& report) {
        const auto document = parse_json(state);
        const auto bad = [&](std::string problem, std::string detail) {
            report.problem = std::move(problem);
            report.detail = std::move(detail);
        };
        if (!document || !document->root().is_object())
            return bad("invalid_conversation_state",
                       document ? "an object is expected" : document.error().message);
        const JsonValue root = document->root();
        const std::size_t version = number_in(root, "version");
        if (version != 1 && version != 2)
            return bad("unsupported_state_version",
                       "version " + std::to_string(version) + "; 1 and 2 are read");
        const auto provider = root.find("provider");
        const std::string_view ours =
            options_.provider.empty() ? format_name(format_) : options_.provider;
        if (!provider || provider->string() != ours)
            return bad("provider_mismatch", "the state is of '" +
                                                std::string(provider ? provider->string() : "") +
                                                "', this is '" + std::string(ours) + "'");
        const auto list = root.find("messages");
        if (!list || !(list->is_array() || list->is_null()))
            return bad("invalid_conversation_state", "'messages' must be a list");
        for (const JsonValue message : list->elements()) {
            const auto read = read_message(format_, make_bytes(std::string(message.raw())));
            if (!read)
                return bad("message_unmarshal_failed", "message " +
                                                           std::to_string(parts.messages.size()) +
                                                           ": " + read.error().message);
            parts.messages.emplace_back(message.raw());
        }
        parts.processed = std::min(number_in(root, "processed_length"), parts.messages.size());
        read_marks(root, parts);
    }

    static void read_marks(JsonValue root, StateParts& parts) {
        if (const auto pinned = root.find("pinned"))
            for (const JsonValue at : pinned->elements())
                if (const auto i = at.integer();
                    i && *i >= 0 && std::size_t(*i) < parts.messages.size())
                    parts.pinned.push_back(std::size_t(*i));
        if (const auto summaries = root.find("summaries"))
            for (const JsonValue one : summaries->elements()) {
                const auto text = one.find("text");
                const std::size_t at = number_in(one, "at");
                if (text && at < parts.messages.size())
                    parts.summaries.emplace_back(at, text->string());
            }
    }

    FormatId format_;
    const StateOptions& options_;
};

// A conversation in memory for the length of one call. Message i stands at seq i + 1.
class Workplace {
public:
    Workplace(FormatId format, const StateOptions& options) : format_(format), options_(options) {}

    Result<void> open(std::string_view state) {
        PAL_TRY(parts, StateReader(format_, options_).read(state, report));
        processed_ = parts.processed;
        MemoryOptions own;
        own.policy = {};
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

    Memory& memory() { return *memory_; }

    // What is due under the policy, now. A begin does it, as before any call of a model.
    Result<std::optional<Compaction>> compact() {
        if (options_.policy.empty() || !memory_->head(the_one)) return std::nullopt;
        auto begun = memory_->begin(
            the_one,
            {.messages = "[]", .format = format_, .policy = options_.policy, .continues = Seq{1}});
        // What cannot be made small enough is kept as it is: a finished reply is never lost.
        if (!begun && begun.error().code == ErrorCode::budget_unreachable) return std::nullopt;
        PAL_TRY(done, std::move(begun));
        return done.compaction;
    }

    Result<std::string> encode(bool all_seen) {
        std::string out;
        JsonWriter json(out);
        const auto header = memory_->head(the_one);
        if (!header) return out;  // Nothing was ever said.
        std::vector<Item> items;
        PAL_TRY(view, memory_->view(the_one));
        if (options_.keep_log) {
            PAL_TRY(said, whole_log());
            items = std::move(said);
        } else {
            items = view.items.copy();
        }
        json.begin_object().key("version").number(2);
        json.field("provider",
                   options_.provider.empty() ? format_name(format_) : options_.provider);
        json.key("processed_length");
        json.number(std::uint64_t{all_seen ? items.size() : std::min(processed_, items.size())});
        json.key("messages").begin_array();
        for (const Item& item : items) {
            PAL_TRY(raw, raw_of(item));
            json.raw(raw);
        }
        json.end_array();
        write_marks(json, items);
        json.end_object();
        return out;
    }

    StateReport report = {};

private:
    Result<void> mark(const StateParts& parts) {
        for (const auto& [at, text] : parts.summaries) {
            PAL_TRY(done, memory_->summarize(the_one, {Seq{at + 1}, Seq{at + 1}}, text));
            (void)done;
        }
        for (const std::size_t at : parts.pinned) {
            PAL_TRY(done, memory_->pin(the_one, Seq{at + 1}));
            (void)done;
        }
        return {};
    }

    Result<std::vector<Item>> whole_log() {
        PAL_TRY(entries,
                memory_->log(the_one, {.kinds = only(EntryKind::message), .limit = SIZE_MAX}));
        std::vector<Item> items;
        for (const Entry& entry : entries) {
            Item item;
            item.range = {entry.seq, entry.seq};
            item.message = std::get<MessageEntry>(entry.body).message;
            items.push_back(std::move(item));
        }
        return items;
    }

    // Of the state's format, whatever the model speaks.
    Result<std::string> raw_of(const Item& item) const {
        const Message& message = item.message;
        if (message.format == format_) return std::string(view_of(message.raw));
        PAL_TRY(converted, convert_json(message.format, format_,
                                        "[" + std::string(view_of(message.raw)) + "]"));
        PAL_TRY(messages, read_messages(format_, make_bytes(std::move(converted.json))));
        return write_list(messages).substr(1, write_list(messages).size() - 2);
    }

    static void write_marks(JsonWriter& json, const std::vector<Item>& items) {
        json.key("pinned").begin_array();
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].pinned) json.number(std::uint64_t{i});
        json.end_array().key("summaries").begin_array();
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (items[i].kind != ItemKind::summary) continue;
            const auto parts = read_parts(items[i].message);
            const Text* text =
                parts && !parts->parts.empty() ? std::get_if<Text>(&parts->parts[0]) : nullptr;
            json.begin_object().key("at").number(std::uint64_t{i});
            json.field("text", text ? text->text : std::string_view()).end_object();
        }
        json.end_array();
    }

    FormatId format_;
    const StateOptions& options_;
    std::optional<Memory> memory_;
    std::size_t processed_ = 0;
};

}  // namespace

Result<StateTurn> chat_with_state(std::string_view state, const BeginRequest& request, Model& model,
                                  const StateOptions& options, const ChatOptions& chat_options) {
    Workplace place(request.format, options);
    PAL_CHECK(place.open(state));
    BeginRequest named = request;
    if (named.policy.empty()) named.policy = options.policy;
    PAL_TRY(done, chat(place.memory(), the_one, named, model, chat_options));
    StateTurn turn{.chat = std::move(done), .report = place.report};
    PAL_TRY(compaction, place.compact());
    turn.compaction = std::move(compaction);
    PAL_TRY(bytes, place.encode(true));
    turn.state = std::move(bytes);
    return turn;
}

Result<StateAppended> append_to_state(std::string_view state, const AppendRequest& request,
                                      const StateOptions& options, bool compact) {
    Workplace place(request.format, options);
    PAL_CHECK(place.open(state));
    PAL_TRY(written, place.memory().append(the_one, request));
    (void)written;
    if (compact) {
        PAL_TRY(done, place.compact());
        (void)done;
    }
    PAL_TRY(bytes, place.encode(false));
    return StateAppended{std::move(bytes), place.report};
}

Result<StateAppended> append_event(std::string_view state, std::string_view text, FormatId format,
                                   const StateOptions& options) {
    PAL_TRY(message, make_message(format, Role::user, text));
    const std::string json(view_of(message.raw));
    return append_to_state(state, {.messages = json, .format = format}, options);
}

}  // namespace palimpsest
