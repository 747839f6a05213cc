// How much of a model's window a view takes: counted with the model's own tokenizer where that is
// another than the one that messages are counted with when they are stored.
//
// Views counted so are kept, one for each conversation and encoding, and go on from there: a turn
// counts what is new of what it shows, and nothing that the view no longer has. May be used by many
// threads.
#pragma once
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/hot_views.h"
#include "engine/model_table.h"
#include "engine/pooled_tokenizer.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

class Measures {
public:
    Measures(std::shared_ptr<const Tokenizer> usual, const ModelTable& models,
             std::size_t bytes_max)
        : usual_(std::move(usual)), models_(models), bytes_max_(bytes_max) {}

    // The usual one for no model. For a model whose vocabulary is not public, and where the usual
    // one is the user's own, it counts texts; images are counted by the model's rules.
    const Tokenizer& tokenizer(std::string_view model);
    // The same view, its items and totals counted by the model's tokenizer. The view must be one of
    // the store: nothing in it that is not written yet.
    HotViewPtr view(std::string_view model, const HotViewPtr& usual);
    void drop(const ConversationId& name);

private:
    struct Other {
        std::shared_ptr<const PooledTokenizer> tokenizer;
        std::unique_ptr<HotViews> views;
    };
    Other* find(std::string_view model);  // null: the usual one

    const std::shared_ptr<const Tokenizer> usual_;
    const ModelTable& models_;
    const std::size_t bytes_max_;
    std::mutex mutex_;  // Guards the list; what it points to stays where it is.
    std::vector<std::unique_ptr<Other>> others_;
};

// As the tokenizer counts it. What cannot be read keeps its count.
Item recounted(const Tokenizer& tokenizer, Item item);
View recounted(const Tokenizer& tokenizer, const View& view);

}  // namespace palimpsest
