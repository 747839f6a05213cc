// What `pal doctor --repair` does to a files store that opens.
#include <algorithm>

#include "store/files_read.h"
#include "store/files_store.h"

namespace palimpsest {
namespace {

bool every_entry_is_whole(const FilesFolder& folder, const DiskFile& file, const FilesLog& log) {
    Seq seq = log.header().base;
    return std::ranges::all_of(log.places->entries, [&](const EntryPlace& place) {
        seq = seq + 1;
        return !place.missing() &&
               fetch_entries(folder, file, log.header(), {{seq, place}}, true).has_value();
    });
}

Finding made_from_entries(const ConversationId& name) {
    return {"mended", name.id,
            "its header was lost and is made from its entries; it is in tenant \"" + name.tenant +
                "\", without its id, title, owner and metadata"};
}

}  // namespace

bool same_header(const Header& a, const Header& b) {
    return a.end == b.end && a.revision == b.revision && a.name == b.name;
}

// Where all that was said is whole, the file is written anew. Otherwise the header goes behind what
// is there, of which nothing is touched.
Result<void> FilesStore::mend_header(FilesLog& log) {
    FilesFolder& folder = writer_->folder();
    const auto file = folder.open_known({log.header().log, log.version});
    if (!file) return {};
    LogState told;
    PAL_TRY(places, read_places(**file, log, &told));
    const bool same = !log.state.lost && same_header(told.header, log.header());
    if (same && places->damaged_bytes == 0) return {};
    PAL_CHECK(writer_->load(log));
    LogState state = log.state;
    state.lost = false;
    FilesChange change{.sync = true};
    if (every_entry_is_whole(folder, **file, log)) {
        PAL_TRY(swapped, writer_->rewrite(log, state, {}, true));
        change.swapped.push_back(std::move(swapped));
    } else if (!same) {
        StagedLog& staged = change.stage(log);
        staged.state = state;
        put_state(staged.bytes, log.length, state);
    }
    return writer_->commit(change);
}

Result<CheckReport> FilesStore::repair(std::span<const std::string> tenants) {
    std::vector<Finding> mended;
    const FilesWriter::Alone work = [&]() -> Result<void> {
        {
            const std::unique_lock lock(mutex_);
            PAL_CHECK(remove_strays(writer_->folder(), catalog_));
        }
        std::vector<LogId> uids;
        for (const auto& [uid, log] : catalog_.logs()) uids.push_back(uid);
        for (const LogId& uid : uids) {
            FilesLog& log = *catalog_.find(uid);
            const bool lost = log.state.lost;
            PAL_CHECK(mend_header(log));
            if (lost) mended.push_back(made_from_entries(log.header().name));
        }
        return writer_->rewrite_tables();
    };
    PAL_CHECK(writer_->run_alone(work));
    PAL_TRY(report, check(tenants));
    report.findings.insert(report.findings.begin(), mended.begin(), mended.end());
    return std::move(report);
}

}  // namespace palimpsest
