#include "format/bound_reasoning.h"

#include <algorithm>

#include "base/assert.h"
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

class Unbinding {
public:
    void add(Message&& message, bool foreign) {
        follows_ &= message.shape.role == Role::assistant;
        const bool may_change = foreign && (message.shape.reasoning || follows_);
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
        } else {
            out_.push_back(std::move(message));
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
