// Entry bodies as bytes, the same for every store. docs/FORMATS.md has the layout.
//
// A body becomes two pieces: `meta`, small, everything but what people said; and `payload`, the
// message's raw JSON, the edits' results, a note's text. So a reader that needs positions only
// never touches content. The first byte of meta is the version: an unknown one is an error, never
// a guess.
#pragma once
#include <string>
#include <string_view>

#include "palimpsest/entry.h"
#include "palimpsest/error.h"

namespace palimpsest {

struct EncodedBody {
    std::string meta;
    Bytes payload;  // null when there is none
};
EncodedBody encode_body(const Body& body);

// `payload` null means "read without content": raw, results and note bodies stay null.
Result<Body> decode_body(EntryKind kind, std::string_view meta, const Bytes& payload);

}  // namespace palimpsest
