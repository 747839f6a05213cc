# Fuzz targets: fuzz/fuzz_X.cpp with the fixed driver is a test; `-DPAL_LIBFUZZER=ON` with clang makes
# them libFuzzer programs instead.
option(PAL_LIBFUZZER "build fuzz targets with libFuzzer" OFF)
if(PAL_LIBFUZZER)
  # The libraries below count their branches for the fuzzer; g++ is the judge of warnings.
  foreach(library pal_base pal_format pal_core)
    target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -Wno-error -Wno-unknown-warning-option)
  endforeach()
endif()
add_custom_target(fuzzers)
file(GLOB fuzz_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.cpp)
foreach(file ${fuzz_files})
  get_filename_component(name ${file} NAME_WE)
  if(PAL_LIBFUZZER)
    add_executable(${name} EXCLUDE_FROM_ALL ${file})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link,address,undefined -Wno-error -Wno-unknown-warning-option)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  else()
    add_executable(${name} ${file} fuzz/driver.cpp)
    add_test(NAME fuzz.${name} COMMAND ${name} 15000)
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300)
  endif()
  target_link_libraries(${name} PRIVATE pal_format pal_core)
  add_dependencies(fuzzers ${name})
endforeach()

# What the formats are measured against: packages under `# bench` in packaging/packages.txt.
add_executable(bench_formats EXCLUDE_FROM_ALL bench/format/bench_formats.cpp)
target_link_libraries(bench_formats PRIVATE pal_format simdjson)
target_compile_options(bench_formats PRIVATE -w)  # Third-party headers are compiled in here.
add_executable(eval_formats EXCLUDE_FROM_ALL bench/format/eval_formats.cpp)
target_link_libraries(eval_formats PRIVATE pal_format)
