#include "core/wordpiece.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"

namespace palimpsest {
namespace {

constexpr std::size_t word_characters_max = 100;  // A longer word is unknown.

bool is_blank(std::int32_t c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

// Ideographs are words of their own.
bool is_ideograph(std::int32_t c) {
    static constexpr std::pair<std::int32_t, std::int32_t> ranges[] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    if (c < 0x3400) return false;
    return std::ranges::any_of(ranges, [c](auto r) { return c >= r.first && c <= r.second; });
}

bool is_left_out(std::int32_t c) {
    if (c == 0 || c == 0xfffd) return true;
    const auto category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(std::int32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~');
    const auto category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// The code points that it is written as when its accents are taken off.
template <class Use>
void bare_characters(std::int32_t code, Use use) {
    if (code < 0x80) return use(code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code);
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(code, parts, 32, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < count && i < 32; ++i)
        if (utf8proc_category(parts[i]) != UTF8PROC_CATEGORY_MN) use(utf8proc_tolower(parts[i]));
}

}  // namespace

Result<WordPiece> WordPiece::open(std::string_view tokenizer_json) {
    const auto wrong = [](std::string_view what) {
        return fail(ErrorCode::invalid_request,
                    "the tokenizer file " + std::string(what) + "; it must be of type WordPiece");
    };
    PAL_TRY(document, parse_json(tokenizer_json));
    const auto model = document.root().find("model");
    const auto vocabulary = model ? model->find("vocab") : std::nullopt;
    if (!vocabulary || !vocabulary->is_object()) return wrong("has no vocabulary");
    WordPiece made;
    std::size_t special = 0;
    for (const JsonMember& member : vocabulary->members()) {
        const auto id = member.value.integer().value_or(-1);
        if (id < 0 || id >= INT32_MAX) return wrong("has a piece without an id");
        const auto number = static_cast<std::uint32_t>(id);
        const bool follows = member.key.starts_with("##") && member.key.size() > 2;
        (follows ? made.others_ : made.firsts_).emplace(member.key.substr(follows ? 2 : 0), number);
        for (const auto& [name, place] :
             {std::pair{"[UNK]", &made.unknown_}, {"[CLS]", &made.begin_}, {"[SEP]", &made.end_}})
            if (member.key == name) *place = number, ++special;
    }
    if (special != 3) return wrong("lacks [UNK], [CLS] or [SEP]");
    return made;
}

bool WordPiece::take_pieces(const Word& word, std::vector<std::uint32_t>& out) const {
    const std::string_view text = word.text;
    std::size_t begin = 0, character = 0;
    while (begin < text.size()) {
        const Pieces& pieces = begin == 0 ? firsts_ : others_;
        std::size_t end = word.ends.size();
        auto found = pieces.end();
        for (; end > character && found == pieces.end(); --end)
            found = pieces.find(text.substr(begin, word.ends[end - 1] - begin));
        if (found == pieces.end()) return false;
        out.push_back(found->second);
        begin = word.ends[end];
        character = end + 1;
    }
    return true;
}

void WordPiece::end_word(Word& word, std::vector<std::uint32_t>& out) const {
    if (word.ends.empty()) return;
    const std::size_t before = out.size();
    if (word.ends.size() > word_characters_max || !take_pieces(word, out)) {
        out.resize(before);
        out.push_back(unknown_);
    }
    word.text.clear();
    word.ends.clear();
}

std::vector<std::uint32_t> WordPiece::encode(std::string_view text, std::size_t limit) const {
    std::vector<std::uint32_t> ids = {begin_};
    Word word;
    const auto add = [&](std::int32_t code) {
        const bool alone = is_punctuation(code);
        if (alone) end_word(word, ids);
        // Beyond the limit a word's characters need not be known, only that it is too long.
        if (word.ends.size() <= word_characters_max) {
            append_utf8(word.text, static_cast<char32_t>(code));
            word.ends.push_back(static_cast<std::uint32_t>(word.text.size()));
        }
        if (alone) end_word(word, ids);
    };
    while (!text.empty() && ids.size() < limit) {
        std::int32_t code = -1;
        const auto length = utf8proc_iterate(
            reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
            static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, text.size())), &code);
        text.remove_prefix(length > 0 ? static_cast<std::size_t>(length) : 1);
        if (length <= 0 || is_left_out(code)) {
            if (is_blank(code)) end_word(word, ids);
            continue;
        }
        const bool ends = is_blank(code) || is_ideograph(code);
        if (ends) end_word(word, ids);
        if (!is_blank(code)) bare_characters(code, add);
        if (ends) end_word(word, ids);
    }
    end_word(word, ids);
    ids.resize(std::min(ids.size(), limit - 1));
    ids.push_back(end_);
    return ids;
}

}  // namespace palimpsest
