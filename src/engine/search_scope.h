// Which logs a search looks into. A conversation sees its own log and what it was forked from, up
// to the fork; over many conversations each log is searched once.
#pragma once
#include <vector>

#include "palimpsest/search.h"

namespace palimpsest {

struct SearchPlace {
    IndexScope scope = {};
    Header shown = {};  // the conversation that its messages are shown as
    // Others that have it up to a seq: each has a view of its own.
    struct Sharer {
        Header header = {};
        Seq upto = {};
    };
    std::vector<Sharer> sharers = {};
};

// not_found when the conversation that is named is not there.
Result<std::vector<SearchPlace>> search_places(Store& store, const SearchRequest& request);

// What is wrong with one conversation, damage or a lost key, is no reason to find nothing in
// others.
bool is_fault_of_one(const Error& error);

// How many conversations they are, which may share logs.
std::size_t conversations_of(const std::vector<SearchPlace>& places);

// Every conversation of the tenant (or of one owner), also nameless logs that forks stand on.
Result<std::vector<Header>> all_headers(Store& store, const ListQuery& query);

}  // namespace palimpsest
