// Conversations of other programs: read into messages of one of our formats, and written back.
//
// What has no place on the other side is named in `lost`, never dropped silently. A new kind is a
// reader, a writer and a row in foreign.cpp; foreign_parts.h has what they share.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/format.h"
#include "palimpsest/store.h"
#include "store/promptkit_redis.h"

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
    bool edited = false;  // the view leaves out or rewrites some of them
};
struct ForeignText {
    std::string text = {};
    std::vector<std::string> lost = {};
};

// What a kind carries of the header and beside the messages.
struct Carried {
    bool owner = false, title = false, metadata = false, pins = false;
    std::string_view keys = {};  // of the metadata: what its own import left there
};

struct ForeignKind {
    std::string_view name;
    std::string_view help;
    bool (*looks_like)(std::string_view text);
    Result<ForeignConversation> (*read)(std::string_view text);
    Result<ForeignText> (*write)(const ForeignSource& source);
    Carried carried = {};
};
std::span<const ForeignKind> foreign_kinds();

// A line for each kind: its name and what it is.
std::string foreign_kinds_help();

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
Result<ForeignText> write_promptkit_parts(const ForeignSource& source);
// For its folder or its Redis; what is not carried is added to `lost`.
Result<PromptkitState> promptkit_state(const ForeignSource& source, std::vector<std::string>& lost);
Result<ForeignConversation> read_koog(std::string_view text);
Result<ForeignText> write_koog(const ForeignSource& source);
Result<ForeignConversation> read_claude_code(std::string_view text);
Result<ForeignText> write_claude_code(const ForeignSource& source);
Result<ForeignConversation> read_codex(std::string_view text);
Result<ForeignText> write_codex(const ForeignSource& source);
Result<ForeignConversation> read_responses_items(std::string_view text);
Result<ForeignText> write_responses_items(const ForeignSource& source);
Result<ForeignConversation> read_anthropic_messages(std::string_view text);
Result<ForeignText> write_anthropic_messages(const ForeignSource& source);
Result<ForeignConversation> read_chat_messages(std::string_view text);
Result<ForeignText> write_chat_messages(const ForeignSource& source);

}  // namespace palimpsest
