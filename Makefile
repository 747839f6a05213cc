# make run       builds and starts `pal serve` on 127.0.0.1:7420 (SQLite, offline echo model)
# make test      builds and runs every test
# make build     leaves the program at build/release/pal
# make bench     measures, ratios in one run          make eval      holds us against PAL_DATA
# make sanitize  every test under ASan+UBSan and TSan make coverage  lines and branches
# make soak      kills, power cuts, full disks        make fuzz      parsers against anything
# make embedder  fetches the weights of the local embedder (make build does where mvn is there)
# make install   puts it, its service and its completion under PREFIX (/usr/local), below DESTDIR
# make test-live runs the examples against OpenAI or Anthropic, with a key in the environment
.DEFAULT_GOAL := build
.PHONY: packages install embedder build run test bench eval format coverage sanitize soak fuzz test-live

JOBS ?= $(shell nproc)
# configure PRESET: quiet unless it fails.
configure = mkdir -p build && cmake --preset $(1) > build/configure-$(1).log 2>&1 || { cat build/configure-$(1).log; exit 1; }

packages:
	@packaging/install

build: packages
	@$(call configure,release)
	@cmake --build build/release -j $(JOBS) --target pal
	@cmake -DCACHE=$(CURDIR)/build/cache -P cmake/fetch_embedder.cmake

embedder:
	@packaging/install maven
	@cmake -DCACHE=$(CURDIR)/build/cache -P cmake/fetch_embedder.cmake

WEIGHTS = build/cache/local-embedder/bge-small-en-v1.5
PREFIX ?= /usr/local
install: build
	@install -D -m 755 build/release/pal $(DESTDIR)$(PREFIX)/bin/pal
	@mkdir -p $(DESTDIR)$(PREFIX)/lib/systemd/system
	@sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/palimpsest.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/palimpsest.service
	@chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/palimpsest.service
	@mkdir -p $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	@if [ -f $(WEIGHTS).onnx ]; then install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/palimpsest $(WEIGHTS).onnx $(WEIGHTS)-tokenizer.json; fi
	@build/release/pal completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pal

run: build
	@exec build/release/pal serve

test: packages
	@$(call configure,dev)
	@cmake --build build/dev -j $(JOBS)
	@ctest --test-dir build/dev --output-on-failure -j $(JOBS)

bench: packages
	@$(call configure,release)
	@cmake --build build/release -j $(JOBS) --target benches pal
	@missed=""; for program in build/release/bench_*; do [ -x "$$program" ] && [ -f "$$program" ] || continue; name=$$(basename $$program); echo "== $$name"; \
	    if [ -f bench/*/$$name.py ]; then python3 bench/*/$$name.py "$$program"; else "$$program"; fi || missed="$$missed $$name"; done; \
	[ -z "$$missed" ] || { echo "goals missed by:$$missed"; exit 1; }

eval: packages
	@[ -n "$(PAL_DATA)" ] || { echo "make eval needs data: PAL_DATA=FOLDER make eval"; exit 2; }
	@$(call configure,release)
	@cmake --build build/release -j $(JOBS) --target evals diff_tokens pal
	@for program in build/release/eval_*; do [ -x "$$program" ] || continue; echo "== $$(basename $$program)"; "$$program" || exit 1; done
	@for script in bench/*/eval_*.py; do echo "== $$(basename $$script)"; python3 $$script build/release || exit 1; done

sanitize: packages
	@for preset in asan tsan; do echo "== $$preset"; cmake --preset $$preset > /dev/null && cmake --build build/$$preset -j $(JOBS) && \
	    ASAN_OPTIONS=quarantine_size_mb=32 ctest --test-dir build/$$preset --output-on-failure -j $(JOBS) -E 'scripts\.(guards|coroutine_lint)' || exit 1; done

# Without the test of memory: a program that counts its own lines takes more.
coverage: packages
	@$(call configure,coverage)
	@cmake --build build/coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@ctest --test-dir build/coverage --output-on-failure -j $(JOBS) -E 'scripts\.gateway_streams' > build/coverage.log || { tail -40 build/coverage.log; exit 1; }
	@gcovr -j $(JOBS) --root . --filter src/ --exclude src/store/conformance/ --exclude-throw-branches --exclude-unreachable-branches --gcov-ignore-parse-errors \
	    --json-summary build/coverage.json build/coverage/CMakeFiles/pal_*.dir > /dev/null
	@python3 cmake/coverage.py build/coverage.json

# Thousands of kills, a fault at every call of the disk, damage, power cuts; each on sqlite and files.
# An hour and more.
soak: packages
	@$(call configure,dev)
	@cmake --build build/dev -j $(JOBS) --target store_faults faults_test engine_test
	@build/dev/engine_test --gtest_brief=1 --gtest_filter='chat_crash.*'
	@PAL_KILL_CYCLES=10000 python3 tests/scripts/store_kill_test.py build/dev .
	@PAL_FAULT_STRIDE=1 PAL_GROUP_FAULTS=300 python3 tests/scripts/store_io_faults_test.py build/dev .
	@PAL_HISTORY_OPERATIONS=1000000 python3 tests/scripts/store_history_test.py build/dev .
	@PAL_DAMAGE_FLIPS=20000 build/dev/faults_test --gtest_brief=1
	@python3 tests/scripts/store_power_cut.py build/dev . 1000
	@cmake --build build/dev -j $(JOBS) --target live_test
	@for kind in postgres redis cluster; do PAL_SEEDS=100 PAL_LIST_APPEND_OPS=1000000 PAL_PAUSE_OPS=100000 PAL_SERVER_KILLS=200 \
	    PAL_NODE_KILLS=20 PAL_CANCELS=2500 build/dev/live_test $$kind || exit 1; done

# Each parser FUZZ_SECONDS long with libFuzzer and sanitizers; what it finds stays in build/fuzz.
FUZZ_SECONDS ?= 60
fuzz:
	@packaging/install clang-19 libclang-rt-19-dev
	@$(call configure,fuzz)
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@cd build/fuzz && for program in fuzz_*; do [ -x "$$program" ] && [ -f "$$program" ] || continue; echo "== $$program"; \
	    mkdir -p corpus_$$program && ./$$program -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -print_final_stats=1 -verbosity=0 corpus_$$program || exit 1; done

format: packages
	@git ls-files '*.cpp' '*.h' | xargs clang-format-19 -i

# The examples against the real services, with the keys in the environment. Nothing is installed or
# built before there is one.
test-live:
	@if [ -z "$$OPENAI_API_KEY$$ANTHROPIC_API_KEY" ]; then \
	    echo "skipped: set OPENAI_API_KEY or ANTHROPIC_API_KEY"; exit 0; fi; \
	packaging/install && { $(call configure,release); } && \
	cmake --build build/release -j $(JOBS) --target examples && \
	for program in build/release/example_*; do echo "== $$(basename $$program)"; "$$program" || exit 1; done
