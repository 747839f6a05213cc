// list_reply: {"data":[...],"has_more","first_id","last_id"}, built row by row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_write.h"
#include "server/route.h"

namespace palimpsest {

// A page ends behind the row that brings it to so many bytes, so that no list is held in memory
// whole for a client that reads slowly.
constexpr std::size_t page_bytes_max = std::size_t{32} << 20;

// Rows come from the start of the page on, or from its end where that is the place which the client
// named: what has no room is what lies farthest from there.
class ListReply {
public:
    enum class From : std::uint8_t { start, end };

    explicit ListReply(From from = From::start) : ListReply({}, from) {}
    // With "object" first, as OpenAI has it; "": without.
    explicit ListReply(std::string_view object, From from = From::start);
    // False: the page has its bytes. What is left is for the next one, and end() says so.
    bool has_room();
    // Where to write the next row's JSON.
    JsonWriter& row(std::string id);
    bool is_cut() const { return cut_; }
    bool empty() const { return starts_.empty(); }
    // `next`: the store's own cursor, where it has one.
    RouteReply end(bool has_more, std::string_view next = {});

private:
    void turn_round();

    RouteReply reply_;
    JsonWriter out_;
    const From from_;
    std::vector<std::size_t> starts_ = {};  // of rows, each with the comma before it
    std::string first_, last_;
    bool cut_ = false;
};

}  // namespace palimpsest
