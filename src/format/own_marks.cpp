#include "format/own_marks.h"

#include <algorithm>
#include <string>

#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::string_view field = "cache_control";
constexpr std::string_view blanks = " \t\r\n";

std::optional<JsonValue> mark_of(JsonValue object) {
    const auto mark = object.find(field);
    return mark && !mark->is_null() ? mark : std::nullopt;
}

// Every mark in a list of blocks, in the order in which they stand.
template <class Visit>
void each_mark(JsonValue content, const Visit& visit) {
    for (const JsonValue block : content.elements()) {
        // A mark on a result stands behind what the result holds, wherever it is written.
        const auto type = block.find("type");
        const auto inner = block.find("content");
        if (inner && type && type->string().ends_with("tool_result"))
            for (const JsonValue each : inner->elements())
                if (const auto mark = mark_of(each)) visit(*mark);
        if (const auto mark = mark_of(block)) visit(*mark);
    }
}

std::size_t marks_of_list(const std::optional<JsonValue>& list) {
    std::size_t count = 0;
    if (list) each_mark(*list, [&](JsonValue) { ++count; });
    return count;
}

struct Cut {
    std::size_t from = 0, to = 0;
};

// The member that has this value, with one of the commas beside it.
Cut member_at(std::string_view text, JsonValue value) {
    Cut cut{.to = value.offset() + value.raw().size()};
    const std::size_t colon = text.rfind(':', value.offset() - 1);
    const std::size_t key_end = text.rfind('"', colon);
    cut.from = text.rfind('"', key_end - 1);
    const std::size_t next = text.find_first_not_of(blanks, cut.to);
    const std::size_t before = text.find_last_not_of(blanks, cut.from - 1);
    if (text[next] == ',')
        cut.to = next + 1;
    else if (text[before] == ',')
        cut.from = before;
    return cut;
}

bool is_long(JsonValue mark) {
    const auto ttl = mark.find("ttl");
    return ttl && ttl->string() == "1h";
}

// Chooses from the newest mark to the oldest.
class Thinning {
public:
    explicit Thinning(std::size_t room) : room_(room) {}

    // The message without the marks that are too many; empty: it keeps all of them.
    std::string thinned(std::string_view raw) {
        if (!raw.contains(field)) return {};
        const auto document = parse_json(raw);
        const auto content = document ? document->root().find("content") : std::nullopt;
        if (!content) return {};
        std::vector<JsonValue> marks;
        each_mark(*content, [&](JsonValue mark) { marks.push_back(mark); });
        std::vector<Cut> cuts;
        for (std::size_t i = marks.size(); i-- > 0;)
            if (!keeps(marks[i])) cuts.push_back(member_at(raw, marks[i]));
        std::ranges::sort(cuts, std::greater{}, &Cut::from);
        std::string out(cuts.empty() ? std::string_view() : raw);
        for (const Cut& cut : cuts) out.erase(cut.from, cut.to - cut.from);
        return out;
    }

private:
    bool keeps(JsonValue mark) {
        if (room_ == 0 || (long_follows_ && !is_long(mark))) return false;
        --room_;
        long_follows_ = long_follows_ || is_long(mark);
        return true;
    }

    std::size_t room_;
    bool long_follows_ = false;
};

}  // namespace

std::size_t marks_of_block(JsonValue block) {
    std::size_t count = mark_of(block) ? 1 : 0;
    const auto type = block.find("type");
    if (type && type->string().ends_with("tool_result"))
        count += marks_of_list(block.find("content"));
    return count;
}

std::size_t marks_beside_messages(JsonValue request) {
    return (mark_of(request) ? 1 : 0) + marks_of_list(request.find("tools")) +
           marks_of_list(request.find("system"));
}

std::size_t marks_of_messages(JsonValue request) {
    std::size_t count = 0;
    if (const auto messages = request.find("messages"))
        for (const JsonValue message : messages->elements())
            count += marks_of_list(message.find("content"));
    return count;
}

std::vector<std::size_t> drop_older_marks(std::span<Message> messages, std::size_t room) {
    std::vector<std::size_t> changed;
    Thinning thinning(room);
    for (std::size_t i = messages.size(); i-- > 0;) {
        std::string raw = thinning.thinned(view_of(messages[i].raw));
        if (raw.empty()) continue;
        // A mark is no part of what was said: shape and fingerprint stay.
        messages[i].raw = make_bytes(std::move(raw));
        changed.push_back(i);
    }
    std::ranges::reverse(changed);
    return changed;
}

}  // namespace palimpsest
