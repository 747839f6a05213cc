// What a model without a server answers to those who want to talk to one.
#include "palimpsest/model.h"

namespace palimpsest {

Result<RelayReply> Model::relay(const RelayRequest&, const std::function<bool(std::string_view)>&) {
    return fail(ErrorCode::unprocessable,
                "the model " + std::string(name()) + " has no server to pass a request on to",
                "model");
}

}  // namespace palimpsest
