// What can be typed in a chat beside messages: /view, /log, /fork, ...
#pragma once
#include <memory>

#include "cli/command.h"
#include "palimpsest/chat.h"

namespace palimpsest {

// Where a chat stands.
struct ChatRoom {
    Invocation& call;
    ConversationId name = {};
    std::unique_ptr<Model> model = {};
    double spent = 0;   // dollars, in this sitting
    Usage usage = {};   // in this sitting
    bool over = false;  // /quit
};

// "[1234 of 128000 tokens]", or "" when the window is not known.
std::string window_status(ChatRoom& room);

// Does what the line asks for. A failure is told and ends nothing; false: it is no command.
bool run_chat_command(ChatRoom& room, std::string_view line);

}  // namespace palimpsest
