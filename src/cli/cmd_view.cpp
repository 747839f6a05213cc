// view: what the model is sent, now or after any past entry, and why.
#include <cstdio>

#include "cli/command.h"
#include "engine/explain.h"
#include "engine/present.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"at", "SEQ", "The view as it was after that entry."},
    {"explain", "", "Say why items are not verbatim, and what was left out."},
    {"format", "F", "Print the list of messages to send instead, in format F."},
    {"window", "TOKENS", "Preview: what would be sent within so many tokens; nothing is written."},
    {"model", "NAME", "Preview: what that model would be sent."},
    {"policy", "JSON|NAME", "Of the preview; default: the conversation's, else balanced."},
};

std::string positions(Range range) {
    if (range.from == range.to) return std::to_string(range.from.value);
    return std::to_string(range.from.value) + ".." + std::to_string(range.to.value);
}

std::string plural(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void print_view(Output& out, const View& view, bool explain) {
    std::vector<std::string> titles{"KIND", "SEQ", "TOKENS", "ROLE"};
    if (explain) titles.push_back("WHY");
    titles.push_back("MESSAGE");
    Table table(std::move(titles));
    for (const Item& item : view.items) {
        std::vector<std::string> row{std::string(item_kind_name(item.kind)), positions(item.range),
                                     std::to_string(item.tokens),
                                     std::string(role_name(item.message.shape.role))};
        if (explain) row.push_back(explain_item(view, item));
        row.push_back(describe(item.message));
        table.add(std::move(row));
    }
    table.print(out);
    out.line(out.styled(Style::dim, plural(view.items.size(), "item") + ", " +
                                        plural(view.tokens, "token") + ", after entry " +
                                        std::to_string(view.seq.value)));
}

void print_left_out(Output& out, const std::vector<LeftOut>& left_out) {
    if (left_out.empty()) {
        out.line("nothing was left out");
        return;
    }
    out.line("left out:");
    for (const LeftOut& part : left_out)
        out.line("  " + positions(part.range) + "  " + plural(part.messages, "message") +
                 ", by entry " + std::to_string(part.by.value) + ": " + printable(part.reason));
}

// What was changed or lost on the way into the format is said on standard error.
Result<void> print_sendable(Output& out, const View& view, FormatId format) {
    std::vector<Message> messages;
    for (const Item& item : view.items) messages.push_back(item.message);
    PAL_TRY(rendered, render(format, messages));
    out.json_line(write_list(rendered.messages));
    for (const RepairNote& note : rendered.notes)
        std::fprintf(stderr, "repaired at %zu: %s\n", note.at, printable(note.what).c_str());
    for (const std::string& lost : rendered.lost)
        std::fprintf(stderr, "lost: %s\n", printable(lost).c_str());
    if (!rendered.system.empty())
        std::fprintf(stderr, "not in the list, send it as the system prompt: %s\n",
                     printable(rendered.system).c_str());
    return {};
}

}  // namespace

extern const Flags view_flags;
const Flags view_flags = flags;

Result<int> run_view(Invocation& call) {
    ViewOptions options;
    PAL_TRY(at, call.arguments.number("at"));
    if (at) options.at = Seq{*at};
    PAL_TRY(window, call.arguments.number("window"));
    options.window = window;
    options.model = call.arguments.get("model").value_or("");
    options.policy = call.arguments.get("policy").value_or("");
    std::optional<FormatId> format;
    if (const auto name = call.arguments.get("format")) {
        PAL_TRY(id, parse_format_name(*name));
        format = id;
    }
    const bool explain = call.arguments.has("explain");
    PAL_TRY(view, call.memory->view(call.name(), options));
    if (format) {
        PAL_CHECK(print_sendable(call.out, view, *format));
        return 0;
    }
    std::vector<LeftOut> left_out;
    if (explain) {
        PAL_TRY(parts, explain_left_out(*call.memory, view));
        left_out = std::move(parts);
    }
    if (call.json() && explain) {
        std::string text;
        JsonWriter json(text);
        write_explained_view(json, view, left_out);
        call.out.json_line(std::move(text));
    } else if (call.json()) {
        print_json(call.out, write_view, view);
    } else {
        print_view(call.out, view, explain);
        if (explain) print_left_out(call.out, left_out);
    }
    return 0;
}

}  // namespace palimpsest
