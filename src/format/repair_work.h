// The list that a repair works on, and what all repairs share: pairing, notes, synthetic results.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/json_edit.h"
#include "format/neutral.h"
#include "palimpsest/format.h"

namespace palimpsest {

// A message on its way. Its neutral parts are views into `message.raw` and `document`.
struct Piece {
    std::size_t at = 0;  // its index in what came in
    Message message = {};
    std::shared_ptr<const JsonDocument> document = {};
    NeutralMessage neutral = {};
    bool dropped = false;
};

// A part of a piece.
struct PartPlace {
    std::size_t piece = 0, part = 0;
    bool operator==(const PartPlace&) const = default;
};

// A result and the call it answers; a result without one is an orphan, or a second answer.
struct PairedAnswer {
    PartPlace result;
    std::optional<PartPlace> call;
    bool again = false;
};

class RepairWork {
public:
    RepairWork(FormatId format_id, const CheckOptions& check_options)
        : format(format_id), options(check_options) {}

    FormatId format;
    CheckOptions options;
    std::vector<Piece> pieces;
    std::vector<RepairNote> notes;

    const NeutralPart& part(PartPlace place) const {
        return pieces[place.piece].neutral.parts[place.part];
    }
    void note(std::size_t at, std::string what) { notes.push_back({at, std::move(what)}); }
    void drop(std::size_t piece, std::string why);

    // A piece made from bytes that this code wrote.
    Piece make_piece(std::string raw, std::size_t at) const;
    Piece make_piece(const Message& message, std::size_t at) const;
    // Gives the piece other bytes.
    void rewrite(std::size_t piece, std::string raw);

    // Every client result with the nearest call before it that has its id and no answer yet.
    std::vector<PairedAnswer> pair_answers() const;
    // Before pairing: calls that results lack and the log has come back in front of the results.
    void restore_calls();
    void erase_dropped();

private:
    bool restore_call(std::size_t piece, std::string_view id);
    std::set<std::size_t> restored_;  // indexes in the log
};

}  // namespace palimpsest
