// Embeddings by any server that has OpenAI's /v1/embeddings, asked as models are: with their keys,
// time-outs and retries.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/json.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "model/dialects.h"
#include "palimpsest/model.h"
#include "palimpsest/search.h"

namespace palimpsest {
namespace {

constexpr std::size_t text_bytes_max = 24u << 10;  // what is longer is cut: servers refuse it

std::string request_body(std::string_view model, std::span<const std::string> texts) {
    std::string body;
    JsonWriter out(body);
    out.begin_object().field("model", model).key("input").begin_array();
    for (const std::string& text : texts) out.string(utf8_prefix(text, text_bytes_max));
    out.end_array().field("encoding_format", "float").end_object();
    return body;
}

// False when one of them is no number, or none that a vector can have.
bool read_numbers(const JsonValue& list, std::vector<float>& out) {
    for (const JsonValue element : list.elements()) {
        const auto number = element.number();
        if (!number || !std::isfinite(static_cast<float>(*number))) return false;
        out.push_back(static_cast<float>(*number));
    }
    return true;
}

class ModelEmbedder final : public Embedder {
public:
    ModelEmbedder(std::shared_ptr<Model> model, std::string_view path)
        : model_(std::move(model)), path_(path) {}

    std::string model() const override { return std::string(model_->server_name()); }
    std::size_t dimension() const override {
        const std::lock_guard lock(mutex_);
        return dimension_;
    }

    Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) override {
        const std::string body = request_body(model_->server_name(), texts);
        PAL_TRY(reply, model_->relay({.path = path_, .body = body}, {}));
        if (reply.status != 200)
            return fail(ErrorCode::upstream_failed, "the embedder " + model() + " answered " +
                                                        std::to_string(reply.status) + ": " +
                                                        reply.body.substr(0, 300));
        PAL_TRY(vectors, read_vectors(reply.body, texts.size()));
        const std::lock_guard lock(mutex_);
        if (!vectors.empty()) dimension_ = vectors.front().size();
        return vectors;
    }

private:
    Result<std::vector<std::vector<float>>> read_vectors(std::string_view body,
                                                         std::size_t count) const {
        const auto wrong = [&](std::string_view what) {
            return fail(ErrorCode::upstream_failed,
                        "the embedder " + model() + " gave " + std::string(what));
        };
        const auto document = parse_json(body);
        const auto data = document ? document->root().find("data") : std::nullopt;
        if (!data || data->size() != count) return wrong("no list of as many vectors as texts");
        std::vector<std::vector<float>> vectors(count);
        std::size_t next = 0;
        for (const JsonValue row : data->elements()) {
            const auto index = row.find("index");
            const auto place =
                index ? index->integer().value_or(-1) : static_cast<std::int64_t>(next);
            const auto vector = row.find("embedding");
            ++next;
            if (!vector || place < 0 || place >= static_cast<std::int64_t>(count))
                return wrong("a row that is no vector");
            std::vector<float>& row_of = vectors[static_cast<std::size_t>(place)];
            if (!row_of.empty()) return wrong("two vectors for one text");
            if (!read_numbers(*vector, row_of)) return wrong("a vector with what is no number");
        }
        const auto has_none = [](const auto& one) { return one.empty(); };
        if (std::ranges::any_of(vectors, has_none)) return wrong("an empty vector");
        const auto is_zero = [](const auto& one) {
            return std::ranges::none_of(one, [](float number) { return number != 0; });
        };
        if (std::ranges::any_of(vectors, is_zero)) return wrong("a vector of zeros");
        return vectors;
    }

    std::shared_ptr<Model> model_;
    std::string path_;
    mutable std::mutex mutex_;  // Guards dimension_.
    std::size_t dimension_ = 0;
};

}  // namespace

Result<std::shared_ptr<Embedder>> make_model_embedder(std::shared_ptr<Model> model) {
    const std::string_view path = dialect_of(model->format()).embeddings_path;
    if (path.empty())
        return fail(ErrorCode::invalid_request,
                    "the server of the model " + std::string(model->name()) +
                        " makes no embeddings; name one that does",
                    "embedder");
    return std::shared_ptr<Embedder>(std::make_shared<ModelEmbedder>(std::move(model), path));
}

}  // namespace palimpsest
