// openai_items: a conversation's messages as the items of OpenAI's Conversations and Responses.
//
// The log keeps messages in whatever format they came; here each is shown as one item or more. An
// item's id says where it stands, so any server finds it without an index: what was said is
// PREFIX_ + log + seq (and _N for the later ones of a message), what a model answered is PREFIX_ +
// the id of its response + _N, which is what its stream said before the answer was stored.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "palimpsest/store.h"

namespace palimpsest {

constexpr FormatId item_format = FormatId::openai_responses;

struct ShownItem {
    std::string id = {};
    std::string json = {};
    Seq seq = {};          // of the entry that holds it
    std::string raw = {};  // as it came, where it is stored as an item
};

// An item that a client handed in, as OpenAI gives it back: with its id, type and status, its
// content a list of parts.
std::string normal_item(JsonValue item, std::string_view id);

// The items of a message that was said, or put in by hand.
std::vector<ShownItem> said_items(const LogId& log, Seq seq, const Message& message);

std::string output_item_id(std::string_view response_id, std::string_view type, std::size_t index);

// The items of an answer, in the order of its stream. Of one in another format: texts and pieces of
// reasoning that follow each other are one. `seqs` are those of the messages, or empty.
std::vector<ShownItem> output_items(std::string_view response_id, std::span<const Message> messages,
                                    std::span<const Seq> seqs = {});

struct ItemQuery {
    Seq upto = seq_max;
    std::size_t limit = 20;
    bool newest_first = true;
    // The ids of items, one of them: the page behind it, or the one that ends before it.
    std::string after = {}, before = {};
};
struct ItemPage {
    std::vector<ShownItem> items = {};
    bool has_more = false;
};
// What a person has hidden is not listed; what a compaction left out is. A page ends
// early when it has page_bytes_max. Cost: about what it gives.
Result<ItemPage> list_items(Store& store, const Header& header, const ItemQuery& query);

// Hidden ones too. not_found when this conversation has no such item.
Result<ShownItem> find_item(Store& store, const Header& header, std::string_view id);
// The same, but not_found also when a person has hidden it.
Result<ShownItem> shown_item(Store& store, const Header& header, std::string_view id);
// The log that the item is in, for finding its conversation; none: not an id of ours.
std::optional<LogId> log_of_item(std::string_view id);

// {"object":"list","data":[...],"has_more","first_id","last_id"}
std::string write_item_list(const ItemPage& page);

}  // namespace palimpsest
