// Codex's session files: JSON Lines of events, among them Responses items; in older files the items
// stand on their lines themselves, behind a first line that says what the session is.
#include "base/json_write.h"
#include "base/time.h"
#include "engine/foreign_parts.h"

namespace palimpsest {
namespace {

class CodexReader {
public:
    Result<void> add(JsonValue line) {
        const std::string_view type = text_of(line, "type");
        const auto payload = value_of(line, "payload");
        if (type == "session_meta" && payload)
            read_session(*payload);
        else if (type == "response_item" && payload)
            add_item(*payload, line);
        else if (type == "compacted")
            losses_.add("a compaction: what it sums up is there itself");
        else if (!payload && type.empty() && line.find("id"))
            read_session(line);
        else if (!payload && !type.empty() && !line.find("record_type"))
            add_item(line, line);
        else if (!line.find("record_type"))
            losses_.add("a line that is no item (" + std::string(type) + ")");
        return {};
    }

    ForeignConversation finish() {
        losses_.report_to(found_.lost);
        return std::move(found_);
    }
    Losses& losses() { return losses_; }

private:
    void add_item(JsonValue item, JsonValue line) {
        ForeignMessage message{.json = std::string(item.raw())};
        if (const auto when = parse_time(text_of(line, "timestamp"))) message.at = *when;
        found_.messages.push_back(std::move(message));
    }

    // A resumed session says it again; the first one counts.
    void read_session(JsonValue session) {
        if (found_.id.empty()) found_.id = text_of(session, "id");
        std::string_view prompt = text_of(session, "instructions");
        if (const auto own = value_of(session, "base_instructions"); own && prompt.empty())
            prompt = own->is_string() ? own->string() : text_of(*own, "text");
        if (found_.system_prompt.empty()) found_.system_prompt = prompt;
        losses_.add_others(session, "the session",
                           {"id", "timestamp", "instructions", "base_instructions"});
    }

    ForeignConversation found_{.format = FormatId::openai_responses};
    Losses losses_ = {};
};

}  // namespace

Result<ForeignConversation> read_codex(std::string_view text) {
    CodexReader reader;
    PAL_CHECK(
        each_json_line(text, reader.losses(), [&](JsonValue line) { return reader.add(line); }));
    ForeignConversation found = reader.finish();
    if (found.messages.empty() && found.id.empty()) return nothing_of("Codex");
    return found;
}

Result<ForeignText> write_codex(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::openai_responses, source, PromptPlace::apart));
    ForeignText done{.lost = list.lost};
    const std::string created = format_time(source.header.created);
    JsonWriter head(done.text);
    head.begin_object().field("timestamp", created).field("type", "session_meta").key("payload");
    head.begin_object().field("id", source.header.name.id).field("timestamp", created);
    if (!source.header.system_prompt.empty())
        head.field("instructions", source.header.system_prompt);
    head.end_object().end_object();
    done.text += '\n';
    for (const ExportMessage& entry : list.messages) {
        JsonWriter out(done.text);
        out.begin_object().field("timestamp", format_time(entry.at)).field("type", "response_item");
        out.key("payload").raw(view_of(entry.message.raw)).end_object();
        done.text += '\n';
    }
    return done;
}

}  // namespace palimpsest
