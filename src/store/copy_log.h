// One log into its place in another store: made, gone on with, or compared with what is there.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "store/copy.h"
#include "store/copy_lost.h"

namespace palimpsest {

// Records of the copy's own: the revision that it gave to a header last, under the log's uid.
constexpr std::string_view copy_space = "pal.copy";

struct LogOutcome {
    bool wrote = false;  // the log, or entries of it
    bool there = false;
    bool alike = true;  // the target has the same entries, no more and none scrubbed by itself
    Seq same = {};      // up to here the target's past is the source's
    std::vector<Seq> lost = {};
    std::optional<Error> error = {};
};

class LogCopy {
public:
    LogCopy(Store& from, Store& to, const CopyOptions& options, CopyReport& report)
        : from_(from), to_(to), options_(options), report_(report) {}
    // `parent`: what became of the log that it was forked from. Fails when a store cannot go on.
    Result<LogOutcome> run(const Header& header, const LogOutcome* parent);

private:
    struct Target {
        ConversationId name = {};
        bool exists = false;
        Seq next = {};               // the first seq that it has not
        std::uint64_t messages = 0;  // up to there
        Time updated = {}, accessed = {};
    };
    struct Comparison {
        std::optional<Seq> other = {};  // the first entry that is another one
        std::vector<Seq> to_scrub = {};
        std::size_t only_target_scrubbed = 0;
    };

    Result<void> copy(const Header& header, const LogOutcome* parent, LogOutcome& out);
    Result<void> join(const Header& header, const Header& there, LogOutcome& out);
    Result<Comparison> compare(const Header& header, const Header& there, LogOutcome& out);
    Result<void> compare_page(const Header& header, Range range, Comparison& found,
                              LogOutcome& out);
    Result<void> compare_one(const Header& header, const Entry& ours, const Entry& theirs,
                             Comparison& found, LogOutcome& out);
    Result<void> scrub(const Header& header, const ConversationId& name,
                       const std::vector<Seq>& seqs);
    Result<void> bring_fields(const Header& header, const ConversationId& name);
    Result<void> add_rest(const Header& header, Target& target, LogOutcome& out);
    Result<std::vector<Draft>> drafts_of(ReadAround read, std::vector<LostEntry>& pending,
                                         std::uint64_t& ordinal, Time created);
    Result<void> create(const Header& header, Target& target);
    Result<void> write(const Header& header, Target& target, const std::vector<Draft>& drafts,
                       LogOutcome& out);
    Result<void> append(const Header& header, Target& target, std::vector<Draft> drafts);
    Result<Seq> basis_at(Header header);

    Store& from_;
    Store& to_;
    const CopyOptions& options_;
    CopyReport& report_;
};

// A fault of one conversation, not of a store.
bool is_of_one(const Error& error);
// Its name, or the one that is lent to a log that has lost its own.
ConversationId name_in_copy(const Header& header);

}  // namespace palimpsest
