# The vocabularies: rank files are fetched once into PAL_CACHE_DIR, compiled by make_tables and
# embedded by src/token/tables.cpp.
set(PAL_CACHE_DIR "${CMAKE_BINARY_DIR}/../cache" CACHE PATH "downloads, kept between builds")
set(PAL_TABLE_DIR ${CMAKE_BINARY_DIR}/token)
file(MAKE_DIRECTORY ${PAL_TABLE_DIR})

add_executable(make_tables packaging/token/make_tables.cpp)
target_include_directories(make_tables PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(make_tables PRIVATE -O2)

set(ranks_stamp ${PAL_TABLE_DIR}/ranks.stamp)
add_custom_command(
  OUTPUT ${ranks_stamp}
  COMMAND ${CMAKE_COMMAND} -DCACHE=${PAL_CACHE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/fetch_ranks.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${ranks_stamp}
  DEPENDS cmake/fetch_ranks.cmake COMMENT "Rank files" VERBATIM)
set(tables ${PAL_TABLE_DIR}/classes.tbl)
add_custom_command(OUTPUT ${PAL_TABLE_DIR}/classes.tbl
                   COMMAND make_tables classes ${PAL_TABLE_DIR}/classes.tbl DEPENDS make_tables VERBATIM)
foreach(name o200k_base cl100k_base p50k_base r50k_base)
  add_custom_command(
    OUTPUT ${PAL_TABLE_DIR}/${name}.tbl
    COMMAND make_tables vocabulary ${PAL_CACHE_DIR}/gpt-tokenizer-4.0.0/${name}.tiktoken
            ${PAL_TABLE_DIR}/${name}.tbl
    DEPENDS make_tables ${ranks_stamp} COMMENT "Vocabulary ${name}" VERBATIM)
  list(APPEND tables ${PAL_TABLE_DIR}/${name}.tbl)
endforeach()
set_source_files_properties(src/token/tables.cpp PROPERTIES OBJECT_DEPENDS "${tables}"
                            COMPILE_DEFINITIONS PAL_TABLE_DIR="${PAL_TABLE_DIR}")
# Counting is what the others wait for: it is optimised in every build.
target_compile_options(pal_token PRIVATE $<IF:$<CONFIG:Debug>,-O2,-O3>)

# Programs of bench/token/, built by name only.
foreach(name diff_tokens bench_tokens bench_token_limits eval_tokens eval_requests)
  add_executable(${name} EXCLUDE_FROM_ALL bench/token/${name}.cpp)
  target_link_libraries(${name} PRIVATE pal_token)
endforeach()
target_link_libraries(eval_tokens PRIVATE OpenSSL::Crypto)
