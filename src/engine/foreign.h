// Conversations of other programs: read into messages of one of our formats, and written back.
//
// What has no place on the other side is named in `lost`, never dropped silently. Rows of the table
// share no code but this interface; a new one is a reader, a writer and a row in foreign.cpp.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/format.h"
#include "palimpsest/store.h"

namespace palimpsest {

struct ForeignMessage {
    std::string json = {};
    std::optional<Time> at = {};
    bool pinned = false;
};

struct ForeignConversation {
    std::string id = {};  // empty: it has none
    FormatId format = FormatId::openai_chat;
    std::vector<ForeignMessage> messages = {};
    std::string owner = {}, title = {}, system_prompt = {};
    std::string metadata = "{}";
    std::vector<std::string> lost = {};
};

// What is written: the header, and messages of whatever formats, in order.
struct ForeignSource {
    Header header = {};
    std::vector<Message> messages = {};
    std::vector<Time> times = {};
    std::vector<bool> pinned = {};
};
struct ForeignText {
    std::string text = {};
    std::vector<std::string> lost = {};
};

struct ForeignKind {
    std::string_view name;
    std::string_view help;
    bool (*looks_like)(std::string_view text);
    Result<ForeignConversation> (*read)(std::string_view text);
    Result<ForeignText> (*write)(const ForeignSource& source);
};
std::span<const ForeignKind> foreign_kinds();

// By name; "" finds out by itself. invalid_request names the kinds that there are.
Result<ForeignConversation> read_foreign(std::string_view name, std::string_view text);
Result<ForeignText> write_foreign(std::string_view name, const ForeignSource& source);

// ---- the rows -----------------------------------------------------------------------------------

Result<ForeignConversation> read_goaitools(std::string_view text);
Result<ForeignText> write_goaitools(const ForeignSource& source);
Result<ForeignConversation> read_ailoop(std::string_view text);
Result<ForeignText> write_ailoop(const ForeignSource& source);
Result<ForeignConversation> read_promptkit(std::string_view text);
Result<ForeignText> write_promptkit(const ForeignSource& source);
Result<ForeignConversation> read_koog(std::string_view text);
Result<ForeignText> write_koog(const ForeignSource& source);
Result<ForeignConversation> read_claude_code(std::string_view text);
Result<ForeignText> write_claude_code(const ForeignSource& source);
Result<ForeignConversation> read_codex(std::string_view text);
Result<ForeignText> write_codex(const ForeignSource& source);

}  // namespace palimpsest
