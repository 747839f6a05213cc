// A memory store behind the bytes of the port: what a command sees that works through the server
// which holds the store, without the network between.
#pragma once
#include <memory>

#include "palimpsest/store.h"

namespace palimpsest {

std::unique_ptr<Store> through_the_wire(std::unique_ptr<Store> store);

}  // namespace palimpsest
