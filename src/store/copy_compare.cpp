#include "store/copy_compare.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/json_write.h"
#include "core/codec.h"

namespace palimpsest {
namespace {

Match match_messages(const MessageEntry& source, const MessageEntry& target) {
    const bool same_place = source.message.format == target.message.format &&
                            source.message.shape == target.message.shape &&
                            source.interrupted == target.interrupted &&
                            source.answers == target.answers;
    if (!same_place) return Match::other;
    if (source.scrubbed && target.scrubbed) return Match::same;
    if (source.scrubbed) return Match::source_scrubbed;
    if (target.scrubbed) return Match::target_scrubbed;
    return source.message.fingerprint == target.message.fingerprint ? Match::same : Match::other;
}

bool has_scrubbed(const CompactionEntry& entry) {
    return std::ranges::any_of(entry.edits, &Edit::scrubbed);
}

// The results of edits go with the messages that they cover, on each side in its own time.
void forget_scrubs(CompactionEntry& one, CompactionEntry& other) {
    for (std::size_t i = 0; i < one.edits.size() && i < other.edits.size(); ++i) {
        if (!one.edits[i].scrubbed && !other.edits[i].scrubbed) continue;
        for (Edit* edit : {&one.edits[i], &other.edits[i]}) {
            edit->scrubbed = true;
            edit->reason.clear();
            edit->after = {};
            edit->result = nullptr;
        }
    }
}

std::map<std::string, std::string> members_of(std::string_view metadata) {
    std::map<std::string, std::string> members;
    const auto document = parse_json(metadata);
    if (!document) return members;
    for (const JsonMember member : document->root().members())
        members.emplace(member.key, member.value.raw());
    return members;
}

std::string merge_towards(std::string_view source, std::string_view target) {
    const auto wanted = members_of(source), had = members_of(target);
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    for (const auto& [key, value] : had)
        if (!wanted.contains(key)) writer.key(key).null();
    for (const auto& [key, value] : wanted) {
        const auto old = had.find(key);
        if (old == had.end() || old->second != value) writer.key(key).raw(value);
    }
    writer.end_object();
    return out;
}

}  // namespace

Match match_entries(const Entry& source, const Entry& target) {
    if (source.at != target.at || kind_of(source.body) != kind_of(target.body)) return Match::other;
    if (const auto* message = std::get_if<MessageEntry>(&source.body))
        return match_messages(*message, std::get<MessageEntry>(target.body));
    Body one = source.body, other = target.body;
    bool only_target = false;
    if (auto* compaction = std::get_if<CompactionEntry>(&one)) {
        auto& theirs = std::get<CompactionEntry>(other);
        only_target = has_scrubbed(theirs) && !has_scrubbed(*compaction);
        forget_scrubs(*compaction, theirs);
    }
    if (encode_body(one).meta != encode_body(other).meta) return Match::other;
    return only_target ? Match::target_scrubbed : Match::same;
}

std::vector<std::string_view> differing_fields(const Header& source, const Header& target) {
    const HeaderPatch patch = patch_towards(source, target);
    std::vector<std::string_view> names;
    if (patch.owner) names.push_back("owner");
    if (patch.title) names.push_back("title");
    if (patch.system_prompt) names.push_back("system prompt");
    if (patch.policy) names.push_back("policy");
    if (patch.metadata_merge) names.push_back("metadata");
    if (patch.ttl) names.push_back("time to live");
    return names;
}

HeaderPatch patch_towards(const Header& source, const Header& target) {
    HeaderPatch patch;
    if (source.owner != target.owner) patch.owner = source.owner;
    if (source.title != target.title) patch.title = source.title;
    if (source.system_prompt != target.system_prompt) patch.system_prompt = source.system_prompt;
    if (source.policy != target.policy) patch.policy = source.policy;
    if (members_of(source.metadata) != members_of(target.metadata))
        patch.metadata_merge = merge_towards(source.metadata, target.metadata);
    if (source.ttl != target.ttl) patch.ttl = source.ttl;
    return patch;
}

}  // namespace palimpsest
