// Checkpoints: a name for a position. Constant size; forks start from one.
#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "core/metadata.h"
#include "engine/state.h"
#include "palimpsest/memory.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

// The id names the log that owns the entry, so that a checkpoint has one id in all forks.
Result<Checkpoint> describe(Store& store, const Header& header, const Entry& entry) {
    LogId log = header.log;
    if (entry.seq <= header.base) {
        PAL_TRY(owner, owner_of(store, header, entry.seq));
        log = owner.log;
    }
    const auto& body = std::get<CheckpointEntry>(entry.body);
    return Checkpoint{position_id("ckpt_", log, entry.seq), entry.seq, entry.at, body.name,
                      body.metadata};
}

bool has_all(std::string_view metadata, const std::map<std::string, std::string>& wanted) {
    if (wanted.empty()) return true;
    const auto labels = labels_of(metadata);
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& field) {
        const auto found = labels.find(field.first);
        return found != labels.end() && found->second == field.second;
    });
}

}  // namespace

Result<Checkpoint> Memory::checkpoint(const ConversationId& name, std::string_view checkpoint_name,
                                      std::string_view metadata, const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_id(checkpoint_name, "name"));
    PAL_TRY(checked, merge_metadata("{}", metadata));
    Batch batch;
    batch.key = write.key;
    batch.digest = hash_bytes("checkpoint " + std::string(checkpoint_name) + checked);
    batch.expected_end = write.expected_end;
    batch.if_absent = IfAbsent::fail;
    batch.entries.push_back({CheckpointEntry{std::string(checkpoint_name), checked}, {}});
    PAL_TRY(done, state_->store->append(name, batch));
    PAL_TRY(entry, read_entry(*state_->store, done.header, done.last));
    return describe(*state_->store, done.header, entry);
}

Result<std::vector<Checkpoint>> Memory::checkpoints(
    const ConversationId& name, const std::map<std::string, std::string>& metadata) {
    PAL_TRY(header, head(name));
    PAL_TRY(entries, read_lineage(*state_->store, header,
                                  {.ranges = {}, .kinds = only(EntryKind::checkpoint)}));
    std::vector<Checkpoint> out;
    for (const Entry& entry : entries) {
        if (!has_all(std::get<CheckpointEntry>(entry.body).metadata, metadata)) continue;
        PAL_TRY(checkpoint, describe(*state_->store, header, entry));
        out.push_back(std::move(checkpoint));
    }
    return out;
}

Result<Checkpoint> Memory::find_checkpoint(const ConversationId& name, std::string_view which) {
    PAL_TRY(all, checkpoints(name));
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Checkpoint& one) {
        return which.empty() || one.id == which || one.name == which;
    });
    if (found != all.rend()) return *found;
    return fail(ErrorCode::not_found, which.empty() ? "'" + name.id + "' has no checkpoint"
                                                    : "'" + name.id + "' has no checkpoint '" +
                                                          std::string(which) +
                                                          "'; `pal checkpoints` lists them");
}

}  // namespace palimpsest
