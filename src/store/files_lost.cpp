#include "store/files_lost.h"

#include <algorithm>

#include "base/ids.h"

namespace palimpsest {

Result<std::optional<FilesLog>> read_lost_log(FilesFolder& folder, const LogFileName& name) {
    PAL_TRY(file, folder.open({name.log, name.number}, DiskFile::Mode::write));
    PAL_TRY(size, file->size());
    FilesLog log{.version = name.number};
    Header& header = log.state.header;
    std::optional<Time> first;
    FrameReader frames(*file, name.log, size);
    for (;;) {
        PAL_TRY(frame, frames.next());
        if (!frame) break;
        const auto found = read_log_frame(*frame);
        if (!found) continue;
        if (found->state) return std::nullopt;
        if (found->run && !first) first = found->run->places.front().at;
        fold_frame(log.state, *found);
    }
    if (!first) return std::nullopt;
    // What it was forked from is lost as well: entries below its own are missing, as damage is.
    log.state.lost = true;
    log.length = frames.at();
    header.log = name.log;
    header.created = *first;
    return log;
}

ConversationId name_of_lost(const LogId& log, const std::vector<const Header*>& others,
                            const std::map<RecordKey, Record>& records) {
    ConversationId name{std::string(lost_tenant), hex(log)};
    for (const auto& [key, record] : records)
        if (key.key.starts_with(name.id)) name.tenant = key.tenant;
    for (const Header* other : others)
        if (other->parent == log) name.tenant = other->name.tenant;
    return name;
}

std::unexpected<Error> header_lost(const LogId& log) {
    return fail(ErrorCode::internal,
                "the header of log " + hex(log) +
                    " is damaged: put it back from a backup, or let `pal doctor --repair` make one "
                    "from its entries");
}

}  // namespace palimpsest
