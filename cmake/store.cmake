# Programs of bench/store/, built by name only.
add_executable(bench_store EXCLUDE_FROM_ALL bench/store/bench_store.cpp)
target_link_libraries(bench_store PRIVATE pal_store)
add_executable(bench_files EXCLUDE_FROM_ALL bench/store/bench_files.cpp)
target_link_libraries(bench_files PRIVATE pal_store)
add_executable(bench_servers EXCLUDE_FROM_ALL bench/store/bench_servers.cpp tests/support/servers.cpp)
target_link_libraries(bench_servers PRIVATE pal_store)
target_include_directories(bench_servers PRIVATE ${PROJECT_SOURCE_DIR}/tests)
