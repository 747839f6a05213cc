# tests/live: the suites of tests/store and tests/engine that run over any store, and tests of their
# own, over real servers that the program starts. One run of the program for each kind of server.
file(GLOB live_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/live/*.cpp)
set(suites conformance_test differential_test model_store stores_under_test wire_store)
list(TRANSFORM suites PREPEND ${PROJECT_SOURCE_DIR}/tests/store/)
list(TRANSFORM suites APPEND .cpp)
add_executable(live_test ${live_files} ${suites} ${PROJECT_SOURCE_DIR}/tests/engine/properties_test.cpp
               ${PROJECT_SOURCE_DIR}/tests/engine/compaction_properties_test.cpp
               ${PROJECT_SOURCE_DIR}/tests/support/servers.cpp ${PROJECT_SOURCE_DIR}/tests/support/fault_proxy.cpp)
target_include_directories(live_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(live_test PRIVATE GTest::gtest pal_conformance pal_server)
add_dependencies(live_test pal)
foreach(kind postgres redis cluster)
  add_test(NAME live.${kind} COMMAND live_test ${kind})
  set_tests_properties(live.${kind} PROPERTIES TIMEOUT 300)
endforeach()
