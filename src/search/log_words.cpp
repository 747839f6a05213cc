#include "search/log_words.h"

#include <algorithm>

#include "core/recollect.h"
#include "search/message_text.h"
#include "search/stored_parts.h"

namespace palimpsest {
namespace {

constexpr std::size_t page_messages = 500;
constexpr std::size_t save_messages = 32;  // fewer new ones are not worth a write
constexpr std::size_t calls_max = 4096;
constexpr std::uint64_t look_back = 32;  // entries, for the calls of results

}  // namespace

IndexedLog LogWords::facts() const {
    return {words_.messages().size(), words_.words(), words_.bytes(), sealed_};
}

Result<void> LogWords::update(Store& store, const Header& header, Stemmer& stemmer) {
    if (is_current(header)) return {};
    if (known_ && epoch_ != header.epoch) {
        words_ = WordIndex();
        known_ = false;
        calls_.clear();
        lookups_.clear();
    }
    if (!known_) load(store, header);
    PAL_CHECK(read_new(store, header, stemmer));
    const std::size_t fresh = words_.messages().size() - kept_messages_;
    if (keep_ && fresh >= std::max(save_messages, kept_messages_ / 4))
        (void)save(store, header);  // A copy: without it the log is read again.
    return {};
}

void LogWords::load(Store& store, const Header& header) {
    known_ = true;
    epoch_ = header.epoch;
    upto_ = header.base;
    kept_messages_ = 0;
    sealed_ = 0;
    from_copy_ = false;
    if (!keep_) return;
    auto stored = load_parts(store, words_space, header);
    if (!stored) return;
    auto words = WordIndex::open(std::move(stored->bytes));
    if (!words) return;
    words_ = *std::move(words);
    upto_ = Seq{stored->state.upto};
    sealed_ = stored->state.extra;
    kept_messages_ = words_.messages().size();
    from_copy_ = true;
}

Result<void> LogWords::read_new(Store& store, const Header& header, Stemmer& stemmer) {
    // The calls that the first new results answer may be known already.
    Seq from = upto_ + 1;
    if (from_copy_) from = std::max(header.base, upto_ - look_back) + 1;
    while (from <= header.end) {
        ReadQuery query{.ranges = {{from, header.end}}, .kinds = only(EntryKind::message)};
        query.limit = page_messages;
        PAL_TRY(entries, store.read(header.log, query));
        for (const Entry& entry : entries) {
            add(entry, stemmer, entry.seq > upto_);
            upto_ = std::max(upto_, entry.seq);
        }
        if (entries.size() < page_messages) break;
        from = entries.back().seq + 1;
    }
    upto_ = std::max(upto_, header.end);
    from_copy_ = false;
    return {};
}

void LogWords::add(const Entry& entry, Stemmer& stemmer, bool index) {
    const auto* said = std::get_if<MessageEntry>(&entry.body);
    if (!said) {
        sealed_ += index;
        return;
    }
    if (is_recalled(said->message)) return;  // Its words are found where they were said.
    const SearchText text = search_text(said->message, lookups_);
    if (calls_.size() > calls_max) calls_.clear();
    if (lookups_.size() > calls_max) lookups_.clear();
    lookups_.insert(text.lookups.begin(), text.lookups.end());
    const Shape& shape = said->message.shape;
    IndexedText message{entry.seq, entry.at, shape.role, text.text, {}, !shape.results.empty()};
    for (const SearchText::ToolUse& use : text.tools) {
        if (!use.name.empty()) calls_[use.id] = use.name;
        if (const auto name = calls_.find(use.id); name != calls_.end())
            message.tools.push_back(name->second);
    }
    if (index) words_.add(message, stemmer);
}

Result<void> LogWords::save(Store& store, const Header& header) {
    if (!keep_ || words_.messages().empty()) return {};
    PAL_CHECK(
        save_parts(store, words_space, header, {epoch_, upto_.value, sealed_}, words_.freeze()));
    kept_messages_ = words_.messages().size();
    return {};
}

}  // namespace palimpsest
