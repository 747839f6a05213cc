// served: whether a model has a server behind it.
#pragma once
#include "palimpsest/model.h"

namespace palimpsest {

// False: it answers by itself, one answer at a time, whatever the request asks for.
bool has_server(const Model& model);

}  // namespace palimpsest
