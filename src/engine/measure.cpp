#include "engine/measure.h"

#include <algorithm>

#include "engine/count.h"

namespace palimpsest {
namespace {

std::vector<Item> recounted_from(const Tokenizer& tokenizer, std::span<const Item> items, Seq end) {
    std::vector<Item> out;
    for (const Item& item : items)
        if (item.range.from > end) out.push_back(recounted(tokenizer, item));
    std::ranges::stable_sort(out, {}, [](const Item& item) { return item.range.from; });
    return out;
}

}  // namespace

void Measures::drop(const ConversationId& name) {
    const std::lock_guard lock(mutex_);
    for (const auto& other : others_) other->views->drop(name);
}

Measures::Other* Measures::find(std::string_view model) {
    const bool is_chosen =
        usual_->scheme() >= scheme_own_first || usual_->scheme() == scheme_approx;
    if (model.empty()) return nullptr;
    const ModelSpec& spec = models_.find(model);
    const bool usual = is_chosen || !spec.exact || spec.encoding == usual_->name();
    if (usual && spec.images == ImageRule{}) return nullptr;
    const std::string_view name = usual ? usual_->name() : spec.encoding;
    const std::lock_guard lock(mutex_);
    for (const auto& other : others_)
        if (other->tokenizer->name() == name && other->tokenizer->images() == spec.images)
            return other.get();
    std::shared_ptr<const Tokenizer> texts = usual_;
    if (!usual) {
        auto opened = open_tokenizer(name);
        if (!opened) return nullptr;
        texts = *std::move(opened);
    }
    others_.push_back(std::make_unique<Other>(
        Other{std::make_shared<PooledTokenizer>(std::move(texts), spec.images),
              std::make_unique<HotViews>(bytes_max_)}));
    return others_.back().get();
}

const Tokenizer& Measures::tokenizer(std::string_view model) {
    const Other* other = find(model);
    return other ? *other->tokenizer : *usual_;
}

HotViewPtr Measures::view(std::string_view model, const HotViewPtr& usual) {
    const Other* other = find(model);
    if (!other) return usual;
    const bool same_texts = other->tokenizer->scheme() == usual_->scheme();
    if (same_texts && usual->totals.media == 0) return usual;
    const HotViewPtr known = other->views->find(usual->header.name);
    const bool good = known && known->leads_to(usual->header);
    if (good && known->header.end == usual->header.end) return known;
    const Tokenizer& tokenizer = *other->tokenizer;
    const auto measured = std::make_shared<const HotView>(
        good ? extended(*known, usual->header,
                        recounted_from(tokenizer, usual->items, known->header.end))
             : make_hot(recounted(tokenizer, usual->view())));
    other->views->put(measured);
    return measured;
}

Item recounted(const Tokenizer& tokenizer, Item item) {
    // Media are counted otherwise by each model.
    if (item.message.count.scheme == tokenizer.scheme() && item.message.shape.media == 0)
        return item;
    const auto count = count_message(tokenizer, item.message);
    if (!count) return item;
    item.tokens = count->tokens;
    item.message.count = *count;
    return item;
}

View recounted(const Tokenizer& tokenizer, const View& view) {
    std::vector<Item> items;
    items.reserve(view.items.size());
    for (const Item& item : view.items) items.push_back(recounted(tokenizer, item));
    View out = view;
    out.items = std::move(items);
    out.totals = totals_of(out.items);
    out.tokens = out.totals.tokens;
    return out;
}

}  // namespace palimpsest
