#include "search/stored_parts.h"

#include <cstring>

#include "base/ids.h"

namespace palimpsest {
namespace {

constexpr std::size_t part_bytes = 8u << 20;  // of one record
constexpr std::size_t parts_max = 256;

// In front of each part.
struct PartHead {
    StoredState state = {};
    std::uint32_t parts = 0, part = 0;
};
static_assert(sizeof(PartHead) == 32);

RecordKey part_key(const std::string& tenant, std::string_view space, const LogId& log,
                   std::size_t part) {
    return {tenant, std::string(space), hex(log) + "." + std::to_string(part)};
}

std::optional<PartHead> read_head(const std::string& value) {
    if (value.size() < sizeof(PartHead)) return std::nullopt;
    PartHead head;
    std::memcpy(&head, value.data(), sizeof head);
    return head;
}

}  // namespace

std::optional<StoredValue> load_parts(Store& store, std::string_view space, const Header& header) {
    StoredValue value;
    PartHead first;
    for (std::size_t part = 0; part == 0 || part < first.parts; ++part) {
        const auto record = store.get_record(part_key(header.name.tenant, space, header.log, part));
        const auto head = record ? read_head(record->value) : std::nullopt;
        if (!head || head->state.epoch != header.epoch || head->state.upto > header.end.value)
            return std::nullopt;
        if (part == 0) first = *head;
        if (head->state.upto != first.state.upto || head->part != part || head->parts > parts_max)
            return std::nullopt;
        value.bytes.append(record->value, sizeof(PartHead));
    }
    value.state = first.state;
    return value;
}

Result<void> save_parts(Store& store, std::string_view space, const Header& header,
                        const StoredState& state, std::string_view bytes) {
    PartHead head{state, 0, 0};
    head.parts = static_cast<std::uint32_t>((bytes.size() + part_bytes - 1) / part_bytes);
    for (; head.part < head.parts; ++head.part) {
        RecordWrite write;
        write.key = part_key(header.name.tenant, space, header.log, head.part);
        write.value.emplace(reinterpret_cast<const char*>(&head), sizeof head);
        *write.value += bytes.substr(head.part * part_bytes, part_bytes);
        write.ttl = header.ttl;
        PAL_CHECK(store.put_record(write));
    }
    return {};
}

Result<void> remove_parts(Store& store, std::string_view space, const std::string& tenant,
                          const LogId& log) {
    RecordQuery query{tenant, std::string(space), hex(log) + ".", {}, parts_max};
    PAL_TRY(records, store.list_records(query));
    for (const Record& record : records) {
        RecordWrite write;
        write.key = record.key;
        write.purge = true;
        PAL_CHECK(store.put_record(write));
    }
    return {};
}

}  // namespace palimpsest
