# make run    builds and starts `pal serve` on 127.0.0.1:7420 (SQLite, offline echo model)
# make test   builds and runs every test
.DEFAULT_GOAL := build
.PHONY: install build run test bench eval format coverage sanitize soak fuzz

JOBS ?= $(shell nproc)

install:
	@packaging/install

build: install
	@mkdir -p build && cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build/release -j $(JOBS) --target pal

run: build
	@exec build/release/pal serve

test: install
	@cmake --preset dev
	@cmake --build build/dev -j $(JOBS)
	@ctest --test-dir build/dev --output-on-failure -j $(JOBS)

format: install
	@git ls-files '*.cpp' '*.h' | xargs clang-format-19 -i
