// Claude Code's session files: JSON Lines that form a tree by `parentUuid`, with Anthropic messages
// on some of them, an answer's blocks spread over several lines.
//
// The conversation is the way from the newest line back to its root. What is not on it (branches
// that were given up, side chains of sub-agents) is reported. Two things hang beside that way and
// belong to it: blocks of an answer that is on it, and results of calls that are.
#include <algorithm>
#include <map>
#include <set>

#include "base/json_write.h"
#include "base/time.h"
#include "engine/foreign_parts.h"

namespace palimpsest {
namespace {

constexpr std::size_t none = SIZE_MAX;

struct Line {
    std::string uuid = {};
    std::string parent = {};
    bool rooted = false;  // says that it has no parent
    bool side = false;
    bool answer = false;         // else the user's
    std::string message = {};    // JSON; empty: the line is no message
    std::string answer_id = {};  // the message's own id
    std::optional<Time> at = {};
    std::vector<std::string> calls = {}, results = {};
};

bool is_true(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->boolean().value_or(false);
}

void read_blocks(Line& line, JsonValue message) {
    const auto content = message.find("content");
    if (!content) return;
    for (const JsonValue block : content->elements()) {
        const std::string_view type = text_of(block, "type");
        if (type == "tool_use") line.calls.emplace_back(text_of(block, "id"));
        if (type == "tool_result") line.results.emplace_back(text_of(block, "tool_use_id"));
    }
}

Line read_line(JsonValue json, Losses& losses) {
    const std::string_view type = text_of(json, "type");
    const auto parent = json.find("parentUuid");
    Line line{.uuid = std::string(text_of(json, "uuid")),
              .parent = std::string(text_of(json, "parentUuid")),
              .side = is_true(json, "isSidechain"),
              .answer = type == "assistant"};
    if (line.parent.empty()) line.parent = text_of(json, "logicalParentUuid");
    line.rooted = parent && parent->is_null() && text_of(json, "subtype") != "compact_boundary";
    const auto message = value_of(json, "message");
    if ((type != "user" && type != "assistant") || !message) {
        if (type != "summary") losses.add("a line that is no message (" + std::string(type) + ")");
        return line;
    }
    line.message = message->raw();
    line.answer_id = text_of(*message, "id");
    if (const auto when = parse_time(text_of(json, "timestamp"))) line.at = *when;
    read_blocks(line, *message);
    if (line.side) return line;
    losses.add_others(*message, "an answer",
                      {"id", "type", "role", "content", "stop_reason", "stop_sequence"});
    losses.add_others(json, "a line",
                      {"uuid", "parentUuid", "logicalParentUuid", "isSidechain", "sessionId",
                       "type", "timestamp", "message", "isMeta", "isCompactSummary"});
    return line;
}

// ---- the way back from the newest line ----------------------------------------------------------

class MainLine {
public:
    explicit MainLine(const std::vector<Line>& lines) : lines_(lines), on_(lines.size()) {
        for (std::size_t i = 0; i < lines.size(); ++i)
            if (!lines[i].uuid.empty()) by_uuid_[lines[i].uuid] = i;
        std::size_t at = newest();
        while (at != none && !on_[at]) {
            on_[at] = true;
            at = parent_of(at);
        }
        add_beside();
    }
    bool has(std::size_t i) const { return on_[i]; }

private:
    bool is_candidate(std::size_t i) const { return !lines_[i].side && !lines_[i].message.empty(); }
    std::size_t newest() const {
        for (std::size_t i = lines_.size(); i-- > 0;)
            if (is_candidate(i)) return i;
        return none;
    }
    // A line that does not say, or whose parent is not in the file, follows the one before it.
    std::size_t parent_of(std::size_t at) const {
        const Line& line = lines_[at];
        const auto found = by_uuid_.find(line.parent);
        if (found != by_uuid_.end() && found->second != at) return found->second;
        if (line.rooted) return none;
        while (at-- > 0)
            if (!lines_[at].side && (!lines_[at].uuid.empty() || is_candidate(at))) return at;
        return none;
    }
    void add_beside() {
        std::set<std::string> answers, calls, answered;
        for (std::size_t i = 0; i < lines_.size(); ++i)
            if (on_[i] && !lines_[i].answer_id.empty()) answers.insert(lines_[i].answer_id);
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            if (is_candidate(i) && lines_[i].answer && answers.contains(lines_[i].answer_id))
                on_[i] = true;
            if (!on_[i]) continue;
            calls.insert(lines_[i].calls.begin(), lines_[i].calls.end());
            answered.insert(lines_[i].results.begin(), lines_[i].results.end());
        }
        const auto is_open = [&](const std::string& id) {
            return calls.contains(id) && !answered.contains(id);
        };
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const auto& results = lines_[i].results;
            if (on_[i] || !is_candidate(i) || results.empty()) continue;
            if (!std::ranges::all_of(results, is_open)) continue;
            on_[i] = true;
            answered.insert(results.begin(), results.end());
        }
    }

    const std::vector<Line>& lines_;
    std::vector<bool> on_;
    std::map<std::string, std::size_t> by_uuid_ = {};
};

// ---- messages -----------------------------------------------------------------------------------

// The blocks of a message as elements of a list, without its brackets.
std::string blocks_of(JsonValue message) {
    const auto content = message.find("content");
    if (!content) return {};
    if (content->is_array()) {
        const std::string_view raw = content->raw();
        return std::string(raw.substr(1, raw.size() - 2));
    }
    return "{\"type\":\"text\",\"text\":" + std::string(content->raw()) + "}";
}

// Lines of one answer follow each other and have the same message id.
class Session {
public:
    explicit Session(ForeignConversation& found) : found_(found) {}

    Result<void> add(const Line& line) {
        PAL_TRY(document, parse_json(line.message));
        const JsonValue message = document.root();
        if (!line.answer || line.answer_id.empty() || line.answer_id != open_id_) close();
        if (!line.answer) {
            const auto content = message.find("content");
            ForeignMessage said{.at = line.at};
            JsonWriter out(said.json);
            out.begin_object().field("role", "user").key("content");
            out.raw(content ? content->raw() : "\"\"").end_object();
            found_.messages.push_back(std::move(said));
            return {};
        }
        if (blocks_.empty()) at_ = line.at;
        open_id_ = line.answer_id;
        const std::string blocks = blocks_of(message);
        blocks_ += (blocks_.empty() || blocks.empty() ? "" : ",") + blocks;
        return {};
    }
    void close() {
        if (!blocks_.empty())
            found_.messages.push_back(
                {.json = "{\"role\":\"assistant\",\"content\":[" + blocks_ + "]}", .at = at_});
        open_id_.clear();
        blocks_.clear();
    }

private:
    ForeignConversation& found_;
    std::string open_id_ = {}, blocks_ = {};
    std::optional<Time> at_ = {};
};

}  // namespace

Result<ForeignConversation> read_claude_code(std::string_view text) {
    ForeignConversation found{.format = FormatId::anthropic};
    Losses losses;
    std::vector<Line> lines;
    PAL_CHECK(each_json_line(text, losses, [&](JsonValue json) -> Result<void> {
        if (found.id.empty()) found.id = text_of(json, "sessionId");
        if (text_of(json, "type") == "summary") found.title = text_of(json, "summary");
        lines.push_back(read_line(json, losses));
        return {};
    }));
    const MainLine main(lines);
    Session session(found);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].message.empty()) continue;
        if (main.has(i))
            PAL_CHECK(session.add(lines[i]));
        else
            losses.add(lines[i].side ? "a message of a side chain (a sub-agent)"
                                     : "a message of a branch that was given up");
    }
    session.close();
    losses.report_to(found.lost);
    if (found.messages.empty() && found.id.empty() && found.title.empty())
        return nothing_of("Claude Code");
    return found;
}

Result<ForeignText> write_claude_code(const ForeignSource& source) {
    PAL_TRY(list, export_list(FormatId::anthropic, source, PromptPlace::in_list));
    ForeignText done{.lost = list.lost};
    if (!list.system.empty()) done.lost.emplace_back("the system prompt");
    const std::string& id = source.header.name.id;
    const auto uuid = [&](std::size_t i) { return id + "-" + std::to_string(i + 1); };
    if (!source.header.title.empty() && !list.messages.empty()) {
        JsonWriter out(done.text);
        out.begin_object().field("type", "summary").field("summary", source.header.title);
        out.field("leafUuid", uuid(list.messages.size() - 1)).end_object();
        done.text += '\n';
    }
    for (std::size_t i = 0; i < list.messages.size(); ++i) {
        PAL_TRY(document, parse_json(view_of(list.messages[i].message.raw)));
        JsonWriter out(done.text);
        out.begin_object().key("parentUuid");
        i == 0 ? out.null() : out.string(uuid(i - 1));
        out.key("isSidechain").boolean(false).field("sessionId", id);
        out.field("type", text_of(document.root(), "role")).key("message");
        out.raw(document.root().raw()).field("uuid", uuid(i));
        out.field("timestamp", format_time(list.messages[i].at)).end_object();
        done.text += '\n';
    }
    return done;
}

}  // namespace palimpsest
