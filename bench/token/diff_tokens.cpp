// diff_tokens: compares our encodings with token ids made elsewhere; see fuzz_tiktoken.mjs.
// Reads records from standard input: u8 length and name of the encoding, u8 specials (0 text,
// 1 recognised), u32 size and the text, u32 number and the ids (little endian). Checks encode, the
// three ways to count, and that decoding gives the text back. Exit status 1 on any difference.
#include "token/counter.h"
#include "token/encoding.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace palimpsest;

namespace {

bool read(void* to, std::size_t size) {
    return std::fread(to, 1, size, stdin) == size;
}

std::uint32_t read_number() {
    std::uint32_t value = 0;
    return read(&value, sizeof value) ? value : 0;
}

struct Record {
    std::string encoding, text;
    Specials specials = Specials::as_text;
    std::vector<Token> tokens;
};

bool read_record(Record& record) {
    std::uint8_t size = 0, specials = 0;
    if (!read(&size, 1)) return false;
    record.encoding.resize(size);
    if (!read(record.encoding.data(), size) || !read(&specials, 1)) return false;
    record.specials = specials == 1 ? Specials::recognised : Specials::as_text;
    record.text.resize(read_number());
    if (!read(record.text.data(), record.text.size())) return false;
    record.tokens.resize(read_number());
    return read(record.tokens.data(), record.tokens.size() * sizeof(Token));
}

struct Checked {
    explicit Checked(std::shared_ptr<const Encoding> opened)
        : encoding(std::move(opened)), wide(*encoding, {}), plain(*encoding, {.wide = false}) {}
    std::shared_ptr<const Encoding> encoding;
    Counter wide, plain;
};

const char* difference(Checked& ours, const Record& record) {
    if (ours.encoding->encode(record.text, record.specials) != record.tokens) return "encode";
    const auto back = ours.encoding->decode(record.tokens);
    if (!back || *back != record.text) return "decode";
    if (record.specials == Specials::recognised) return nullptr;
    if (ours.wide.count(record.text) != record.tokens.size()) return "count";
    if (ours.plain.count(record.text) != record.tokens.size()) return "plain count";
    return ours.encoding->count(record.text) != record.tokens.size() ? "uncached count" : nullptr;
}

}  // namespace

int main() {
    std::map<std::string, Checked> encodings;
    for (const EncodingSpec& spec : encoding_table())
        encodings.emplace(spec.name, Checked(*open_encoding(spec.name)));
    std::size_t records = 0, wrong = 0;
    for (Record record; read_record(record); ++records) {
        const char* what = difference(encodings.at(record.encoding), record);
        if (what == nullptr || ++wrong > 20) continue;
        std::printf("%s differs in %s:", what, record.encoding.c_str());
        for (const char c : record.text.substr(0, 60))
            std::printf(" %02x", static_cast<unsigned char>(c));
        std::printf("\n");
    }
    std::printf("%zu texts, %zu differ\n", records, wrong);
    return wrong == 0 && records != 0 ? 0 : 1;
}
