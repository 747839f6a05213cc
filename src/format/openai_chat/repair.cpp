// Repair for Chat Completions: results go right behind the message that made their calls.
#include <algorithm>

#include "base/json_write.h"
#include "format/check.h"
#include "format/content.h"
#include "format/openai_chat/openai_chat.h"
#include "format/repair_work.h"

namespace palimpsest {
namespace {

std::string interrupted_result(std::string_view id) {
    std::string out;
    JsonWriter(out)
        .begin_object()
        .field("role", "tool")
        .field("tool_call_id", id)
        .field("content", interrupted_text)
        .end_object();
    return out;
}

// Calls of one message whose ids repeat: the first stays.
void drop_repeated_calls(RepairWork& work, std::size_t index) {
    std::vector<std::string_view> seen;
    std::vector<std::string> kept;
    bool repeated = false;
    for (const NeutralPart& part : work.pieces[index].neutral.parts) {
        if (!is_client_call(part)) continue;
        if (std::find(seen.begin(), seen.end(), part.id) != seen.end()) {
            repeated = true;
            work.note(work.pieces[index].at,
                      "left out a second call with the id " + quoted(part.id));
            continue;
        }
        seen.push_back(part.id);
        kept.emplace_back(part.json);
    }
    if (!repeated) return;
    const JsonValue root = work.pieces[index].document->root();
    work.rewrite(index, with_member(root, "tool_calls", json_list(kept)));
}

void mend_message(RepairWork& work, std::size_t index) {
    const NeutralMessage& message = work.pieces[index].neutral;
    if (message.role == Role::other && message.role_text != "function")
        return work.drop(index,
                         "left out a message of the unknown role " + quoted(message.role_text));
    if (message.role == Role::tool) return;
    if (message.parts.empty()) return work.drop(index, "left out a message without content");
    if (message.empty_calls) {
        work.note(work.pieces[index].at, "left out an empty list of calls");
        const JsonValue root = work.pieces[index].document->root();
        work.rewrite(index, with_member(root, "tool_calls", std::nullopt));
    }
    drop_repeated_calls(work, index);
}

class Rounds {
public:
    explicit Rounds(RepairWork& work) : work_(work), answers_(work.pair_answers()) {}

    void rebuild() {
        for (const PairedAnswer& answer : answers_) note_orphan(answer);
        for (std::size_t i = 0; i < work_.pieces.size(); ++i) {
            if (work_.pieces[i].dropped || work_.pieces[i].neutral.role == Role::tool) continue;
            order_.push_back(i);
            add_results(i);
        }
        std::vector<Piece> pieces;
        for (const std::size_t i : order_) {
            if (i < work_.pieces.size())
                pieces.push_back(std::move(work_.pieces[i]));
            else
                pieces.push_back(std::move(synthetic_[i - work_.pieces.size()]));
        }
        work_.pieces = std::move(pieces);
    }

private:
    void note_orphan(const PairedAnswer& answer) {
        if (answer.call) return;
        const std::string id = quoted(work_.part(answer.result).id);
        work_.note(work_.pieces[answer.result.piece].at,
                   answer.again ? "left out a second result of the call " + id
                                : "left out a result whose call " + id + " is missing");
    }

    bool other_message_between(std::size_t from, std::size_t to) const {
        for (std::size_t i = from + 1; i < to; ++i)
            if (!work_.pieces[i].dropped && work_.pieces[i].neutral.role != Role::tool) return true;
        return false;
    }

    void add_results(std::size_t index) {
        const auto& parts = work_.pieces[index].neutral.parts;
        std::vector<bool> answered(parts.size());
        for (const PairedAnswer& answer : answers_) {
            if (!answer.call || answer.call->piece != index) continue;
            answered[answer.call->part] = true;
            order_.push_back(answer.result.piece);
            if (other_message_between(index, answer.result.piece))
                work_.note(work_.pieces[answer.result.piece].at,
                           "moved the result of " + quoted(work_.part(answer.result).id) +
                               " behind its call");
        }
        const bool open =
            work_.options.open_end && !other_message_between(index, work_.pieces.size());
        for (std::size_t p = 0; p < parts.size() && !open; ++p) {
            if (!is_client_call(parts[p]) || answered[p]) continue;
            const std::size_t at = work_.pieces[index].at;
            work_.note(at, "answered the call " + quoted(parts[p].id) + " as interrupted");
            order_.push_back(work_.pieces.size() + synthetic_.size());
            synthetic_.push_back(work_.make_piece(interrupted_result(parts[p].id), at));
        }
    }

    RepairWork& work_;
    std::vector<PairedAnswer> answers_;
    std::vector<std::size_t> order_;  // indexes of pieces; above them, of synthetic ones
    std::vector<Piece> synthetic_;
};

// A model that takes no audio gets the rest of the message.
void mend_audio(RepairWork& work) {
    if (!takes_no_audio(work.options.model)) return;
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        const auto& parts = work.pieces[i].neutral.parts;
        const auto is_audio = [](const NeutralPart& part) { return part.kind == PartKind::audio; };
        if (std::none_of(parts.begin(), parts.end(), is_audio)) continue;
        std::vector<std::string> kept;
        for (const NeutralPart& part : parts)
            if (!is_audio(part)) kept.emplace_back(part.json);
        if (kept.empty()) {
            work.drop(i, "left out a message with audio, which the model does not take");
            continue;
        }
        work.note(work.pieces[i].at, "left out audio, which the model does not take");
        work.rewrite(i, with_member(work.pieces[i].document->root(), "content", json_list(kept)));
    }
    work.erase_dropped();
}

// What cannot be referred to is said in its words.
void put_words(RepairWork& work, std::size_t index, std::size_t part) {
    const NeutralPart& speech = work.pieces[index].neutral.parts[part];
    PartChange change{part, std::nullopt};
    if (!speech.text.empty()) change.text = speech.text;
    const auto changed = change_content(work.pieces[index].message, {&change, 1});
    if (!changed || !*changed)
        return work.drop(index, "left out audio of an answer, whose words are not known");
    work.note(work.pieces[index].at, "sent the transcript of an answer's audio");
    work.rewrite(index, std::string(view_of(*changed)));
}

void mend_speech(RepairWork& work) {
    const bool no_audio = takes_no_audio(work.options.model);
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        const auto& parts = work.pieces[i].neutral.parts;
        const auto speech = std::ranges::find(parts, PartKind::speech, &NeutralPart::kind);
        if (speech == parts.end()) continue;
        if (no_audio || speech->source.empty()) {
            put_words(work, i, static_cast<std::size_t>(speech - parts.begin()));
        } else if (!is_id_alone(*speech)) {
            work.note(work.pieces[i].at, "sent the id of an answer's audio");
            std::string audio;
            JsonWriter(audio).begin_object().field("id", speech->source).end_object();
            work.rewrite(i, with_member(work.pieces[i].document->root(), "audio", audio));
        }
    }
    work.erase_dropped();
}

// Models that take no system message get it as the user's.
void mend_roles(RepairWork& work) {
    if (!takes_no_system(work.options.model)) return;
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        if (work.pieces[i].neutral.role != Role::system) continue;
        work.note(work.pieces[i].at, "sent a system message as the user's");
        work.rewrite(i, with_member(work.pieces[i].document->root(), "role", "\"user\""));
    }
}

}  // namespace

void repair_openai_chat(RepairWork& work) {
    work.restore_calls();
    for (std::size_t i = 0; i < work.pieces.size(); ++i) mend_message(work, i);
    work.erase_dropped();
    mend_audio(work);
    mend_speech(work);
    Rounds(work).rebuild();
    mend_roles(work);
}

}  // namespace palimpsest
