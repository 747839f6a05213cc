// Session: a conversation as agent frameworks see one: a list of items that is read, added to,
// shortened from its end and cleared. A thin cover over Memory, for SDKs to wrap.
//
// Nothing is lost: pop, clear and replace hide items in the log, which undo brings back.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/memory.h"

namespace palimpsest {

class Session {
public:
    // `memory` must outlive it.
    Session(Memory& memory, ConversationId name, FormatId format = FormatId::openai_chat);

    // What the model sees, oldest first. With a limit the latest that many, or fewer: a call and
    // its results are never parted. A conversation that is not there has none.
    Result<std::vector<Message>> items(std::optional<std::size_t> limit = {});
    // A message or a list. `operation` makes a repeat harmless.
    Result<void> add(std::string_view messages, std::string operation = {});
    // Takes the newest item away and gives it; with it goes what it cannot be parted from. None
    // when there is none.
    Result<std::vector<Message>> pop(std::string operation = {});
    Result<void> clear(std::string operation = {});
    // A transaction: the latest `count` items (whole groups) go, these messages come. Run again
    // with the same id after a crash it does what is missing, counted from where it began, and
    // nothing twice.
    Result<void> replace_suffix(std::size_t count, std::string_view messages,
                                const std::string& operation);

private:
    Result<View> view();
    Result<void> hide_behind(Seq last_kept, std::string operation);

    Memory& memory_;
    ConversationId name_;
    FormatId format_;
};

}  // namespace palimpsest
