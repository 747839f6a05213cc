#include "palimpsest/entry.h"

namespace palimpsest {
namespace {

template <class B>
auto find_basis(B& body) -> decltype(&std::get<CompactionEntry>(body).basis) {
    return std::visit(
        [](auto& entry) -> decltype(&std::get<CompactionEntry>(body).basis) {
            if constexpr (requires { entry.basis; })
                return &entry.basis;
            else
                return nullptr;
        },
        body);
}

}  // namespace

std::string_view entry_kind_name(EntryKind kind) {
    constexpr std::string_view names[entry_kind_count] = {
        "message", "compaction", "pin", "retract", "rewind", "undo", "checkpoint", "note"};
    return names[static_cast<std::size_t>(kind)];
}

const Basis* basis_of(const Body& body) {
    return find_basis(body);
}

Basis* basis_of(Body& body) {
    return find_basis(body);
}

}  // namespace palimpsest
