// Session files of coding agents: JSON Lines, one event in each. Claude Code's hold Anthropic
// messages, an answer's blocks spread over several lines; Codex's hold Responses items.
#include "base/json.h"
#include "base/json_write.h"
#include "base/time.h"
#include "engine/foreign.h"

#include <algorithm>
#include <functional>

namespace palimpsest {
namespace {

std::string_view text_of(const JsonValue& object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string_view();
}

// Calls `each` with every line that is not blank.
Result<void> each_line(std::string_view text,
                       const std::function<Result<void>(const JsonValue& line)>& each) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        const auto document = parse_json(line);
        if (!document)
            return fail(document.error().code,
                        "line " + std::to_string(number) + ": " + document.error().message);
        PAL_CHECK(each(document->root()));
    }
    return {};
}

// The blocks of a message as elements of a list, without its brackets.
std::string blocks_of(const JsonValue& message) {
    const auto content = message.find("content");
    if (!content) return {};
    if (content->is_array()) {
        const std::string_view raw = content->raw();
        return std::string(raw.substr(1, raw.size() - 2));
    }
    std::string block;
    JsonWriter(block)
        .begin_object()
        .field("type", "text")
        .field("text", content->string())
        .end_object();
    return block;
}

struct Session {
    ForeignConversation found{.format = FormatId::anthropic};
    std::string open_id = {};  // of the answer whose blocks are still coming
    std::string blocks = {};
    std::optional<Time> at = {};

    void close() {
        if (open_id.empty()) return;
        found.messages.push_back(
            {.json = "{\"role\":\"assistant\",\"content\":[" + blocks + "]}", .at = at});
        open_id.clear();
        blocks.clear();
    }
    void add_answer(const JsonValue& message, std::optional<Time> when) {
        const std::string id(text_of(message, "id"));
        if (id.empty() || id != open_id) close();
        if (open_id.empty()) at = when;
        open_id = id.empty() ? "-" : id;
        blocks += (blocks.empty() ? "" : ",") + blocks_of(message);
        if (id.empty()) close();
    }
};

}  // namespace

Result<ForeignConversation> read_claude_code(std::string_view text) {
    Session session;
    std::size_t others = 0;
    PAL_CHECK(each_line(text, [&](const JsonValue& line) -> Result<void> {
        const std::string_view type = text_of(line, "type");
        if (session.found.id.empty()) session.found.id = text_of(line, "sessionId");
        if (type == "summary") session.found.title = text_of(line, "summary");
        const auto message = line.find("message");
        if ((type != "user" && type != "assistant") || !message) {
            ++others;
            return {};
        }
        std::optional<Time> at;
        if (const auto when = parse_time(text_of(line, "timestamp"))) at = *when;
        if (type == "assistant") {
            session.add_answer(*message, at);
            return {};
        }
        session.close();
        const auto content = message->find("content");
        ForeignMessage said{.at = at};
        JsonWriter out(said.json);
        out.begin_object().field("role", "user").key("content");
        out.raw(content ? content->raw() : "\"\"").end_object();
        session.found.messages.push_back(std::move(said));
        return {};
    }));
    session.close();
    if (others > 0)
        session.found.lost.push_back(std::to_string(others) +
                                     " lines that are no messages (summaries, settings, events)");
    return session.found;
}

Result<ForeignText> write_claude_code(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::anthropic, source.messages));
    ForeignText done{.lost = rendered.lost};
    if (!rendered.system.empty()) done.lost.push_back("the system prompt");
    std::string parent;
    for (std::size_t i = 0; i < rendered.messages.size(); ++i) {
        PAL_TRY(document, parse_json(view_of(rendered.messages[i].raw)));
        const std::string id = source.header.name.id + "-" + std::to_string(i + 1);
        JsonWriter out(done.text);
        out.begin_object().key("parentUuid");
        parent.empty() ? out.null() : out.string(parent);
        out.field("sessionId", source.header.name.id);
        out.field("type", text_of(document.root(), "role")).key("message");
        out.raw(document.root().raw()).field("uuid", id);
        const Time at = i < source.times.size() ? source.times[i] : source.header.updated;
        out.field("timestamp", format_time(at)).end_object();
        done.text += '\n';
        parent = id;
    }
    return done;
}

Result<ForeignConversation> read_codex(std::string_view text) {
    ForeignConversation found{.format = FormatId::openai_responses};
    std::size_t others = 0;
    PAL_CHECK(each_line(text, [&](const JsonValue& line) -> Result<void> {
        const std::string_view type = text_of(line, "type");
        const auto payload = line.find("payload");
        if (type == "session_meta" && payload) found.id = text_of(*payload, "id");
        // Older files have the items themselves on their lines.
        const bool bare = !payload && line.find("type") && line.find("content");
        if (!bare && (type != "response_item" || !payload)) {
            if (type != "session_meta") ++others;
            return {};
        }
        ForeignMessage item{.json = std::string(bare ? line.raw() : payload->raw())};
        if (const auto when = parse_time(text_of(line, "timestamp"))) item.at = *when;
        found.messages.push_back(std::move(item));
        return {};
    }));
    if (others > 0)
        found.lost.push_back(std::to_string(others) +
                             " lines that are no items (events, settings)");
    return found;
}

Result<ForeignText> write_codex(const ForeignSource& source) {
    PAL_TRY(rendered, render(FormatId::openai_responses, source.messages));
    ForeignText done{.lost = rendered.lost};
    const std::string created = format_time(source.header.created);
    JsonWriter head(done.text);
    head.begin_object().field("timestamp", created).field("type", "session_meta").key("payload");
    head.begin_object().field("id", source.header.name.id).field("timestamp", created);
    head.end_object().end_object();
    done.text += '\n';
    for (std::size_t i = 0; i < rendered.messages.size(); ++i) {
        const Time at = i < source.times.size() ? source.times[i] : source.header.updated;
        JsonWriter out(done.text);
        out.begin_object().field("timestamp", format_time(at)).field("type", "response_item");
        out.key("payload").raw(view_of(rendered.messages[i].raw)).end_object();
        done.text += '\n';
    }
    return done;
}

}  // namespace palimpsest
