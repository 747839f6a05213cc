// What of a turn that has begun the model is sent.
#include <algorithm>

#include "base/ids.h"
#include "engine/storing.h"
#include "format/bound_reasoning.h"
#include "palimpsest/format.h"
#include "palimpsest/memory.h"

namespace palimpsest {
namespace {

constexpr std::string_view late_result_text =
    "[The result of a tool call that was made above came after this answer. It stands with its "
    "call. Go on with it.]";

// Which messages of the request another model wrote.
std::vector<bool> foreign_to(const Begun& begun) {
    std::vector<bool> foreign(begun.preamble.size());
    for (const Item& item : begun.view.items)
        foreign.push_back(std::ranges::any_of(begun.of_other_models, [&](const Range& range) {
            return range.contains(item.range.from);
        }));
    return foreign;
}

}  // namespace

// A result that came after an answer stands with its call: the list would end with that answer,
// which some models refuse and others go on writing.
std::vector<Message> Begun::request() const {
    std::vector<Message> out = preamble;
    for (const Item& item : view.items) out.push_back(item.message);
    if (view.items.empty()) return out;
    if (!of_other_models.empty()) out = without_bound_reasoning(std::move(out), foreign_to(*this));
    const Item& last = view.items.back();
    const bool late = std::ranges::any_of(
        view.items, [&](const Item& item) { return item.range.from >= turn && turn != Seq{}; });
    if (!late || last.range.to >= turn || last.message.shape.role != Role::assistant) return out;
    if (auto message = make_message(last.message.format, Role::user, late_result_text))
        out.push_back(*std::move(message));
    return out;
}

Result<void> Begun::stored() const {
    return storing ? storing->wait() : Result<void>();
}

std::string Begun::cache_key() const {
    return "pal_" + hex(log);
}

std::size_t Begun::behind_edit() const {
    for (std::size_t i = view.items.size(); i-- > 0;)
        if (view.items[i].by != Seq{}) return view.items.size() - 1 - i;
    return 0;
}

}  // namespace palimpsest
