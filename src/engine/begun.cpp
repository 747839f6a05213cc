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

// The preamble and so many items of the view.
std::vector<Message> shown(const Begun& begun, std::size_t items) {
    std::vector<Message> out = begun.preamble;
    for (const Item& item : std::span<const Item>(begun.view.items).first(items))
        out.push_back(item.message);
    if (begun.of_other_models.empty()) return out;
    std::vector<bool> foreign = foreign_to(begun);
    foreign.resize(out.size());
    return without_bound_reasoning(std::move(out), foreign);
}

// A result that came after an answer stands with its call: the list would end with that answer,
// which some models refuse and others go on writing.
bool ends_with_the_answer(const Begun& begun) {
    if (begun.view.items.empty() || begun.turn == Seq{}) return false;
    const Item& last = begun.view.items.back();
    return last.range.to < begun.turn && last.message.shape.role == Role::assistant &&
           std::ranges::any_of(
               begun.view.items, [&](const Item& item) { return item.range.from >= begun.turn; });
}

}  // namespace

std::vector<Message> Begun::request() const {
    std::vector<Message> out = shown(*this, view.items.size());
    if (!ends_with_the_answer(*this)) return out;
    const FormatId format = view.items.back().message.format;
    if (auto message = make_message(format, Role::user, late_result_text))
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
    std::size_t edited = view.items.size();
    while (edited > 0 && view.items[edited - 1].by == Seq{}) --edited;
    if (edited == 0) return 0;
    // What another model wrote may be left out on either side of it.
    const bool same = of_other_models.empty();
    const std::size_t sent = same ? view.items.size() : shown(*this, view.items.size()).size(),
                      before = same ? edited : shown(*this, edited).size();
    return sent - before + (ends_with_the_answer(*this) ? 1 : 0);
}

}  // namespace palimpsest
