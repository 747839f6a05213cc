// All that can be wrong with the files of a store, in words: damage, gaps, sums, what its listing
// says against what its files say, parents that are missing, files that nobody names.
#include <algorithm>
#include <set>

#include "base/ids.h"
#include "store/files_lost.h"
#include "store/files_read.h"
#include "store/files_store.h"

namespace palimpsest {
namespace {

class FilesCheck {
public:
    FilesCheck(FilesFolder& folder, const FilesCatalog& catalog, bool always_names_whole)
        : folder_(folder), catalog_(catalog), always_names_whole_(always_names_whole) {}

    Result<CheckReport> run() {
        report_.records = catalog_.records().size();
        for (const auto& [uid, log] : catalog_.logs()) {
            ++report_.logs;
            const std::size_t before = report_.findings.size();
            check_log(*log);
            if (report_.findings.size() != before) damaged_.insert(log.get());
        }
        PAL_CHECK(find_strays());
        if (always_names_whole_ || !report_.findings.empty()) name_whole();
        return std::move(report_);
    }

private:
    static std::string name_of(const FilesLog& log) {
        return log.named() ? log.header().name.id : hex(log.header().log);
    }
    void note(std::string what, const FilesLog& log, std::string message) {
        report_.findings.push_back({std::move(what), name_of(log), std::move(message)});
    }

    // A conversation is whole when everything that it was forked from is.
    void name_whole() {
        for (const auto& [uid, log] : catalog_.logs()) {
            if (damaged_.contains(log.get())) continue;
            const FilesLog* at = log->parent;
            while (at && !damaged_.contains(at)) at = at->parent;
            at ? note("damaged", *log, "what it was forked from is damaged")
               : note("readable", *log, "this conversation is whole");
        }
    }

    void check_log(const FilesLog& log) {
        const Header& header = log.header();
        if (header.parent && !log.parent)
            note("orphan", log,
                 "what it was forked from, " + hex(*header.parent) + ", is not here");
        if (log.parent && log.parent->header().end < header.base)
            note("orphan", log, "its parent has no entry " + std::to_string(header.base.value));
        auto file = folder_.open_known({header.log, log.version});
        if (!file) return note("unreadable", log, file.error().message);
        LogState state;
        auto places = read_places(**file, log, &state);
        if (!places) return note("unreadable", log, places.error().message);
        if ((*places)->damaged_bytes > 0)
            note("damaged", log,
                 std::to_string((*places)->damaged_bytes) +
                     " bytes of its file are no whole record");
        if (log.state.lost)
            note("damaged", log, header_lost(header.log).error().message);
        else if (!same_header(state.header, header))
            note("listing", log, "its file says otherwise than the index");
        check_entries(log, **file, **places);
    }

    void check_entries(const FilesLog& log, const DiskFile& file, const LogPlaces& places) {
        std::uint64_t messages = log.state.base_messages;
        Seq seq = log.header().base;
        for (const EntryPlace& place : places.entries) {
            seq = seq + 1;
            if (place.missing()) {
                note("gap", log, "entry " + std::to_string(seq.value) + " is missing");
                continue;
            }
            if (place.kind == EntryKind::message) ++messages;
            const WantedEntry wanted{seq, place};
            const auto entry = fetch_entries(folder_, file, log.header(), {wanted}, true);
            if (!entry) note("unreadable", log, entry.error().message);
            report_.entries += entry ? 1 : 0;
            if (entry && place.ordinal != messages)
                note("count", log, "entry " + std::to_string(seq.value) + " counts wrong");
            messages = place.ordinal;
        }
        if (messages != log.header().messages)
            note("count", log,
                 "has " + std::to_string(messages) + " messages, its header says " +
                     std::to_string(log.header().messages));
    }

    // Files of no log, or of an old version: what a crash left behind. They hold back nothing but
    // space, and `--repair` removes them.
    Result<void> find_strays() {
        PAL_TRY(names, folder_.log_files());
        for (const LogFileName& name : names) {
            const FilesLog* log = catalog_.find(name.log);
            if (log && (name.part || name.number == log->version)) continue;
            PAL_TRY(lost, log || name.part ? std::nullopt : read_lost_log(folder_, name));
            if (lost)
                report_.findings.push_back(
                    {"damaged", name.path, header_lost(name.log).error().message});
            else
                report_.findings.push_back({"stray", name.path, "belongs to no conversation"});
        }
        return {};
    }

    FilesFolder& folder_;
    const FilesCatalog& catalog_;
    const bool always_names_whole_;
    CheckReport report_;
    std::set<const FilesLog*> damaged_;
};

}  // namespace

Result<CheckReport> check_files(FilesFolder& folder, const FilesCatalog& catalog,
                                bool always_names_whole) {
    return FilesCheck(folder, catalog, always_names_whole).run();
}

}  // namespace palimpsest
