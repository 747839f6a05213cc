// refusal: what a model's server said when it did not answer, as one of our errors.
#pragma once
#include <string>
#include <string_view>

#include "net/message.h"
#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

// rate_limited (429), unavailable (overloaded: 503, 529), upstream_failed (all else), each with the
// provider's own words and the field that it complains about. `secret` is taken out of them. A
// request that is longer than the model's window is_context_overflow(), see model.h.
Error refusal_of(std::string_view server, const HttpResponse& response, std::string_view secret);
// The same for an error event inside a stream, and for an answer that is an error object.
Error refusal_of_event(std::string_view server, const Error& event, std::string_view secret);
// The same for a 2xx answer that cannot be read: says what came and where to look.
struct Unreadable {
    std::string type = {};  // Content-Type
    std::string head = {};  // the first bytes
    std::size_t bytes = 0;
    std::string why = {};
};
Error refusal_of_unreadable(std::string_view server, const Unreadable& answer,
                            std::string_view secret);

// The status that refusal_of() made the error of; 0: it is no such error.
int refused_status(const Error& error);

// Adds to the message how long the server asks to wait, where it does; refused_wait_s() finds it
// there. 0: it does not say.
void add_wait(Error& error, const HttpResponse& response, Time now);
int refused_wait_s(const Error& error);

// The text with "[key]" wherever the secret stands.
std::string without_secret(std::string text, std::string_view secret);

// How long the server asks to wait, in milliseconds; 0: it does not say; -1: so long that whoever
// waits for an answer should be told instead.
int retry_after_ms(const HttpResponse& response, Time now);
// Whether the same request may be sent again: too many requests, overload, a failure of the server.
bool may_send_again(const HttpResponse& response);

}  // namespace palimpsest
