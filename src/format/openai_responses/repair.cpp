// Repair for Responses: outputs pair with calls by id, reasoning stays with what follows it.
#include <algorithm>

#include "base/json_write.h"
#include "format/bound_reasoning.h"
#include "format/check.h"
#include "format/openai_responses/openai_responses.h"
#include "format/repair_work.h"

namespace palimpsest {
namespace {

// The item that says a call was interrupted, in the form that answers this kind of call.
std::string interrupted_output(const NeutralPart& call) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    writer.field("type", call.custom ? "custom_tool_call_output" : "function_call_output");
    writer.field("call_id", call.id).field("output", interrupted_text).end_object();
    return out;
}

bool is_reasoning(const Piece& piece) {
    return !piece.neutral.parts.empty() && piece.neutral.parts[0].kind == PartKind::reasoning;
}

bool is_pair_item(const Piece& piece) {
    return piece.neutral.parts.size() == 1 &&
           (is_client_call(piece.neutral.parts[0]) || is_client_result(piece.neutral.parts[0]));
}

void mend_item(RepairWork& work, std::size_t index) {
    const NeutralMessage& message = work.pieces[index].neutral;
    if (message.parts.empty()) return work.drop(index, "left out a message without content");
    const NeutralPart& part = message.parts.front();
    const bool typed = message.parts.size() == 1 && part.kind == PartKind::opaque;
    if (message.role == Role::other && !typed)
        return work.drop(index,
                         "left out a message of the unknown role " + quoted(message.role_text));
    if (typed && part.type == "compaction_trigger" && index + 1 < work.pieces.size())
        return work.drop(index, "left out a compaction_trigger that was not the last item");
    for (const NeutralPart& each : message.parts) {
        if (is_audio_file(each))
            return work.drop(index, "left out a message with a file that is audio");
    }
}

// A result that holds audio as a file: its text stays.
void mend_output(RepairWork& work, std::size_t index) {
    const NeutralMessage& message = work.pieces[index].neutral;
    for (const NeutralPart& part : message.parts)
        for (const NeutralPart& inner : part.inner)
            if (is_audio_file(inner)) {
                work.note(work.pieces[index].at, "left out a file of a result that is audio");
                const std::string text =
                    part.text.empty() ? "[content left out]" : std::string(part.text);
                return work.rewrite(index, with_member(work.pieces[index].document->root(),
                                                       "output", json_string(text)));
            }
}

void drop_orphans(RepairWork& work) {
    for (const PairedAnswer& answer : work.pair_answers()) {
        if (answer.call || (work.options.continued && !answer.again)) continue;
        const std::string id = quoted(work.part(answer.result).id);
        work.drop(answer.result.piece, answer.again
                                           ? "left out a second output of the call " + id
                                           : "left out an output whose call " + id + " is missing");
    }
    work.erase_dropped();
}

std::vector<bool> answered_calls(const RepairWork& work) {
    std::vector<bool> answered(work.pieces.size());
    for (const PairedAnswer& answer : work.pair_answers())
        if (answer.call) answered[answer.call->piece] = true;
    return answered;
}

// An unanswered call whose id a later call uses again before any answer could not be told apart.
void drop_repeated_calls(RepairWork& work) {
    const std::vector<bool> answered = answered_calls(work);
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        const auto& parts = work.pieces[i].neutral.parts;
        if (parts.size() != 1 || !is_client_call(parts[0]) || answered[i]) continue;
        for (std::size_t j = i + 1; j < work.pieces.size(); ++j) {
            const auto& later = work.pieces[j].neutral.parts;
            if (later.size() == 1 && is_client_call(later[0]) && later[0].id == parts[0].id)
                work.drop(i, "left out an unanswered call whose id " + quoted(parts[0].id) +
                                 " is used again");
        }
    }
    work.erase_dropped();
}

bool is_open_end(const RepairWork& work, std::size_t index) {
    if (!work.options.open_end) return false;
    for (std::size_t i = index + 1; i < work.pieces.size(); ++i)
        if (work.pieces[i].neutral.role == Role::user) return false;
    return true;
}

void answer_calls(RepairWork& work) {
    const std::vector<bool> answered = answered_calls(work);
    std::vector<Piece> pieces;
    std::vector<Piece> waiting;  // answers that go behind the run of calls
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        if (!is_pair_item(work.pieces[i]) && !is_reasoning(work.pieces[i])) {
            std::move(waiting.begin(), waiting.end(), std::back_inserter(pieces));
            waiting.clear();
        }
        const auto& parts = work.pieces[i].neutral.parts;
        if (parts.size() == 1 && is_client_call(parts[0]) && !answered[i] &&
            !is_open_end(work, i)) {
            const std::size_t at = work.pieces[i].at;
            work.note(at, "answered the call " + quoted(parts[0].id) + " as interrupted");
            waiting.push_back(work.make_piece(interrupted_output(parts[0]), at));
        }
        pieces.push_back(std::move(work.pieces[i]));
    }
    std::move(waiting.begin(), waiting.end(), std::back_inserter(pieces));
    work.pieces = std::move(pieces);
}

// What stood behind reasoning that is gone, up to the next.
void unbind(RepairWork& work, std::size_t reasoning) {
    for (std::size_t i = reasoning + 1; i < work.pieces.size(); ++i) {
        const Piece& piece = work.pieces[i];
        if (piece.neutral.role != Role::assistant || is_reasoning(piece)) return;
        if (auto item = without_item_id(piece.neutral, piece.document->root()))
            work.rewrite(i, *std::move(item));
    }
}

// From the end, so that reasoning before reasoning goes too.
void drop_lone_reasoning(RepairWork& work) {
    bool followed = false;
    for (std::size_t i = work.pieces.size(); i-- > 0;) {
        const Piece& piece = work.pieces[i];
        if (is_reasoning(piece)) {
            const NeutralPart& part = piece.neutral.parts[0];
            const bool shell = part.id.empty() && part.text.empty() && part.signature.empty();
            const bool unknown =
                work.options.unstored && part.signature.empty() && !part.id.empty();
            if (shell)
                work.drop(i, "left out an empty reasoning item");
            else if (unknown)
                work.drop(i, "left out reasoning that the service has not stored");
            else if (!followed)
                work.drop(i, "left out reasoning without what it led to");
            if (unknown) unbind(work, i);
            if (shell || unknown || !followed) continue;
        }
        followed = piece.neutral.role == Role::assistant;
    }
    work.erase_dropped();
}

}  // namespace

void repair_openai_responses(RepairWork& work) {
    for (std::size_t i = 0; i < work.pieces.size(); ++i) mend_item(work, i);
    work.erase_dropped();
    for (std::size_t i = 0; i < work.pieces.size(); ++i) mend_output(work, i);
    work.restore_calls();
    drop_orphans(work);
    drop_repeated_calls(work);
    answer_calls(work);
    drop_lone_reasoning(work);
}

}  // namespace palimpsest
