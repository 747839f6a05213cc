// One table: a row for each command of a chat.
#include "cli/chat_commands.h"

#include <cstdio>

#include "cli/open.h"
#include "cli/tell_error.h"

namespace palimpsest {
namespace {

using Words = std::string_view;

struct ChatCommand {
    std::string_view name;
    std::string_view synopsis;
    std::string_view help;
    Result<void> (*run)(ChatRoom& room, Words argument);
};
std::span<const ChatCommand> chat_commands();

Result<void> show_help(ChatRoom& room, Words) {
    for (const ChatCommand& one : chat_commands()) {
        std::string left = "/" + std::string(one.name) + " " + std::string(one.synopsis);
        left.resize(std::max<std::size_t>(left.size() + 1, 20), ' ');
        room.call.out.line(left + std::string(one.help));
    }
    room.call.out.line("Alt-Enter, or a \\ at its end, begins a new line in the message.");
    return {};
}

void print_item(Output& out, std::uint64_t seq, std::string_view kind, const Message& message) {
    std::string line = std::to_string(seq) + " " + std::string(kind) + " " +
                       std::string(role_name(message.shape.role)) + ": ";
    line += message.raw ? describe(message) : std::string("(removed)");
    out.line(clipped(printable(line), out.width()));
}

Result<void> show_view(ChatRoom& room, Words) {
    PAL_TRY(view, room.call.memory->view(room.name));
    for (const Item& item : view.items)
        print_item(room.call.out, item.range.from.value, item_kind_name(item.kind), item.message);
    return {};
}

Result<void> show_log(ChatRoom& room, Words) {
    PAL_TRY(entries, room.call.memory->log(room.name));
    for (const Entry& entry : entries) {
        if (const auto* said = std::get_if<MessageEntry>(&entry.body))
            print_item(room.call.out, entry.seq.value, "message", said->message);
        else
            room.call.out.line(std::to_string(entry.seq.value) + " " +
                               std::string(entry_kind_name(kind_of(entry.body))));
    }
    return {};
}

Result<void> fork_here(ChatRoom& room, Words argument) {
    if (argument.empty())
        return fail(ErrorCode::invalid_request, "say how the branch is to be called: /fork NAME");
    const ConversationId child{room.name.tenant, std::string(argument)};
    PAL_TRY(header, room.call.memory->fork(room.name, child));
    room.name = child;
    room.call.out.line("now in " + printable(child.id) + ", from entry " +
                       std::to_string(header.end.value));
    return {};
}

Result<void> pin_one(ChatRoom& room, Words argument) {
    Seq seq;
    if (argument.empty() || argument == "last") {
        PAL_TRY(view, room.call.memory->view(room.name));
        if (view.items.empty()) return fail(ErrorCode::not_found, "nothing was said yet");
        seq = view.items.back().range.to;
    } else {
        PAL_TRY(named, parse_seq(argument));
        seq = named;
    }
    PAL_TRY(at, room.call.memory->pin(room.name, seq));
    room.call.out.line("pinned " + std::to_string(seq.value) + " (entry " +
                       std::to_string(at.value) + ")");
    return {};
}

Result<void> undo_last(ChatRoom& room, Words) {
    PAL_TRY(at, room.call.memory->undo(room.name));
    room.call.out.line("undone (entry " + std::to_string(at.value) + ")");
    return {};
}

Result<void> compact_now(ChatRoom& room, Words argument) {
    PAL_TRY(done, room.call.memory->compact(room.name,
                                            {.policy = argument.empty() ? "balanced" : argument,
                                             .model = std::string(room.model->name())}));
    room.call.out.line(std::string(outcome_name(done.outcome)) + ": " +
                       std::to_string(done.tokens_before) + " -> " +
                       std::to_string(done.tokens_after) + " tokens");
    return {};
}

Result<void> show_cost(ChatRoom& room, Words) {
    char dollars[32];
    std::snprintf(dollars, sizeof dollars, "%.4f", room.spent);
    room.call.out.line("this sitting: " + std::to_string(room.usage.input) + " tokens in (" +
                       std::to_string(room.usage.cached) + " cached), " +
                       std::to_string(room.usage.output) + " out, $" + dollars);
    const std::string window = window_status(room);
    if (!window.empty()) room.call.out.line(window);
    PAL_TRY(days, usage_by_day(*room.call.memory, room.name));
    for (const UsageRow& day : days) {
        std::snprintf(dollars, sizeof dollars, "%.4f", day.cost);
        room.call.out.line(day.day + ": " + std::to_string(day.calls) + " calls, " +
                           std::to_string(day.usage.input) + " tokens in, " +
                           std::to_string(day.usage.output) + " out, $" + dollars);
    }
    return {};
}

Result<void> change_model(ChatRoom& room, Words argument) {
    if (argument.empty()) {
        room.call.out.line(printable(room.model->name()));
        return {};
    }
    Settings settings = room.call.settings;
    settings.model = argument;
    PAL_TRY(model, open_model(settings));
    room.model = std::move(model);
    room.call.out.line("now talking with " + printable(argument));
    return {};
}

Result<void> quit(ChatRoom& room, Words) {
    room.over = true;
    return {};
}

constexpr ChatCommand table[] = {
    {"help", "", "This list.", show_help},
    {"view", "", "What the model is sent.", show_view},
    {"log", "", "Everything that was said and done.", show_log},
    {"fork", "NAME", "Goes on in a branch of that name.", fork_here},
    {"pin", "[SEQ]", "Keeps a message as it is (the last one).", pin_one},
    {"undo", "", "Takes the last compaction, pin or rewind back.", undo_last},
    {"compact", "[POLICY]", "Compacts now (balanced).", compact_now},
    {"cost", "", "Tokens and dollars of this sitting and of the conversation.", show_cost},
    {"model", "[NAME]", "Talks with another model.", change_model},
    {"quit", "", "Ends the chat.", quit},
};

std::span<const ChatCommand> chat_commands() {
    return table;
}

}  // namespace

std::string window_status(ChatRoom& room) {
    const auto parts =
        room.call.memory->breakdown(room.name, {.model = std::string(room.model->name())});
    if (!parts || parts->window == 0) return "";
    return "[" + std::to_string(parts->used) + " of " + std::to_string(parts->window) + " tokens]";
}

bool run_chat_command(ChatRoom& room, std::string_view line) {
    if (!line.starts_with('/')) return false;
    line.remove_prefix(1);
    const std::size_t gap = std::min(line.find(' '), line.size());
    std::string_view argument = line.substr(gap);
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    for (const ChatCommand& one : chat_commands()) {
        if (one.name != line.substr(0, gap)) continue;
        if (const auto done = one.run(room, argument); !done) tell_error(done.error());
        return true;
    }
    tell_error({ErrorCode::invalid_request,
                "there is no command /" + std::string(line.substr(0, gap)) + "; /help lists them"});
    return true;
}

}  // namespace palimpsest
