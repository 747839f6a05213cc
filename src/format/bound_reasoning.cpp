#include "format/bound_reasoning.h"

#include <algorithm>

#include "base/assert.h"
#include "format/content.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/json_edit.h"

namespace palimpsest {
namespace {

// None: there is nothing to leave out.
std::optional<std::vector<std::string>> blocks_left(const NeutralMessage& message) {
    if (std::ranges::none_of(message.parts, is_bound_reasoning)) return std::nullopt;
    std::vector<std::string> blocks;
    for (const NeutralPart& part : message.parts)
        if (!is_bound_reasoning(part)) blocks.emplace_back(part.json);
    return blocks;
}

// What its provider ran itself and keeps with the reasoning before it: refused without that, and
// it has no place without its id.
bool is_bound_use(const NeutralMessage& message, JsonValue json) {
    return json.find("id") && std::ranges::any_of(message.parts, &NeutralPart::server);
}

// Audio is kept under an id by the server of the model that spoke: others are told its words.
Result<Message> with_words(const Message& message, const NeutralMessage& neutral) {
    const auto speech = std::ranges::find(neutral.parts, PartKind::speech, &NeutralPart::kind);
    if (speech == neutral.parts.end() || speech->text.empty()) return message;
    const PartChange change{static_cast<std::size_t>(speech - neutral.parts.begin()),
                            std::string(speech->text)};
    PAL_TRY(raw, change_content(message, {&change, 1}));
    if (!raw) return message;
    return read_message(message.format, raw);
}

bool may_have_spoken(const Message& message) {
    return message.shape.role == Role::assistant && message.shape.text &&
           view_of(message.raw).find("\"audio\"") != std::string_view::npos;
}

class Unbinding {
public:
    void add(Message&& message, bool foreign) {
        follows_ &= message.shape.role == Role::assistant;
        const bool may_change =
            foreign && (message.shape.reasoning || follows_ || may_have_spoken(message));
        const auto document = may_change ? parse_json(view_of(message.raw)) : fail({}, "");
        const auto neutral =
            document ? format_of(message.format).read(document->root()) : fail({}, "");
        if (!neutral) return out_.push_back(std::move(message));
        if (const auto blocks = blocks_left(*neutral)) {
            follows_ = format_of(message.format).cut.one_part_items;
            if (!blocks->empty())
                keep(message, with_member(document->root(), "content", json_list(*blocks)));
        } else if (const auto item = without_item_id(*neutral, document->root());
                   item && follows_) {
            keep(message, *item);
        } else if (follows_ && is_bound_use(*neutral, document->root())) {
            return;
        } else {
            auto said = with_words(message, *neutral);
            out_.push_back(said ? *std::move(said) : std::move(message));
        }
    }
    std::vector<Message> take() { return std::move(out_); }

private:
    void keep(const Message& message, std::string raw) {
        auto changed = read_message(message.format, make_bytes(std::move(raw)));
        out_.push_back(changed ? *std::move(changed) : message);
    }

    std::vector<Message> out_;
    bool follows_ = false;  // an item of reasoning was left out before
};

}  // namespace

bool is_bound_reasoning(const NeutralPart& part) {
    return part.kind == PartKind::reasoning && (!part.signature.empty() || !part.id.empty());
}

std::vector<Message> without_bound_reasoning(std::vector<Message> messages,
                                             const std::vector<bool>& foreign) {
    PAL_ASSERT(foreign.size() == messages.size());
    Unbinding unbinding;
    for (std::size_t i = 0; i < messages.size(); ++i)
        unbinding.add(std::move(messages[i]), foreign[i]);
    return unbinding.take();
}

std::optional<std::string> without_item_id(const NeutralMessage& item, JsonValue json) {
    const bool plain = std::ranges::all_of(item.parts, [](const NeutralPart& part) {
        return is_client_call(part) || part.kind == PartKind::text ||
               part.kind == PartKind::refusal;
    });
    if (!plain || item.role != Role::assistant || !json.find("id")) return std::nullopt;
    return with_member(json, "id", std::nullopt);
}

}  // namespace palimpsest
