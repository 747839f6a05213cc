// eval_tokens: checks the token vectors in the folder named by PAL_DATA
// (tokenizer_vectors_*.jsonl.gz: text, and per encoding the number of tokens with the ids or the
// SHA-1 of the ids joined by blanks; llamacpp_tokenizer_vectors*.jsonl.gz: cases by vocabulary, of
// which gpt-2 is r50k_base). Checks encode, decode, the counts with and without wide instructions,
// and a count that grows by seven bytes at a time. Exit status 1 on any difference, 2 without data.
#include "base/json.h"
#include "token/appending_counter.h"
#include "token/counter.h"
#include "token/encoding.h"

#include <openssl/sha.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace palimpsest;

namespace {

std::string unpack(const std::string& path) {
    std::string out;
    FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
    if (pipe == nullptr) return out;
    char buffer[65536];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    pclose(pipe);
    return out;
}

std::string sha1_of(const std::vector<Token>& ids) {
    std::string joined;
    for (const Token id : ids) joined += (joined.empty() ? "" : " ") + std::to_string(id);
    unsigned char digest[SHA_DIGEST_LENGTH];
    SHA1(reinterpret_cast<const unsigned char*>(joined.data()), joined.size(), digest);
    std::string hex;
    for (const unsigned char byte : digest) {
        constexpr char digits[] = "0123456789abcdef";
        hex += {digits[byte >> 4], digits[byte & 15]};
    }
    return hex;
}

struct Checked {
    std::string key;
    std::shared_ptr<const Encoding> encoding;
    Counter wide{*encoding, {}};
    Counter plain{*encoding, {.wide = false}};
    std::size_t vectors = 0, wrong = 0;
};

bool same_ids(const std::vector<Token>& ids, JsonValue row, const std::string& key) {
    if (const auto sha1 = row.find(key + "_sha1")) return sha1->string() == sha1_of(ids);
    const auto list = row.find(key);
    if (!list || list->size() != ids.size()) return false;
    std::size_t i = 0;
    for (const JsonValue id : list->elements())
        if (id.integer() != ids[i++]) return false;
    return true;
}

std::uint64_t growing_count(Counter& counter, std::string_view text) {
    AppendingCounter growing(counter);
    for (std::size_t at = 0; at < text.size(); at += 7) growing.append(text.substr(at, 7));
    return growing.count();
}

// Everything but the ids, which `same` tells.
void check(Checked& ours, std::string_view text, const std::vector<Token>& ids, bool same) {
    const auto back = ours.encoding->decode(ids);
    const bool right = same && back && *back == text && ours.wide.count(text) == ids.size() &&
                       ours.plain.count(text) == ids.size() &&
                       growing_count(ours.wide, text) == ids.size();
    ++ours.vectors;
    if (right) return;
    ++ours.wrong;
    std::printf("%s differs: %s\n", ours.key.c_str(), std::string(text.substr(0, 200)).c_str());
}

void check_row(Checked& ours, JsonValue row) {
    const std::string_view text = row.find("text")->string();
    const std::vector<Token> ids = ours.encoding->encode(text);
    const auto number = row.find(ours.key + "_n");
    const bool same = number && number->integer() == static_cast<std::int64_t>(ids.size()) &&
                      same_ids(ids, row, ours.key);
    check(ours, text, ids, same);
}

void check_cases(Checked& ours, JsonValue row) {
    const auto name = row.find("vocab"), cases = row.find("cases");
    if (!name || name->string() != ours.key || !cases) return;
    for (const JsonValue one : cases->elements()) {
        const std::string_view text = one.find("text")->string();
        const std::vector<Token> ids = ours.encoding->encode(text);
        check(ours, text, ids, same_ids(ids, one, "ids"));
    }
}

// The rows of a packed file, one after another.
template <class Use>
void each_row(const std::filesystem::path& path, Use use) {
    const std::string lines = unpack(path);
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        const auto row = parse_json(std::string_view(lines).substr(at, end - at));
        at = end + 1;
        if (row) use(row->root());
    }
}

}  // namespace

int main() {
    const char* folder = std::getenv("PAL_DATA");
    if (folder == nullptr) return std::fprintf(stderr, "PAL_DATA names no folder\n"), 2;
    Checked all[] = {{"o200k", *open_encoding("o200k_base")},
                     {"cl100k", *open_encoding("cl100k_base")}};
    Checked gpt2{"gpt-2", *open_encoding("r50k_base")};
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        const std::string name = file.path().filename();
        if (!name.ends_with(".jsonl.gz")) continue;
        if (name.starts_with("tokenizer_vectors"))
            each_row(file.path(), [&](JsonValue row) {
                for (Checked& ours : all) check_row(ours, row);
            });
        if (name.starts_with("llamacpp_tokenizer_vectors"))
            each_row(file.path(), [&](JsonValue row) { check_cases(gpt2, row); });
    }
    std::printf("%s: %zu vectors, %zu differ\n", gpt2.key.c_str(), gpt2.vectors, gpt2.wrong);
    std::size_t vectors = 0, wrong = 0;
    for (const Checked& ours : all) {
        std::printf("%s: %zu vectors, %zu differ\n", ours.key.c_str(), ours.vectors, ours.wrong);
        vectors += ours.vectors, wrong += ours.wrong;
    }
    return vectors == 0 ? 2 : wrong + gpt2.wrong == 0 ? 0 : 1;
}
