// Repair for Messages: every turn with calls is followed by a user message that begins with all of
// their results. Blocks that stay keep their bytes.
#include <algorithm>
#include <set>

#include "base/json_write.h"
#include "format/anthropic/anthropic.h"
#include "format/check.h"
#include "format/repair_work.h"

namespace palimpsest {
namespace {

constexpr std::string_view opening_text = "[The earlier part of the conversation was left out.]";

std::string interrupted_block(std::string_view id) {
    std::string out;
    JsonWriter(out)
        .begin_object()
        .field("type", "tool_result")
        .field("tool_use_id", id)
        .field("content", interrupted_text)
        .key("is_error")
        .boolean(true)
        .end_object();
    return out;
}

std::string user_message(const std::vector<std::string>& blocks) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object().field("role", "user").key("content").raw(json_list(blocks)).end_object();
    return out;
}

bool is_foreign_reasoning(const RepairWork& work, const NeutralPart& part) {
    const CheckOptions& options = work.options;
    return part.kind == PartKind::reasoning && !part.signature.empty() && !options.model.empty() &&
           !options.reasoning_model.empty() && options.model != options.reasoning_model;
}

// Why a block cannot stay where it is; empty: it can.
std::string unfit(const RepairWork& work, const NeutralPart& part, Role role) {
    if (part.kind == PartKind::text && is_blank(part.text))
        return part.text.empty() ? "left out an empty text block"
                                 : "left out a text block of white space";
    if (part.kind == PartKind::compaction && part.text.empty() && part.signature.empty() &&
        part.json.find("\"\"") != std::string_view::npos)
        return "left out an empty compaction block";
    if (is_client_call(part) && role != Role::assistant)
        return "left out a tool_use block outside the assistant's messages";
    if (is_client_result(part) && role != Role::user)
        return "left out a tool_result block outside the user's messages";
    if (is_foreign_reasoning(work, part)) return "left out thinking of another model";
    return {};
}

bool id_fits(std::string_view id) {
    return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

// Ids that the service refuses are spelled anew, the same way in calls and results.
std::string with_fitting_id(const NeutralPart& part) {
    std::string id;
    for (const char c : part.id) id += id_fits({&c, 1}) ? c : '_';
    if (id.empty()) id = "_";
    const auto document = parse_json(part.json);
    const std::string_view key = part.kind == PartKind::tool_call ? "id" : "tool_use_id";
    return with_member(document->root(), key, json_string(id));
}

void mend_message(RepairWork& work, std::size_t index) {
    const NeutralMessage& message = work.pieces[index].neutral;
    const std::size_t at = work.pieces[index].at;
    if (message.role == Role::other || message.role == Role::tool)
        return work.drop(index, "left out a message of the role " + quoted(message.role_text));
    std::vector<std::string> blocks;
    bool changed = false;
    for (const NeutralPart& part : message.parts) {
        const std::string why = unfit(work, part, message.role);
        const bool pair = is_client_call(part) || is_client_result(part);
        if (!why.empty()) {
            work.note(at, why);
            changed = true;
        } else if (pair && !id_fits(part.id)) {
            work.note(at, "spelled the tool id " + quoted(part.id) + " anew");
            blocks.push_back(with_fitting_id(part));
            changed = true;
        } else {
            blocks.emplace_back(part.json);
        }
    }
    if (blocks.empty()) return work.drop(index, "left out a message without content");
    if (changed)
        work.rewrite(
            index, with_member(work.pieces[index].document->root(), "content", json_list(blocks)));
}

// A run of pieces of one role.
struct Run {
    std::size_t begin = 0, end = 0;
    Role role = Role::user;
};

std::vector<Run> runs_of(const RepairWork& work) {
    std::vector<Run> runs;
    for (std::size_t i = 0; i < work.pieces.size(); ++i) {
        const Role role = work.pieces[i].neutral.role;
        if (runs.empty() || runs.back().role != role) runs.push_back({i, i, role});
        runs.back().end = i + 1;
    }
    return runs;
}

void drop_repeated_calls(RepairWork& work, const Run& run) {
    std::set<std::string, std::less<>> seen;
    for (std::size_t i = run.begin; i < run.end; ++i) {
        std::vector<std::string> blocks;
        bool changed = false;
        for (const NeutralPart& part : work.pieces[i].neutral.parts) {
            if (is_client_call(part) && !seen.emplace(part.id).second) {
                work.note(work.pieces[i].at,
                          "left out a second call with the id " + quoted(part.id));
                changed = true;
            } else {
                blocks.emplace_back(part.json);
            }
        }
        if (!changed) continue;
        if (blocks.empty())
            work.drop(i, "left out a message without content");
        else
            work.rewrite(
                i, with_member(work.pieces[i].document->root(), "content", json_list(blocks)));
    }
}

class Turns {
public:
    explicit Turns(RepairWork& work)
        : work_(work), runs_(runs_of(work)), answers_(work.pair_answers()) {}

    void rebuild() {
        for (std::size_t r = 0; r < runs_.size(); ++r) {
            const bool assistant = runs_[r].role == Role::assistant;
            const bool user_next = r + 1 < runs_.size() && runs_[r + 1].role == Role::user;
            if (runs_[r].role == Role::user && (r == 0 || runs_[r - 1].role != Role::assistant))
                strip_user_run(runs_[r], {});
            else if (runs_[r].role != Role::user)
                keep_run(runs_[r]);
            if (!assistant) continue;
            if (user_next)
                settle(runs_[r], runs_[r + 1]);
            else
                settle_without_user(runs_[r], r + 1 == runs_.size());
        }
        work_.pieces = std::move(out_);
    }

private:
    struct Wanted {
        std::vector<std::string> blocks;  // all results of the run's calls, in order
        bool open = false;                // some are missing, and may still come
    };

    void keep_run(const Run& run) {
        for (std::size_t i = run.begin; i < run.end; ++i) out_.push_back(work_.pieces[i]);
    }

    bool in_run(const PairedAnswer& answer, const Run& run) const {
        return answer.call && answer.call->piece >= run.begin && answer.call->piece < run.end;
    }

    // The results that the run of calls needs; what has none is answered as interrupted.
    Wanted wanted(const Run& run, const Run* user, bool may_be_open) {
        Wanted wanted;
        std::set<std::pair<std::size_t, std::size_t>> answered;
        for (const PairedAnswer& answer : answers_) {
            if (!in_run(answer, run)) continue;
            answered.insert({answer.call->piece, answer.call->part});
            wanted.blocks.emplace_back(work_.part(answer.result).json);
            const std::size_t from = answer.result.piece;
            if (!user || from < user->begin || from >= user->end)
                work_.note(work_.pieces[from].at, "moved the result of " +
                                                      quoted(work_.part(answer.result).id) +
                                                      " behind its call");
        }
        for (std::size_t i = run.begin; i < run.end; ++i)
            for (std::size_t p = 0; p < work_.pieces[i].neutral.parts.size(); ++p) {
                const NeutralPart& part = work_.pieces[i].neutral.parts[p];
                if (!is_client_call(part) || answered.contains({i, p})) continue;
                if (may_be_open) {
                    wanted.open = true;
                    continue;
                }
                work_.note(work_.pieces[i].at,
                           "answered the call " + quoted(part.id) + " as interrupted");
                wanted.blocks.push_back(interrupted_block(part.id));
            }
        return wanted;
    }

    void settle_without_user(const Run& run, bool last) {
        const Wanted need = wanted(run, nullptr, last && work_.options.open_end);
        if (!need.blocks.empty())
            out_.push_back(work_.make_piece(user_message(need.blocks), work_.pieces[run.begin].at));
    }

    // A user run that is already right: its results come first and are exactly those wanted.
    bool is_right(const Run& user, const std::vector<std::string>& blocks) const {
        std::size_t results = 0;
        bool other = false;
        for (std::size_t i = user.begin; i < user.end; ++i)
            for (const NeutralPart& part : work_.pieces[i].neutral.parts) {
                if (!is_client_result(part)) {
                    other = true;
                    continue;
                }
                if (other || results >= blocks.size() || blocks[results] != part.json) return false;
                ++results;
            }
        return results == blocks.size();
    }

    void settle(const Run& run, const Run& user) {
        const bool open =
            work_.options.open_end && user.end == work_.pieces.size() && only_results(user);
        const Wanted need = wanted(run, &user, open);
        if (is_right(user, need.blocks)) return keep_run(user);
        strip_user_run(user, need.blocks);
    }

    bool only_results(const Run& user) const {
        for (std::size_t i = user.begin; i < user.end; ++i)
            for (const NeutralPart& part : work_.pieces[i].neutral.parts)
                if (!is_client_result(part)) return false;
        return true;
    }

    // The user's messages without the results they had, `first` put before the rest: into the
    // first message that had a result, so that the number of messages does not grow, if that is
    // the run's first; else into a message of its own.
    void strip_user_run(const Run& user, std::vector<std::string> first) {
        note_orphans(user);
        const bool into = has_result(work_.pieces[user.begin]);
        if (!first.empty() && !into)
            out_.push_back(work_.make_piece(user_message(first), work_.pieces[user.begin].at));
        for (std::size_t i = user.begin; i < user.end; ++i) {
            const Piece& piece = work_.pieces[i];
            std::vector<std::string> blocks;
            if (i == user.begin && into) blocks = std::move(first);
            const bool changed = has_result(piece);
            for (const NeutralPart& part : piece.neutral.parts)
                if (!is_client_result(part)) blocks.emplace_back(plain_block(part));
            if (!changed)
                out_.push_back(piece);
            else if (!blocks.empty())
                out_.push_back(work_.make_piece(
                    with_member(piece.document->root(), "content", json_list(blocks)), piece.at));
        }
    }

    static std::string plain_block(const NeutralPart& part) { return std::string(part.json); }

    static bool has_result(const Piece& piece) {
        return std::any_of(piece.neutral.parts.begin(), piece.neutral.parts.end(),
                           [](const NeutralPart& part) { return is_client_result(part); });
    }

    void note_orphans(const Run& user) {
        bool noted = false;
        for (const PairedAnswer& answer : answers_) {
            if (answer.result.piece < user.begin || answer.result.piece >= user.end) continue;
            if (answer.call) continue;
            const std::string id = quoted(work_.part(answer.result).id);
            work_.note(work_.pieces[answer.result.piece].at,
                       answer.again ? "left out a second result of the call " + id
                                    : "left out a result whose call " + id + " is missing");
            noted = true;
        }
        const std::size_t at = work_.pieces[user.begin].at;
        if (!noted && (work_.notes.empty() || work_.notes.back().at != at))
            if (has_result(work_.pieces[user.begin]))
                work_.note(at, "put the results of the message first");
    }

    RepairWork& work_;
    std::vector<Run> runs_;
    std::vector<PairedAnswer> answers_;
    std::vector<Piece> out_;
};

}  // namespace

void repair_anthropic(RepairWork& work) {
    work.restore_calls();
    for (std::size_t i = 0; i < work.pieces.size(); ++i) mend_message(work, i);
    work.erase_dropped();
    for (const Run& run : runs_of(work)) drop_repeated_calls(work, run);
    work.erase_dropped();
    Turns(work).rebuild();
    work.erase_dropped();
    if (work.pieces.empty() || work.pieces.front().neutral.role == Role::user) return;
    work.note(0, "put a user message first");
    std::string text;
    JsonWriter(text)
        .begin_object()
        .field("role", "user")
        .field("content", opening_text)
        .end_object();
    work.pieces.insert(work.pieces.begin(), work.make_piece(std::move(text), 0));
}

}  // namespace palimpsest
