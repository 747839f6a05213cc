#include "engine/foreign_parts.h"

#include <algorithm>

#include "format/request.h"

namespace palimpsest {

std::string_view text_of(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value ? value->string() : std::string_view();
}

std::optional<JsonValue> value_of(JsonValue object, std::string_view key) {
    const auto value = object.find(key);
    return value && !value->is_null() ? value : std::nullopt;
}

bool says_nothing(JsonValue value) {
    if (value.is_array() || value.is_object()) return value.size() == 0;
    if (value.is_string()) return value.string().empty();
    return value.is_null() || value.number() == 0.0 || value.boolean() == false;
}

std::optional<JsonDocument> parsed(std::string_view json) {
    auto document = parse_json(json);
    return document ? std::optional(std::move(*document)) : std::nullopt;
}

std::unexpected<Error> nothing_of(std::string_view program) {
    return fail(ErrorCode::invalid_request,
                "nothing of a session of " + std::string(program) + " was found in it");
}

Result<void> each_json_line(std::string_view text, Losses& losses,
                            const std::function<Result<void>(JsonValue line)>& each) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const bool ended = line.size() < text.size();
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        const auto document = parse_json(line);
        if (!document && !ended && number > 1) {
            losses.add("line " + std::to_string(number) + ", the last one: it is torn");
            return {};
        }
        if (!document)
            return fail(document.error().code,
                        "line " + std::to_string(number) + ": " + document.error().message);
        PAL_CHECK(each(document->root()));
    }
    return {};
}

void Losses::add(std::string what, std::size_t times) {
    const auto at = std::ranges::find(counts_, what, [](const auto& count) { return count.first; });
    if (at != counts_.end())
        at->second += times;
    else if (times > 0)
        counts_.emplace_back(std::move(what), times);
}

void Losses::add_others(JsonValue object, std::string_view of,
                        std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : object.members())
        if (std::ranges::find(known, key) == known.end() && !says_nothing(value))
            add(std::string(key) + " of " + std::string(of));
}

void Losses::report_to(std::vector<std::string>& lost) const {
    for (const auto& [what, times] : counts_)
        lost.push_back(times == 1 ? what : what + " (" + std::to_string(times) + " times)");
}

Result<ExportList> export_list(FormatId to, const ForeignSource& source, PromptPlace prompt) {
    const std::string& system = source.header.system_prompt;
    std::vector<Message> messages = source.messages;
    std::size_t first = 0;  // of the log's own
    if (!system.empty() && prompt == PromptPlace::in_list) {
        PAL_TRY(message, make_message(FormatId::openai_chat, Role::system, system));
        messages.insert(messages.begin(), std::move(message));
        first = 1;
    }
    PAL_TRY(rendered, convert_messages(to, messages));
    const std::vector<std::size_t>& origins = rendered.origins;
    ExportList list{.system = std::move(rendered.system)};
    Losses losses;
    for (std::string& line : rendered.lost) losses.add(std::move(line));
    if (!system.empty() && prompt == PromptPlace::nowhere) losses.add("the system prompt");
    losses.report_to(list.lost);
    for (std::size_t i = 0; i < rendered.messages.size(); ++i) {
        const std::size_t from = std::max(origins[i], first) - first;
        const std::size_t next = i + 1 < origins.size() ? origins[i + 1] : messages.size();
        ExportMessage message{.message = std::move(rendered.messages[i]),
                              .at = source.header.updated};
        if (from < source.times.size()) message.at = source.times[from];
        for (std::size_t k = origins[i]; k < next; ++k)
            if (k >= first && k - first < source.pinned.size() && source.pinned[k - first])
                message.pinned = true;
        list.messages.push_back(std::move(message));
    }
    return list;
}

}  // namespace palimpsest
