// openapi: the description of every route, made from the tables of routes and schemas.
#pragma once
#include <span>
#include <string>

#include "server/route.h"
#include "server/schema.h"

namespace palimpsest {

// An OpenAPI 3.1 document. The same tables give the same bytes.
std::string write_openapi(std::span<const Route> routes, std::span<const Schema> schemas);

}  // namespace palimpsest
