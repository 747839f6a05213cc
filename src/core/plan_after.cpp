#include "core/plan_after.h"

#include <algorithm>
#include <utility>

namespace palimpsest {
namespace {

Item changed_item(const Item& item, const PlanDraft::Made& made, const MessageTools* tools) {
    Item out = item;
    out.range = made.edit.range;
    out.tokens = made.edit.after.tokens;
    out.reason = made.edit.reason;
    out.pinned = false;
    if (made.edit.treatment == Treatment::folded) {
        out.kind = ItemKind::summary;
        out.tells = made.edit.range;
        auto text = tools->make_text(item.message.format, Role::user, view_of(made.edit.result));
        out.message = text ? *std::move(text) : Message{};
        out.message.count = made.edit.after;
    } else {
        out.kind =
            made.edit.treatment == Treatment::cleared ? ItemKind::cleared : ItemKind::shortened;
        out.message = made.message;
    }
    return out;
}

}  // namespace

std::vector<Item> items_after(std::span<const Item> items, const std::vector<PlanDraft::Made>& made,
                              const MessageTools* tools) {
    std::vector<std::uint32_t> by(items.size(), UINT32_MAX);
    for (std::uint32_t m = 0; m < made.size(); ++m)
        for (const ItemRun& run : made[m].runs)
            std::fill(by.begin() + static_cast<std::ptrdiff_t>(run.first),
                      by.begin() + static_cast<std::ptrdiff_t>(run.last) + 1, m);
    std::vector<Item> out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (by[i] == UINT32_MAX) {
            out.push_back(items[i]);
            continue;
        }
        const PlanDraft::Made& edit = made[by[i]];
        if (edit.edit.treatment != Treatment::dropped && edit.runs.front().first == i)
            out.push_back(changed_item(items[i], edit, tools));
    }
    return out;
}

std::uint64_t used_after(std::uint64_t used, const std::vector<PlanDraft::Made>& made,
                         std::uint32_t per_message) {
    for (const PlanDraft::Made& one : made) {
        used -= one.edit.before.tokens;
        for (const ItemRun& run : one.runs) used -= (run.last - run.first + 1) * per_message;
        if (one.edit.treatment != Treatment::dropped) used += one.edit.after.tokens + per_message;
    }
    return used;
}

}  // namespace palimpsest
