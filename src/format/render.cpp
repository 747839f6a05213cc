// Rendering: conversion through neutral messages, then repair, then validation.
//
// Formats cut a conversation differently: what Responses has as several items is one assistant
// message elsewhere, and results of parallel calls are one user message in Anthropic's format. So
// neighbours are joined before they are written.
#include <algorithm>

#include "base/json_write.h"
#include "base/surrogates.h"
#include "format/fields.h"
#include "format/format_table.h"
#include "format/json_edit.h"
#include "format/own_marks.h"
#include "format/request.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

bool has_call(const NeutralMessage& message) {
    return std::any_of(message.parts.begin(), message.parts.end(), is_function_call);
}

bool only_reasoning(const NeutralMessage& message) {
    return std::all_of(message.parts.begin(), message.parts.end(),
                       [](const NeutralPart& part) { return part.kind == PartKind::reasoning; });
}

bool only_results(const NeutralMessage& message) {
    return !message.parts.empty() &&
           std::all_of(message.parts.begin(), message.parts.end(), is_function_result);
}

// Nothing of the message goes over: its parts are only reported.
bool carries_nothing(const NeutralMessage& message) {
    return std::none_of(message.parts.begin(), message.parts.end(), [](const NeutralPart& part) {
        return is_textual(part) || is_media(part) || part.kind == PartKind::refusal ||
               is_function_call(part) || is_function_result(part);
    });
}

class Conversion {
public:
    explicit Conversion(const Format& to) : to_(to) {}

    Result<void> add(const Message& message) {
        const std::size_t index = added_++;
        if (message.format == to_.id && !is_prompt(message)) {
            flush();
            rendered_.messages.push_back(message);
            rendered_.origins.push_back(index);
            return {};
        }
        PAL_TRY(document, parse_json(view_of(message.raw)));
        PAL_TRY(neutral, format_of(message.format).read(document.root()));
        if (message.format != to_.id)
            report_lost_fields(document.root(), to_.image_detail, rendered_.lost);
        if (has_lone_surrogates(view_of(message.raw)))
            rendered_.lost.push_back("text: half of a surrogate pair became U+FFFD");
        if (neutral.role == Role::tool && to_.cut.results_of_user) neutral.role = Role::user;
        if (neutral.role == Role::system && !to_.cut.system_field.empty() &&
            !hoist(neutral, message.format))
            return {};
        const bool join = joins(neutral);
        if (!join) flush();
        documents_.push_back(std::move(document));
        raws_.push_back(message.raw);
        if (join) {
            for (NeutralPart& part : neutral.parts) pending_->parts.push_back(std::move(part));
            pending_->strings.splice_after(pending_->strings.before_begin(), neutral.strings);
        } else {
            pending_ = std::move(neutral);
            pending_from_ = index;
        }
        return {};
    }

    Rendered take() {
        flush();
        if (is_marked_) rendered_.system_blocks = json_list(prompt_);
        return std::move(rendered_);
    }

private:
    // A leading system message of a format that has a field for it.
    bool is_prompt(const Message& message) const {
        return message.shape.role == Role::system && !to_.cut.system_field.empty() &&
               rendered_.messages.empty() && !pending_;
    }

    // Leading system messages leave the list. Gives whether the message stays in it.
    bool hoist(NeutralMessage& message, FormatId from) {
        if (!rendered_.messages.empty() || pending_) {
            rendered_.lost.push_back("system: inside the conversation it is sent as the user's");
            message.role = Role::user;
            return true;
        }
        for (const NeutralPart& part : message.parts) {
            if (!is_textual(part)) continue;
            if (!rendered_.system.empty()) rendered_.system += "\n\n";
            rendered_.system += textual(part);
            if (to_.has_cache_marks) add_to_prompt(part, from);
        }
        return false;
    }

    // A block of the prompt: as it came, or made from its text.
    void add_to_prompt(const NeutralPart& part, FormatId from) {
        if (textual(part).empty()) return;
        const auto block = parse_json(part.json);
        if (from == to_.id && block && block->root().is_object()) {
            is_marked_ = is_marked_ || marks_of_block(block->root()) > 0;
            prompt_.emplace_back(part.json);
        } else {
            prompt_.push_back(R"({"type":"text","text":)" + json_string(textual(part)) + "}");
        }
    }

    bool joins(const NeutralMessage& next) const {
        if (!pending_ || pending_->role != next.role || to_.cut.one_part_items) return false;
        if (next.role == Role::assistant)
            return has_call(*pending_) || has_call(next) || only_reasoning(*pending_) ||
                   only_reasoning(next);
        return only_results(*pending_) && only_results(next) && to_.cut.results_of_user;
    }

    void flush() {
        if (!pending_) return;
        std::vector<std::string> written = to_.write(*pending_, rendered_.lost);
        if (!carries_nothing(*pending_))
            for (std::string& raw : written) {
                auto message = read_message(to_.id, make_bytes(std::move(raw)));
                if (message) {
                    rendered_.messages.push_back(std::move(*message));
                    rendered_.origins.push_back(pending_from_);
                } else {
                    rendered_.lost.push_back("message: " + message.error().message);
                }
            }
        pending_.reset();
        documents_.clear();
        raws_.clear();
    }

    const Format& to_;
    Rendered rendered_;
    std::optional<NeutralMessage> pending_;
    std::size_t added_ = 0, pending_from_ = 0;
    std::vector<std::string> prompt_;  // the blocks of the system prompt
    bool is_marked_ = false;
    // What the pending message's views point into.
    std::vector<JsonDocument> documents_;
    std::vector<Bytes> raws_;
};

std::size_t marks_of_prompt(const Rendered& rendered) {
    const auto blocks = parse_json(rendered.system_blocks);
    std::size_t marks = 0;
    if (blocks)
        for (const JsonValue block : blocks->root().elements()) marks += marks_of_block(block);
    return marks;
}

// What stays broken after a repair: a limit is the caller's matter, anything else a bug of ours.
Result<void> accept(std::span<const Violation> violations) {
    for (const Violation& violation : violations) {
        if (violation.severity == Severity::tolerate) continue;
        const bool limit = violation.severity != Severity::reject;
        return fail(limit ? ErrorCode::unprocessable : ErrorCode::internal,
                    "the view breaks rule " + std::string(violation.rule) + " at " +
                        std::to_string(violation.at) + ": " + violation.message);
    }
    return {};
}

}  // namespace

Result<Rendered> convert_messages(FormatId to, std::span<const Message> messages) {
    Conversion conversion(format_of(to));
    for (const Message& message : messages) PAL_CHECK(conversion.add(message));
    return conversion.take();
}

std::size_t rendered_behind(const Rendered& rendered, std::size_t given, std::size_t behind) {
    const std::size_t wanted = given - std::min(given, behind + 1);
    std::size_t holder = 0, origin = 0;
    for (std::size_t i = 0; i < rendered.origins.size(); ++i) {
        const std::size_t begins = rendered.origins[i];
        if (begins > wanted || begins < origin) continue;
        holder = i;
        origin = begins;
    }
    return rendered.messages.size() - std::min(rendered.messages.size(), holder + 1);
}

std::string system_json(const Rendered& rendered) {
    return rendered.system_blocks.empty() ? json_string(rendered.system) : rendered.system_blocks;
}

Result<Rendered> render(FormatId to, std::span<const Message> messages, const CheckOptions& asked) {
    PAL_TRY(rendered, convert_messages(to, messages));
    CheckOptions options = asked;
    if (format_of(to).has_cache_marks) {
        if (!rendered.system_blocks.empty()) options.marks_beside += marks_of_prompt(rendered);
        drop_older_marks(rendered.messages, room_for_marks(options));
    }
    if (rendered.messages.empty())
        return fail(ErrorCode::invalid_request, "there is no message to send: add a user message");
    PAL_TRY(violations, validate(to, rendered.messages, options));
    if (is_sendable(violations)) return rendered;
    PAL_TRY(repaired, repair(to, rendered.messages, options));
    for (std::size_t& origin : repaired.origins) origin = rendered.origins[origin];
    rendered.messages = std::move(repaired.messages);
    rendered.origins = std::move(repaired.origins);
    rendered.notes = std::move(repaired.notes);
    if (rendered.messages.empty())
        return fail(ErrorCode::invalid_request, "nothing of the history can be sent");
    PAL_TRY(left, validate(to, rendered.messages, options));
    PAL_CHECK(accept(left));
    return rendered;
}

}  // namespace palimpsest
