// Cutting the middle out of a text.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace palimpsest {

constexpr std::string_view left_out_mark = "\u27e6left out: ";  // how the note begins

// Head and tail of `text` with a note between them that says exactly what was left out (bytes, and
// lines where whole lines went), all of it within `most` tokens by `count`. Cuts fall on code
// points, and on line ends where one is near. A text that fits comes back as it is; the note alone
// when nothing else fits. Of a text that was cut before the notes that go, or stay, count as what
// they say is missing: the new one's numbers are of the text as it once was.
std::string shorten_text(std::string_view text, std::size_t most,
                         const std::function<std::size_t(std::string_view)>& count);

}  // namespace palimpsest
