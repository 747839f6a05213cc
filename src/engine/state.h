// What a Memory holds: the store, and how to count. No state of conversations: whatever is read is
// read from the store, so several processes may work on one.
#pragma once
#include <memory>

#include "engine/model_table.h"
#include "palimpsest/memory.h"

namespace palimpsest {

struct Memory::State {
    std::unique_ptr<Store> store;
    std::shared_ptr<const Tokenizer> tokenizer;
    Clock clock;
    std::size_t message_bytes_max = 0;
    bool call_notes = true;
    std::unique_ptr<const ModelTable> models;
};

}  // namespace palimpsest
