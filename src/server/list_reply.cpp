#include "server/list_reply.h"

#include <utility>

namespace palimpsest {

ListReply::ListReply(std::string_view object, From from) : out_(reply_.body), from_(from) {
    out_.begin_object();
    if (!object.empty()) out_.field("object", object);
    out_.key("data").begin_array();
}

bool ListReply::has_room() {
    cut_ = cut_ || reply_.body.size() >= page_bytes_max;
    return !cut_;
}

JsonWriter& ListReply::row(std::string id) {
    starts_.push_back(reply_.body.size());
    if (first_.empty()) first_ = id;
    last_ = std::move(id);
    return out_;
}

void ListReply::turn_round() {
    if (starts_.empty()) return;
    const std::string_view body = reply_.body;
    std::string turned(body.substr(0, starts_.front()));
    turned.reserve(body.size() + 1024);
    std::size_t end = body.size();
    for (std::size_t i = starts_.size(); i-- > 0; end = starts_[i]) {
        std::string_view row = body.substr(starts_[i], end - starts_[i]);
        if (row.starts_with(',')) row.remove_prefix(1);
        if (i + 1 < starts_.size()) turned += ',';
        turned += row;
    }
    reply_.body = std::move(turned);
    std::swap(first_, last_);
}

RouteReply ListReply::end(bool has_more, std::string_view next) {
    if (from_ == From::end) turn_round();
    const auto id = [&](std::string_view name, const std::string& value) {
        out_.key(name);
        value.empty() ? out_.null() : out_.string(value);
    };
    out_.end_array().key("has_more").boolean(has_more || cut_);
    id("first_id", first_);
    id("last_id", last_);
    if (!next.empty()) out_.field("next", next);
    out_.end_object();
    return std::move(reply_);
}

}  // namespace palimpsest
