#include "format/repair_work.h"

#include <algorithm>

#include "format/check.h"
#include "format/format_table.h"

namespace palimpsest {

void RepairWork::drop(std::size_t piece, std::string why) {
    if (pieces[piece].dropped) return;
    pieces[piece].dropped = true;
    note(pieces[piece].at, std::move(why));
}

Piece RepairWork::make_piece(const Message& message, std::size_t at) const {
    Piece piece{.at = at, .message = message};
    auto document = parse_json(view_of(message.raw));
    auto neutral = document ? format_of(format).read(document->root())
                            : Result<NeutralMessage>(std::unexpected(document.error()));
    // What was read once reads again; what this code wrote is well formed.
    if (neutral) {
        piece.neutral = std::move(*neutral);
        piece.document = std::make_shared<const JsonDocument>(std::move(*document));
    } else {
        piece.dropped = true;
    }
    return piece;
}

Piece RepairWork::make_piece(std::string raw, std::size_t at) const {
    auto message = read_message(format, make_bytes(std::move(raw)));
    if (!message) return {.at = at, .dropped = true};
    return make_piece(*message, at);
}

void RepairWork::rewrite(std::size_t piece, std::string raw) {
    pieces[piece] = make_piece(std::move(raw), pieces[piece].at);
}

std::vector<PairedAnswer> RepairWork::pair_answers() const {
    std::vector<PairedAnswer> answers;
    struct Call {
        PartPlace place;
        std::string_view id;
        bool answered = false;
    };
    std::vector<Call> calls;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].dropped) continue;
        for (std::size_t j = 0; j < pieces[i].neutral.parts.size(); ++j) {
            const NeutralPart& each = pieces[i].neutral.parts[j];
            if (is_client_call(each)) calls.push_back({{i, j}, each.id, false});
            if (!is_client_result(each)) continue;
            PairedAnswer answer{.result = {i, j}, .call = {}};
            for (std::size_t c = calls.size(); c-- > 0 && !answer.call;) {
                if (calls[c].id != each.id) continue;
                answer.again = calls[c].answered;
                if (calls[c].answered) break;
                calls[c].answered = true;
                answer.call = calls[c].place;
            }
            answers.push_back(answer);
        }
    }
    return answers;
}

// The log's message that makes the call goes before the piece that answers it; results of its
// other calls follow the ordinary way, from the list or as interrupted.
bool RepairWork::restore_call(std::size_t piece, std::string_view id) {
    for (std::size_t i = options.log.size(); i-- > 0;) {
        const Message& message = options.log[i];
        if (message.format != format || message.shape.role != Role::assistant ||
            restored_.contains(i))
            continue;
        const auto& calls = message.shape.calls;
        if (std::find(calls.begin(), calls.end(), id) == calls.end()) continue;
        restored_.insert(i);
        Piece restored = make_piece(message, pieces[piece].at);
        if (restored.dropped) return false;
        note(pieces[piece].at, "put back the call " + quoted(id) + " from the log");
        pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(piece), std::move(restored));
        return true;
    }
    return false;
}

void RepairWork::restore_calls() {
    if (options.log.empty()) return;
    // Each message of the log comes back at most once, so this ends.
    for (bool again = true; again;) {
        again = false;
        for (const PairedAnswer& answer : pair_answers()) {
            if (answer.call || answer.again) continue;
            const std::string id(part(answer.result).id);
            again = restore_call(answer.result.piece, id);
            if (again) break;
        }
    }
}

void RepairWork::erase_dropped() {
    std::erase_if(pieces, [](const Piece& piece) { return piece.dropped; });
}

}  // namespace palimpsest
