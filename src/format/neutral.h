// What all formats have in common: a message as a role and parts, each of one of eleven kinds.
//
// A format reads its JSON into this and writes this as its JSON; shape, fingerprint, parts,
// conversion, validation and repair are then written once. Views point into the text that was
// parsed, into the document's arena, or into the NeutralMessage's own strings.
#pragma once
#include <forward_list>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/message.h"

namespace palimpsest {

enum class PartKind : std::uint8_t {
    text,
    refusal,
    image,
    document,
    audio,
    tool_call,
    tool_result,
    reasoning,
    compaction,
    opaque,
    speech,  // what a model spoke: kept by its provider under an id, with the words
};

enum class SourceKind : std::uint8_t { none, url, base64, file_id, text };

struct NeutralPart {
    PartKind kind = PartKind::opaque;
    SourceKind source_kind = SourceKind::none;
    bool is_error = false;   // tool_result: the tool failed
    bool custom = false;     // call, result: the input is free text, not JSON
    bool server = false;     // call, result: carried out by the provider; needs no answer from us
    bool builtin = false;    // call, result: a tool the provider defines and the client carries out
    bool annotated = false;  // text: with citations or annotations
    bool field = false;      // a field of the message, which `type` names, not of its content
    std::string_view type = {};  // the provider's own name of it
    std::string_view text = {};  // text, refusal, reasoning, speech; the joined text of a result
    std::string_view id = {};    // of the call that is made or answered
    std::string_view name = {};  // of the tool; of the file
    std::string_view arguments = {};      // JSON text, or free text of a custom tool
    std::string_view signature = {};      // what binds reasoning or a compaction to its maker
    std::string_view source = {};         // media: URL, base64 data, file id or text; speech: id
    std::string_view media_type = {};     // media: e.g. image/png
    std::string_view detail = {};         // image: how closely it is to be looked at; usual: auto
    std::string_view content = {};        // tool_result: the raw JSON of its content
    std::string_view json = {};           // the whole part as it came in
    std::int64_t expires_s = 0;           // speech: its provider forgets it then; 0: not known
    std::vector<NeutralPart> inner = {};  // tool_result: the parts of its content; what a call made
};

struct NeutralMessage {
    Role role = Role::user;
    std::string_view role_text = {};  // as it was written; empty: the format's usual word
    std::vector<NeutralPart> parts = {};
    bool empty_calls = false;  // an empty list of calls is there, which Chat Completions refuses
    std::forward_list<std::string> strings = {};  // what no document holds

    // Empty again, with the memory it has.
    void clear() {
        role = Role::user;
        role_text = {};
        parts.clear();
        empty_calls = false;
        strings.clear();
    }
    // Keeps `text` for as long as the message lives.
    std::string_view keep(std::string text) { return strings.emplace_front(std::move(text)); }
};

// A call or result that the client, not the provider, carries out.
inline bool is_client_call(const NeutralPart& part) {
    return part.kind == PartKind::tool_call && !part.server;
}
inline bool is_client_result(const NeutralPart& part) {
    return part.kind == PartKind::tool_result && !part.server;
}
// Of a tool that the client itself defined: these go over to every format.
inline bool is_function_call(const NeutralPart& part) {
    return is_client_call(part) && !part.builtin;
}
inline bool is_function_result(const NeutralPart& part) {
    return is_client_result(part) && !part.builtin;
}

// `shape` is a fresh one.
void set_shape(Shape& shape, const NeutralMessage& message);
// `room` is memory to work in; what it holds before and after does not matter.
Fingerprint fingerprint_of(const NeutralMessage& message, std::string& room);

}  // namespace palimpsest
