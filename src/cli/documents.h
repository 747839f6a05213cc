// The JSON texts of an input: one, or one per line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "palimpsest/format.h"

namespace palimpsest {

struct InputDocument {
    std::size_t line = 0;  // from 1; 0 when the input is one document
    std::string_view json;
    // Where it is, to stand before what is said about it: "line 3, ", or nothing.
    std::string place() const { return line > 0 ? "line " + std::to_string(line) + ", " : ""; }
};

// With `lines`, or when there are more lines than one and the first is JSON by itself (or the whole
// is none and any line is an object or a list by itself): one per line that is not blank. Views
// into `text`.
std::vector<InputDocument> split_documents(std::string_view text, bool lines);

// The file that is the command's only argument (or standard input), read before the command runs.
Result<void> prepare_document(Invocation& call);

// JSON that goes out as it is, byte for byte; on a terminal made safe and put on one line.
void print_document(Output& out, std::string json);

// The format that a flag names; it must be given.
Result<FormatId> format_flag(const Arguments& arguments, std::string_view flag);

}  // namespace palimpsest
