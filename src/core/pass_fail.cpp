// fail: compacts nothing; the compaction ends as unreachable, with the numbers.
#include "core/pass_parameters.h"

namespace palimpsest {

Result<PassFunction> make_fail(const JsonValue& parameters);

Result<PassFunction> make_fail(const JsonValue& parameters) {
    PAL_CHECK(only_pass_fields(parameters, {}));
    return PassFunction([](const PassInput&) {
        PassResult result;
        result.refusal = "the policy says to fail rather than to leave anything out";
        return result;
    });
}

}  // namespace palimpsest
