// chat: a conversation at the terminal, or line by line through a pipe.
//
// Every line of input is one message; one that ends in a backslash goes on in the next. In a
// dialogue lines are edited (see line_editor.h), and (or with --commands) one that begins with a
// slash is a command. The answer is printed as it comes, its markdown made readable on a terminal;
// below it, on standard error, what was sent and what was left out. Ctrl-C stops the answer and
// keeps what there is of it; at the prompt it ends the program. A store that one process holds is
// let go between turns.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "cli/chat_commands.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/markdown.h"
#include "cli/open.h"
#include "cli/tell_error.h"
#include "engine/present.h"
#include "palimpsest/chat.h"
#include "palimpsest/format.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"system", "TEXT", "A system prompt: sent before everything else, not part of the log."},
    {"recall-tools", "",
     "Offers the model search_memory and recall, and answers its calls of them."},
    {"commands", "", "Lines that begin with / are commands also when no terminal is there."},
};

// Lines of the standard input. A line of a terminal ends early (as none) on Ctrl-C.
class LineReader {
public:
    std::optional<std::string> next() {
        for (;;) {
            const std::size_t end = buffer_.find('\n');
            if (end != buffer_.npos || (ended_ && !buffer_.empty())) {
                std::string line = buffer_.substr(0, end);
                buffer_.erase(0, end == buffer_.npos ? end : end + 1);
                return line;
            }
            if (ended_ || interrupted()) return std::nullopt;
            char bytes[4096];
            const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (count > 0) buffer_.append(bytes, static_cast<std::size_t>(count));
            ended_ = count == 0 || (count < 0 && errno != EINTR);
        }
    }

private:
    std::string buffer_;
    bool ended_ = false;
};

// Pieces of text may end inside a code point: that part waits for the next piece.
class SafeStream {
public:
    explicit SafeStream(Output& out) : shown_(out) {}
    void write(std::string_view piece) {
        pending_ += piece;
        std::size_t whole = pending_.size();
        for (std::size_t back = 1; back <= 3 && back <= pending_.size(); ++back) {
            const auto byte = static_cast<unsigned char>(pending_[pending_.size() - back]);
            if (byte < 0x80) break;
            if (byte < 0xc0) continue;
            const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
            if (back < length) whole = pending_.size() - back;
            break;
        }
        shown_.write(printable_lines(std::string_view(pending_).substr(0, whole)));
        pending_.erase(0, whole);
    }
    void end() {
        shown_.write(printable_lines(pending_));
        shown_.end();
        pending_.clear();
    }

private:
    MarkdownStream shown_;
    std::string pending_;
};

// Ctrl-C stops a model that says nothing yet, too.
class InterruptWatch {
public:
    std::stop_token token() const { return source_.get_token(); }

private:
    void watch(const std::stop_token& over) {
        while (!over.stop_requested() && !interrupted())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (interrupted()) source_.request_stop();
    }
    std::stop_source source_;
    std::jthread thread_{[this](const std::stop_token& over) { watch(over); }};
};

// Why an answer is not what the model would have said by itself; "": it is.
std::string_view early_end(const ChatDone& turn) {
    using Outcome = ChatDone::Outcome;
    if (turn.outcome == Outcome::rounds_exceeded) return "ended by the limit of rounds";
    if (turn.outcome == Outcome::cost_exceeded) return "ended by the limit of costs";
    if (turn.outcome == Outcome::identical_calls) return "ended: the same calls again and again";
    if (turn.outcome == Outcome::pending) return "waits for calls of tools to be decided on";
    if (!turn.answer.message.raw) return "stopped before anything came; what was said is kept";
    if (turn.outcome == Outcome::interrupted) return "stopped, kept as it is";
    if (turn.stop == StopReason::length)
        return "cut off at the most tokens that an answer may have";
    if (turn.stop == StopReason::refusal) return "the model declined";
    return "";
}

std::string status_line(const ChatDone& turn) {
    const View& view = turn.begun.view;
    std::uint64_t verbatim = 0, summaries = 0;
    for (const Item& item : view.items) ++(item.kind == ItemKind::summary ? summaries : verbatim);
    const std::uint64_t all = view.header.messages;
    std::string text = "[sent " + std::to_string(verbatim) + " of " + std::to_string(all) +
                       " messages, " + std::to_string(view.tokens) + " tokens";
    if (summaries > 0) text += ", " + std::to_string(summaries) + " summaries";
    text += "; left out " + std::to_string(all > verbatim ? all - verbatim : 0);
    if (const auto& compaction = turn.begun.compaction)
        text += "; compacted " + std::to_string(compaction->tokens_before) + " to " +
                std::to_string(compaction->tokens_after) + " tokens";
    const std::string_view early = early_end(turn);
    if (!early.empty()) text += "; " + std::string(early);
    if (turn.finished.seq != Seq{}) text += "; entry " + std::to_string(turn.finished.seq.value);
    return text + "]";
}

void print_turn_json(Output& out, const ConversationId& name, const ChatDone& turn) {
    std::string text;
    JsonWriter json(text);
    const bool answered = turn.answer.message.raw != nullptr;
    json.begin_object().field("conversation_id", name.id).key("seq");
    answered ? json.number(turn.finished.seq.value) : json.null();
    json.key("message").raw(answered ? view_of(turn.answer.message.raw) : "null");
    json.field("outcome", chat_outcome_name(turn.outcome));
    json.field("note", early_end(turn));
    json.key("interrupted").boolean(turn.outcome == ChatDone::Outcome::interrupted);
    json.key("usage").begin_object().key("input").number(turn.usage.input);
    json.key("cached").number(turn.usage.cached);
    json.key("cache_writes").number(turn.usage.cache_writes);
    json.key("output").number(turn.usage.output);
    json.key("reasoning").number(turn.usage.reasoning).end_object().key("cost");
    turn.cost ? json.begin_object().key("dollars").number(*turn.cost).end_object() : json.null();
    json.key("compaction");
    turn.begun.compaction ? write_compaction(json, *turn.begun.compaction) : void(json.null());
    json.key("warnings").begin_array();
    for (const std::string& warning : turn.warnings) json.string(warning);
    json.end_array().key("sent").begin_object().key("items").number(
        std::uint64_t{turn.begun.view.items.size()});
    json.key("tokens").number(turn.begun.view.tokens).end_object().end_object();
    out.json_line(std::move(text));
}

// What is said, as JSON: the system prompt, if there is one, and the line.
Result<std::string> messages_of(FormatId format, const std::string& system, std::string_view line) {
    if (!is_utf8(line))
        return fail(ErrorCode::invalid_request,
                    "the line is not UTF-8: convert it first, for instance with iconv");
    PAL_TRY(said, make_message(format, Role::user, std::string(line)));
    if (system.empty()) return "[" + std::string(*said.raw) + "]";
    PAL_TRY(preamble, make_message(format, Role::system, system));
    return "[" + std::string(*preamble.raw) + "," + std::string(*said.raw) + "]";
}

Result<void> one_turn(ChatRoom& room, std::string_view line) {
    Invocation& call = room.call;
    const ConversationId& name = room.name;
    Model& model = *room.model;
    PAL_TRY(messages, messages_of(model.format(), call.arguments.get("system").value_or(""), line));
    SafeStream stream(call.out);
    const InterruptWatch watch;
    const auto on_event = [&](const ChatEvent& event) {
        if (!call.json() && event.kind == ChatEvent::Kind::text) {
            stream.write(event.text);
            if (!call.out.flush()) return false;
        }
        return !interrupted() && !call.out.closed();
    };
    PAL_TRY(
        turn,
        chat(*call.memory, name,
             {.messages = messages, .format = model.format(), .model = std::string(model.name())},
             model,
             {.recall = call.arguments.has("recall-tools"),
              .on_event = on_event,
              .stop = watch.token()}));
    room.spent += turn.cost.value_or(0);
    room.usage.input += turn.usage.input;
    room.usage.cached += turn.usage.cached;
    room.usage.output += turn.usage.output;
    if (call.json()) {
        print_turn_json(call.out, name, turn);
    } else {
        stream.end();
        call.out.line("");
    }
    PAL_CHECK(call.out.flush());
    if (call.json()) return {};
    for (const std::string& warning : turn.warnings)
        std::fprintf(stderr, "pal: warning: %s\n", printable(warning).c_str());
    std::fprintf(stderr, "%s %s\n", status_line(turn).c_str(), window_status(room).c_str());
    return {};
}

// One message, over several lines where each but the last ends in a backslash.
std::optional<std::string> next_message(Invocation& call, LineReader& lines, LineEditor* editor) {
    std::string message;
    for (;;) {
        if (!call.out.flush()) return std::nullopt;
        std::optional<std::string> line =
            editor ? editor->read(message.empty() ? "> " : ". ") : lines.next();
        if (!line) return message.empty() ? std::nullopt : std::optional(message);
        if (!line->ends_with('\\')) return message + *line;
        line->pop_back();
        message += *line + "\n";
    }
}

// A store in files has one holder. While nothing is asked others may be it.
bool has_one_holder(const Settings& settings) {
    return settings.store.starts_with("sqlite:") || settings.store.starts_with("files:");
}

Result<void> hold_store(Invocation& call) {
    if (call.memory) return {};
    PAL_TRY(memory,
            open_memory(call.settings, {.create = true}, {.policy = std::string(default_policy)}));
    call.memory.emplace(std::move(memory));
    return {};
}

std::string kept_history(const Invocation& call) {
    return history_file(call.settings.chat_history, [](const std::string& variable) {
        const char* const value = std::getenv(variable.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    });
}

}  // namespace

extern const Flags chat_flags;
const Flags chat_flags = flags;

Result<int> run_chat(Invocation& call) {
    const bool dialogue = isatty(STDIN_FILENO) == 1 && call.out.is_terminal();
    ConversationId name{call.settings.tenant, ""};
    name.id =
        call.arguments.size() ? call.arguments[0] : "chat_" + hex(random_log_id()).substr(0, 12);
    if (call.arguments.size() == 0) std::fprintf(stderr, "conversation %s\n", name.id.c_str());
    PAL_TRY(model, open_model(call.settings));
    ChatRoom room{.call = call, .name = name, .model = std::move(model)};
    const bool commands = dialogue || call.arguments.has("commands");
    catch_interrupts();
    LineReader lines;
    LineEditor editor(call.out, InputHistory(dialogue ? kept_history(call) : std::string()));
    while (!room.over) {
        if (has_one_holder(call.settings)) call.memory.reset();
        const auto line = next_message(call, lines, dialogue ? &editor : nullptr);
        if (!line) break;
        if (line->find_first_not_of(" \t\r\n") == line->npos) continue;
        if (auto held = hold_store(call); !held) {
            if (!dialogue) return std::unexpected(std::move(held).error());
            tell_error(held.error());
            continue;
        }
        if (commands && run_chat_command(room, *line)) {
            PAL_CHECK(call.out.flush());
            continue;
        }
        // A signal that came while nothing was answered stops no later answer.
        if (dialogue) forget_interrupt();
        if (auto turn = one_turn(room, *line); !turn) {
            if (!dialogue) return std::unexpected(std::move(turn).error());
            // What was said is stored; the next try may do better.
            tell_error(turn.error());
        }
        // In a dialogue Ctrl-C stopped the answer, not the program.
        if (interrupted() && !dialogue) break;
        forget_interrupt();
        if (call.out.closed()) return 0;
    }
    return interrupted() || editor.was_interrupted() ? 130 : 0;
}

}  // namespace palimpsest
