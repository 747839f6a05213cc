// Server-sent events, fed in any pieces. Lines end with LF, CR LF or CR; comments are skipped.
#pragma once
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest {

class SseParser {
public:
    // Calls `on_event(name, data)` (a Result<void>) for every event that `bytes` completes.
    template <class OnEvent>
    Result<void> feed(std::string_view bytes, OnEvent&& on_event) {
        for (const char c : bytes) {
            if (c == '\n' && after_cr_) {
                after_cr_ = false;
                continue;
            }
            after_cr_ = c == '\r';
            if (c != '\n' && c != '\r') {
                line_ += c;
                continue;
            }
            if (line_.empty())
                PAL_CHECK(dispatch(on_event));
            else
                take_line();
        }
        return {};
    }

    // An event whose closing empty line never came is handed over all the same: some servers leave
    // it out at the end. One that cannot be read is the half of an event that a cut leaves.
    template <class OnEvent>
    Result<void> finish(OnEvent&& on_event) {
        if (!line_.empty()) take_line();
        Result<void> done = dispatch(on_event);
        if (!done && done.error().code == ErrorCode::invalid_request) return {};
        return done;
    }

private:
    template <class OnEvent>
    Result<void> dispatch(OnEvent&& on_event) {
        if (!has_data_) {
            name_.clear();
            return {};
        }
        const std::string name = std::move(name_), data = std::move(data_);
        name_.clear();
        data_.clear();
        has_data_ = false;
        return on_event(std::string_view(name), std::string_view(data));
    }
    void take_line();

    std::string line_, name_, data_;
    bool has_data_ = false, after_cr_ = false;
};

// Whether an event stream can begin with these bytes.
bool may_begin_events(std::string_view bytes);

// One event as bytes; without a name when it is empty.
std::string sse_event(std::string_view name, std::string_view data);

}  // namespace palimpsest
