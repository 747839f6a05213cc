// The table of passes, and what they share.
#include <algorithm>

#include "core/pass.h"
#include "core/pass_parameters.h"

namespace palimpsest {

Result<PassFunction> make_keep_last(const JsonValue& parameters);

namespace {

constexpr PassKind kinds[] = {
    {"keep_last", make_keep_last, "keep the newest messages or turns, drop what is older"},
};

bool has_role(std::span<const Item> items, const Group& group, Role role) {
    for (std::size_t i = group.first; i <= group.last; ++i)
        if (items[i].message.shape.role == role) return true;
    return false;
}

// The user's own words, also when they came together with tool results.
bool has_user_words(std::span<const Item> items, const Group& group) {
    for (std::size_t i = group.first; i <= group.last; ++i) {
        const Shape& shape = items[i].message.shape;
        if (items[i].kind != ItemKind::summary && shape.role == Role::user &&
            (shape.results.empty() || shape.text))
            return true;
    }
    return false;
}

std::size_t turn_of(const PassInput& input, std::size_t group) {
    const auto turn = std::find_if(input.turns.begin(), input.turns.end(),
                                   [&](const Turn& t) { return t.last >= group; });
    return static_cast<std::size_t>(turn - input.turns.begin());
}

bool frees_something(const PassInput& input, std::size_t start) {
    for (std::size_t g = 0; g < start; ++g)
        if (!input.is_protected[g]) return true;
    return false;
}

}  // namespace

std::span<const PassKind> pass_kinds() {
    return kinds;
}

std::vector<bool> protected_groups(std::span<const Item> items, std::span<const Group> groups) {
    std::vector<bool> out(groups.size());
    bool user_seen = false;
    for (std::size_t g = groups.size(); g-- > 0;) {
        const bool latest_user = !user_seen && has_user_words(items, groups[g]);
        user_seen |= latest_user;
        out[g] = g + 1 == groups.size() || latest_user || groups[g].pinned || groups[g].open ||
                 has_role(items, groups[g], Role::system);
    }
    return out;
}

std::size_t safe_start(const PassInput& input, std::size_t nominal) {
    if (nominal >= input.groups.size()) return input.groups.size();
    const std::size_t turn = turn_of(input, nominal);
    const std::size_t back = input.turns[turn].first;
    if (frees_something(input, back)) return back;
    if (turn + 1 < input.turns.size()) return input.turns[turn + 1].first;
    // One long turn: any boundary between its groups will do, but reasoning that is kept must
    // begin at the start of what is kept.
    const auto kept = input.groups.subspan(nominal);
    const bool reasons =
        std::any_of(kept.begin(), kept.end(), [](const Group& g) { return g.reasoning; });
    std::size_t start = nominal;
    while (reasons && start > back && !input.groups[start].reasoning) --start;
    return start;
}

Result<void> only_fields(const JsonValue& object, std::initializer_list<std::string_view> known) {
    for (const JsonMember member : object.members())
        if (std::find(known.begin(), known.end(), member.key) == known.end()) {
            std::string message = "unknown field \"" + std::string(member.key) + "\"; known are";
            for (const std::string_view name : known) message += " \"" + std::string(name) + "\"";
            return fail(ErrorCode::invalid_request, std::move(message), std::string(member.key));
        }
    return {};
}

Result<std::optional<std::size_t>> count_field(const JsonValue& object, std::string_view name) {
    const auto value = object.find(name);
    if (!value || value->is_null()) return std::nullopt;
    const auto number = value->integer();
    if (!number || *number < 0)
        return fail(ErrorCode::invalid_request,
                    "\"" + std::string(name) + "\" must be a whole number, 0 or more; it is " +
                        std::string(value->raw().substr(0, 64)),
                    std::string(name));
    return static_cast<std::size_t>(*number);
}

}  // namespace palimpsest
