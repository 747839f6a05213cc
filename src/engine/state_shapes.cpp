#include "engine/state_shapes.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "engine/foreign.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::string_view shape_names[] = {"own", "same", "goaitools", "ailoop"};

std::size_t number_in(JsonValue object, std::string_view field) {
    const auto value = object.find(field);
    const auto number = value ? value->integer() : std::nullopt;
    return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
}

std::string_view text_in(JsonValue object, std::string_view field) {
    const auto value = object.find(field);
    return value ? value->string() : std::string_view();
}

// What goaitools' backends call themselves.
struct Backend {
    FormatId format;
    std::string_view name;
};
constexpr Backend backends[] = {{FormatId::openai_chat, "openai"},
                                {FormatId::openai_responses, "openai"},
                                {FormatId::anthropic, "anthropic"}};

std::string_view backend_of(FormatId format) {
    return std::ranges::find(backends, format, &Backend::format)->name;
}

// JSON, for a report.
std::string brief(std::string_view json) {
    constexpr std::size_t most = 40;
    return to_utf8(json.substr(0, most)) + (json.size() > most ? "..." : "");
}

std::string list_of(const std::vector<std::string>& messages) {
    std::string list = "[";
    for (const std::string& message : messages) list += (list.size() > 1 ? "," : "") + message;
    return list + "]";
}

class StateReader {
public:
    StateReader(FormatId format, const StateOptions& options, StateReport& report)
        : format_(format), options_(options), report_(report) {}

    Result<StateParts> read(std::string_view state) {
        if (state.find_first_not_of(" \t\r\n") == state.npos) return std::move(parts_);
        read_into(state);
        if (!report_.problem.empty() && options_.bad == BadState::fail)
            return fail(ErrorCode::invalid_request, report_.problem + ": " + report_.detail,
                        "state");
        if (!report_.problem.empty() && options_.bad == BadState::discard) parts_ = {};
        report_.kept = parts_.messages.size();
        return std::move(parts_);
    }

private:
    // The first one is told.
    void bad(std::string problem, std::string detail) {
        if (!report_.problem.empty()) return;
        report_.problem = std::move(problem);
        report_.detail = std::move(detail);
    }

    void read_into(std::string_view state) {
        const auto document = parse_json(state);
        if (!document || !document->root().is_object())
            return bad("invalid_conversation_state",
                       document ? "an object is expected" : document.error().message);
        const JsonValue root = document->root();
        const std::size_t version = number_in(root, "version");
        if (version != 1 && version != 2)
            return bad("unsupported_state_version",
                       "version " + std::to_string(version) + "; 1 and 2 are read");
        const auto list = root.find("messages");
        if (!list || !(list->is_array() || list->is_null()))
            return bad("invalid_conversation_state", "'messages' must be a list");
        // A snapshot of ailoop has no provider, and says for each message whether it is pinned.
        if (version == 1 && !root.find("provider") && root.find("pinned"))
            return read_snapshot(state);
        if (version == 1) parts_.shape = StateShape::goaitools;
        if (!check_provider(root, version)) return;
        read_messages(*list);
        read_processed(root.find("processed_length"), version, list->size());
        if (version == 2) read_marks(root, list->size());
    }

    // goaitools does not hold its number to the length of the list.
    void read_processed(const std::optional<JsonValue>& value, std::size_t version,
                        std::size_t length) {
        if (!value || value->is_null()) return;
        const auto number = index_of(value, version == 1 ? SIZE_MAX : length + 1);
        if (!number)
            bad("invalid_conversation_state", "'processed_length' is " + brief(value->raw()) +
                                                  ", of " + std::to_string(length) + " messages");
        parts_.processed = std::min(number.value_or(0), parts_.messages.size());
    }

    bool check_provider(JsonValue root, std::size_t version) {
        parts_.provider = text_in(root, "provider");
        const std::string_view ours =
            options_.provider.empty() ? format_name(format_) : options_.provider;
        if (parts_.provider == ours) return true;
        if (version == 1 && options_.provider.empty() && parts_.provider == backend_of(format_))
            return true;
        bad("provider_mismatch",
            "the state is of '" + parts_.provider + "', this is '" + std::string(ours) + "'");
        return false;
    }

    void read_messages(JsonValue list) {
        for (const JsonValue message : list.elements()) {
            const auto read = read_message(format_, make_bytes(std::string(message.raw())));
            if (!read) {
                bad("message_unmarshal_failed", "message " +
                                                    std::to_string(parts_.messages.size()) + ": " +
                                                    read.error().message);
                return;
            }
            parts_.messages.emplace_back(message.raw());
        }
    }

    // A list that may be absent; what is none is told.
    std::optional<JsonValue> list_in(JsonValue root, std::string_view field) {
        const auto list = root.find(field);
        if (!list || list->is_null()) return std::nullopt;
        if (list->is_array()) return list;
        bad("invalid_conversation_state", "'" + std::string(field) + "' must be a list");
        return std::nullopt;
    }

    // `length`: of the messages, also of those that are not kept.
    void read_marks(JsonValue root, std::size_t length) {
        if (const auto pinned = list_in(root, "pinned"))
            for (const JsonValue at : pinned->elements()) {
                const auto place = index_of(at, length);
                if (place && *place < parts_.messages.size()) parts_.pinned.push_back(*place);
                if (!place) no_such("pinned", at.raw(), length);
            }
        if (const auto summaries = list_in(root, "summaries"))
            for (const JsonValue one : summaries->elements()) {
                const auto place = index_of(one.find("at"), length);
                const std::string_view text = text_in(one, "text");
                const bool said = text.find_first_not_of(" \t\r\n") != text.npos;
                if (!place || !said) no_such("summaries", one.raw(), length);
                if (place && said && *place < parts_.messages.size())
                    parts_.summaries.emplace_back(*place, text);
            }
        const auto compactions = list_in(root, "compactions");
        if (!compactions || parts_.messages.size() < length) return;
        auto read = read_compactions(*compactions, length);
        if (!read) return bad("invalid_conversation_state", read.error().message);
        parts_.compactions = *std::move(read);
    }

    void no_such(std::string_view field, std::string_view what, std::size_t length) {
        bad("invalid_conversation_state", "'" + std::string(field) + "' has " + brief(what) +
                                              ", of " + std::to_string(length) + " messages");
    }

    void read_snapshot(std::string_view state) {
        parts_.shape = StateShape::ailoop;
        auto read = read_ailoop(state);
        if (!read) return bad("invalid_conversation_state", read.error().message);
        report_.lost = std::move(read->lost);
        std::vector<std::string> raw;
        for (ForeignMessage& message : read->messages) {
            if (message.pinned) parts_.pinned.push_back(raw.size());
            raw.push_back(std::move(message.json));
        }
        if (read->format == format_)
            parts_.messages = std::move(raw);
        else
            convert(read->format, raw);
        parts_.processed = parts_.messages.size();
    }

    // Results of tools are messages of their own in some formats, so places may move.
    void convert(FormatId from, const std::vector<std::string>& raw) {
        const auto converted = convert_json(from, format_, list_of(raw));
        const auto list = converted ? parse_json(converted->json)
                                    : Result<JsonDocument>(std::unexpected(converted.error()));
        if (!list) return bad("invalid_conversation_state", list.error().message);
        for (const JsonValue message : list->root().elements())
            parts_.messages.emplace_back(message.raw());
        for (const std::string& lost : converted->lost) report_.lost.push_back(lost);
        if (parts_.messages.size() == raw.size() || parts_.pinned.empty()) return;
        parts_.pinned.clear();
        report_.lost.emplace_back("pins: messages were divided");
    }

    FormatId format_;
    const StateOptions& options_;
    StateReport& report_;
    StateParts parts_ = {};
};

// ---- writing ------------------------------------------------------------------------------------

std::string write_plain(const StateParts& parts, std::string_view provider, int version) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().key("version").number(version).field("provider", provider);
    out.key("processed_length").number(std::uint64_t{parts.processed});
    out.key("messages").raw(list_of(parts.messages));
    if (version == 1) {
        out.end_object();
        return text;
    }
    out.key("pinned").begin_array();
    for (const std::size_t at : parts.pinned) out.number(std::uint64_t{at});
    out.end_array().key("summaries").begin_array();
    for (const auto& [at, summary] : parts.summaries)
        out.begin_object().key("at").number(std::uint64_t{at}).field("text", summary).end_object();
    out.end_array();
    if (!parts.compactions.empty()) write_compactions(out.key("compactions"), parts.compactions);
    out.end_object();
    return text;
}

Result<std::string> write_snapshot(const StateParts& parts, FormatId format, StateReport& report) {
    ForeignSource source;
    for (const std::string& raw : parts.messages) {
        PAL_TRY(message, read_message(format, make_bytes(raw)));
        source.messages.push_back(std::move(message));
    }
    source.pinned.assign(source.messages.size(), false);
    for (const std::size_t at : parts.pinned) source.pinned[at] = true;
    PAL_TRY(written, write_ailoop(source));
    for (std::string& lost : written.lost)
        if (!lost.starts_with("pins") || !parts.pinned.empty())
            report.lost.push_back(std::move(lost));
    if (parts.processed < parts.messages.size())
        report.lost.emplace_back("how many messages a model has seen");
    return std::move(written.text);
}

}  // namespace

std::optional<StateShape> parse_state_shape(std::string_view name) {
    const auto at = std::ranges::find(shape_names, name);
    if (at == std::end(shape_names)) return std::nullopt;
    return static_cast<StateShape>(at - std::begin(shape_names));
}

Result<StateParts> read_state(std::string_view state, FormatId format, const StateOptions& options,
                              StateReport& report) {
    return StateReader(format, options, report).read(state);
}

Result<std::string> write_state(const StateParts& parts, FormatId format,
                                const StateOptions& options, StateReport& report) {
    const StateShape shape = options.shape == StateShape::same ? parts.shape : options.shape;
    if (shape == StateShape::own)
        return write_plain(parts, options.provider.empty() ? format_name(format) : options.provider,
                           2);
    if (!parts.compactions.empty())
        report.lost.emplace_back("compactions: what the view leaves out is sent again");
    if (!parts.summaries.empty()) report.lost.emplace_back("which messages are summaries");
    if (shape == StateShape::ailoop) return write_snapshot(parts, format, report);
    if (!parts.pinned.empty()) report.lost.emplace_back("pins");
    const bool is_theirs = parts.shape == StateShape::goaitools && !parts.provider.empty();
    const std::string_view provider = !options.provider.empty() ? std::string_view(options.provider)
                                      : is_theirs               ? std::string_view(parts.provider)
                                                                : backend_of(format);
    return write_plain(parts, provider, 1);
}

}  // namespace palimpsest
