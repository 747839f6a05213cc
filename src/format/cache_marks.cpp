#include "format/cache_marks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/json.h"
#include "format/own_marks.h"

namespace palimpsest {
namespace {

constexpr std::size_t blocks_between = 15;  // well below the 20 that a mark looks back
constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"})";

struct Splice {
    std::size_t at = 0, removed = 0;
    std::string text = {};
};

class Marking {
public:
    explicit Marking(std::string_view body) : body_(body) {}

    // Before the closing brace of an object.
    bool mark_object(const JsonValue& object) {
        const std::string_view raw = object.raw();
        if (!object.is_object() || object.size() == 0 || object.find("cache_control")) return false;
        add({offset(raw) + raw.size() - 1, 0, "," + std::string(mark)});
        return true;
    }
    // A text, which becomes a list of one block, or the last block of a list that can carry one.
    bool mark_content(const JsonValue& content) {
        if (content.is_string()) {
            if (content.string().empty()) return false;
            add({offset(content.raw()), content.raw().size(),
                 R"([{"type":"text","text":)" + std::string(content.raw()) + "," +
                     std::string(mark) + "}]"});
            return true;
        }
        std::optional<JsonValue> last;
        if (content.is_array())
            for (const JsonValue block : content.elements())
                if (can_carry(block)) last = block;
        return last && mark_object(*last);
    }

    std::string done() {
        std::ranges::sort(splices_, {}, &Splice::at);
        std::string out;
        std::size_t from = 0;
        for (const Splice& splice : splices_) {
            out += body_.substr(from, splice.at - from);
            out += splice.text;
            from = splice.at + splice.removed;
        }
        return out + std::string(body_.substr(from));
    }
    std::size_t left() const { return cache_marks_max - splices_.size(); }

private:
    static bool can_carry(const JsonValue& block) {
        const auto type = block.find("type");
        if (!type || type->string() == "thinking" || type->string() == "redacted_thinking")
            return false;
        const auto text = block.find("text");
        return type->string() != "text" || (text && !text->string().empty());
    }
    std::size_t offset(std::string_view raw) const {
        return static_cast<std::size_t>(raw.data() - body_.data());
    }
    void add(Splice splice) { splices_.push_back(std::move(splice)); }

    std::string_view body_;
    std::vector<Splice> splices_;
};

std::size_t blocks_of(const JsonValue& message) {
    const auto content = message.find("content");
    return content && content->is_array() ? std::max<std::size_t>(content->size(), 1) : 1;
}

void mark_message(Marking& marking, const JsonValue& message) {
    const auto content = message.find("content");
    if (content && marking.left() > 0) marking.mark_content(*content);
}

// The end first, then what was edited last, then a place in a long stretch at the end.
void mark_messages(Marking& marking, const std::vector<JsonValue>& messages,
                   std::size_t behind_edit) {
    if (messages.empty()) return;
    const std::size_t last = messages.size() - 1;
    mark_message(marking, messages[last]);
    const bool edited = behind_edit > 0 && behind_edit <= last;
    const std::size_t edit = edited ? last - behind_edit : last;
    if (edited) mark_message(marking, messages[edit]);
    std::size_t blocks = 0;
    for (std::size_t i = last; i-- > (edited ? edit + 1 : 0) && marking.left() > 0;) {
        blocks += blocks_of(messages[i + 1]);
        if (blocks < blocks_between) continue;
        mark_message(marking, messages[i]);
        blocks = 0;
    }
}

// A tool that is loaded when it is looked for: Anthropic refuses a mark on it.
bool is_deferred(JsonValue tool) {
    const auto deferred = tool.find("defer_loading");
    return deferred && deferred->boolean() == true;
}

}  // namespace

Result<std::string> with_cache_marks(std::string_view body, std::size_t behind_edit) {
    PAL_TRY(document, parse_json(body));
    const JsonValue root = document.root();
    if (marks_beside_messages(root) + marks_of_messages(root) > 0) return std::string(body);
    Marking marking(body);
    if (const auto tools = root.find("tools"); tools && tools->is_array() && tools->size() > 0) {
        std::optional<JsonValue> last;
        for (const JsonValue tool : tools->elements())
            if (!is_deferred(tool)) last = tool;
        if (last) marking.mark_object(*last);
    }
    if (const auto system = root.find("system")) marking.mark_content(*system);
    std::vector<JsonValue> messages;
    if (const auto list = root.find("messages"))
        for (const JsonValue message : list->elements()) messages.push_back(message);
    mark_messages(marking, messages, behind_edit);
    return marking.done();
}

}  // namespace palimpsest
