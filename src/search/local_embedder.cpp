// An embedder inside of the process: an encoder (encoder.h) over a mapped file, and its vocabulary.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "core/wordpiece.h"
#include "palimpsest/search.h"
#include "search/encoder.h"

namespace palimpsest {
namespace {

// What a file does not say about its model, by the file's name.
struct KnownModel {
    std::string_view name;
    Pooling pooling;
    std::size_t tokens_max;
    std::string_view before_query, before_passage;
};
constexpr KnownModel known_models[] = {
    {"all-minilm-l6-v2", Pooling::mean, 256, "", ""},
    {"bge-small-en-v1.5", Pooling::first, 512,
     "Represent this sentence for searching relevant passages: ", ""},
    {"e5-small-v2", Pooling::mean, 512, "query: ", "passage: "},
};
constexpr KnownModel any_model = {"", Pooling::mean, 512, "", ""};

const KnownModel& known_model(std::string_view name) {
    const auto* const found = std::ranges::find(known_models, name, &KnownModel::name);
    return found == std::end(known_models) ? any_model : *found;
}

// A file's bytes, read when they are used and shared between processes.
class MappedFile {
public:
    static Result<MappedFile> open(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat facts = {};
        if (file < 0 || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            const std::string why = file < 0 ? std::strerror(errno) : "it is no file";
            if (file >= 0) ::close(file);
            return fail(ErrorCode::not_found, "cannot read " + path + ": " + why, "embedder_file");
        }
        const auto size = static_cast<std::size_t>(facts.st_size);
        void* const bytes =
            size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        ::close(file);
        if (bytes == MAP_FAILED)
            return fail(ErrorCode::invalid_request, "cannot map " + path, "embedder_file");
        return MappedFile(static_cast<const char*>(bytes), size);
    }
    MappedFile(MappedFile&& other) noexcept
        : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile() {
        if (bytes_) ::munmap(const_cast<char*>(bytes_), size_);
    }
    std::string_view bytes() const { return {bytes_, size_}; }

private:
    MappedFile(const char* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
    const char* bytes_ = nullptr;
    std::size_t size_ = 0;
};

class LocalEmbedder final : public Embedder {
public:
    LocalEmbedder(MappedFile file, WordPiece pieces, Encoder encoder, const KnownModel& known,
                  const std::string& name)
        : file_(std::move(file)),
          pieces_(std::move(pieces)),
          encoder_(std::move(encoder)),
          known_(known),
          // Another file under the same name is another model.
          name_(fmt::format("{}@{:08x}", name, hash_bytes(file_.bytes()).low >> 32)) {}

    std::string model() const override { return name_; }
    std::size_t dimension() const override { return encoder_.dimension(); }

    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        return encode(texts, known_.before_passage);
    }
    Result<std::vector<std::vector<float>>> embed_queries(
        std::span<const std::string> texts) override {
        return encode(texts, known_.before_query);
    }

private:
    std::vector<std::vector<float>> encode(std::span<const std::string> texts,
                                           std::string_view before) const {
        const std::size_t limit = std::min(known_.tokens_max, encoder_.tokens_max());
        std::vector<std::vector<float>> vectors;
        vectors.reserve(texts.size());
        for (const std::string& text : texts)
            vectors.push_back(encoder_.encode(pieces_.encode(std::string(before) + text, limit)));
        return vectors;
    }

    MappedFile file_;
    WordPiece pieces_;
    Encoder encoder_;
    const KnownModel& known_;
    std::string name_;
};

}  // namespace

Result<std::shared_ptr<Embedder>> make_local_embedder(const std::string& file) {
    const std::filesystem::path path(file);
    const std::string name = path.stem().string();
    const KnownModel& known = known_model(name);
    PAL_TRY(weights, MappedFile::open(file));
    const auto beside = path.parent_path() / (name + "-tokenizer.json");
    PAL_TRY(tokenizer, MappedFile::open(beside.string()));
    const auto explain = [&](const Error& error) {
        return fail(error.code, file + ": " + error.message, "embedder_file");
    };
    auto pieces = WordPiece::open(tokenizer.bytes());
    if (!pieces) return explain(pieces.error());
    auto encoder = Encoder::open(weights.bytes(), known.pooling);
    if (!encoder) return explain(encoder.error());
    return std::shared_ptr<Embedder>(std::make_shared<LocalEmbedder>(
        std::move(weights), *std::move(pieces), *std::move(encoder), known, name));
}

}  // namespace palimpsest
