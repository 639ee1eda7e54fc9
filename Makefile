# bpfflame: `make` builds build/bpfflame; V=1 shows commands, SAN=1 builds with ASan and UBSan.
#
#	make check        tests that need no rights
#	make check-root   tests that record: root, BPF
#	make oracle       the unwinder against elfutils', on many stacks of many programs
#	make fuzz         what reads other people's files, on files made to do harm; FUZZ_SECONDS=60
#	make check-runtimes  stacks of other languages, at length: root
#	make check-vm     tests on other kernels, in virtual machines: root, network
#	tools/check-bare SUITE   all tests, in a fresh Debian: root, network
#	make bench        figures, against peers where they are installed
#	make install PREFIX=/usr/local DESTDIR=

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

VERSION := 0.1.0
PREFIX  ?= /usr/local
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
BPFTOOL ?= bpftool
STRIP   ?= strip
OBJCOPY ?= objcopy
PYTHON  ?= /usr/bin/python3

# The target decides: cross-compiling needs only CC.
ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))))

BUILD := build
ifdef SAN
BUILD := build/san
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
endif
ifndef V
Q := @
say = @printf '  %-8s%s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$(2))'
endif

CFLAGS  ?= -O2 -g
# What makes a bug hard to exploit, where CC has it: random addresses, checked buffers and jumps, no
# memory that can be both written and executed. Not with sanitizers, which have checks of their own.
ifndef SAN
has    = $(shell $(CC) $(CFLAGS) -Werror $(1) -include stdio.h -xc /dev/null -S -o /dev/null 2>/dev/null && echo '$(1)')
HARDEN := -fPIE -fstack-protector-strong $(call has,$(if $(filter arm64,$(ARCH)),-mbranch-protection=standard,-fcf-protection=full)) \
	$(or $(call has,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),$(call has,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
LINK   := -static-pie -Wl,-z,relro,-z,now,-z,noexecstack
# Its relocations as a bitmap, 3 % of the file less: where the linker and glibc (2.36) can.
GLIBC_MINOR := $(shell $(CC) -include features.h -dM -E -xc /dev/null 2>/dev/null | sed -n 's/^.define __GLIBC_MINOR__ //p')
ifneq ($(shell test 0$(GLIBC_MINOR) -ge 36 && $(CC) -Wl,--help 2>/dev/null | grep pack-relative-relocs),)
LINK   += -Wl,-z,pack-relative-relocs
endif
endif
WARN    := -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wmissing-prototypes
CPPFLAGS_ALL := -D_GNU_SOURCE -DBPFFLAME_VERSION='"$(VERSION)"' -I. -Iuser -I$(BUILD)/gen $(CPPFLAGS)
CFLAGS_ALL   := -std=gnu11 $(WARN) $(CFLAGS) $(HARDEN) $(SANITIZE)
LDLIBS  := -lhttp_parser -lmbedtls -lmbedx509 -lmbedcrypto -lbpf -lelf -lz -lzstd -llzma -liberty -lm

# What a static libelf wants besides, which depends on its version.
LIBELF_WANTS := $(shell nm "$$($(CC) -print-file-name=libelf.a)" 2>/dev/null | \
	sed -n 's/.* \([TU] eu_search_tree_init\)$$/\1/p' | sort -u)
ifneq ($(filter eu_search_tree_init,$(LIBELF_WANTS)),)
ifeq ($(filter T,$(LIBELF_WANTS)),)
CPPFLAGS_ALL += -DLIBELF_LACKS_SEARCH
endif
endif

SOURCES := $(sort $(wildcard user/*.c user/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
# Everything but main(): what the unit tests link.
LIBRARY := $(filter-out $(BUILD)/user/main.o,$(OBJECTS))
SCRIPTS := $(sort $(wildcard user/render/*.js user/render/*.html user/render/*.css))
PAGE    := page.js page.css page.html frame.html
GENERATED := $(BUILD)/gen/profiler.skel.h $(BUILD)/gen/names.skel.h $(SCRIPTS:user/%=$(BUILD)/gen/%.h) \
	$(PAGE:%=$(BUILD)/gen/serve/%.inc)

.PHONY: all check check-root check-runtimes check-vm oracle fuzz bench install clean format
all: $(BUILD)/bpfflame

$(BUILD)/bpfflame: $(OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(LINK) -o $@.debug $^ $(LDLIBS)
	$(Q)$(STRIP) -o $@ $@.debug
	$(Q)$(NAME_FUNCTIONS)

# Its own functions have names in its pictures: a MiniDebugInfo, 2 % of the file, where there is xz.
# https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
NAME_FUNCTIONS = if command -v xz >/dev/null; then \
	$(OBJCOPY) --only-keep-debug $@.debug $@.mini && $(STRIP) --strip-debug $@.mini && xz -9ef $@.mini && \
	$(OBJCOPY) --add-section .gnu_debugdata=$@.mini.xz $@; fi; rm -f $@.mini $@.mini.xz

$(BUILD)/user/%.o: user/%.c Makefile | $(GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The BPF objects, embedded as skeletons.
$(BUILD)/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter \
		-I. -Ivmlinux -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

# zstd leaves half of what gzip does.
PACK := $(if $(shell command -v zstd),zstd -q --ultra -22 -c,gzip -9nc)

# Linked anew, they lose their DWARF, which is half of them and which nothing reads. What is left is packed: the
# function that bpftool writes it into unpacks it instead (user/base/unpack_object.h); libbpf refuses one without
# bytes, but would read from NULL.
$(BUILD)/gen/%.skel.h: $(BUILD)/%.bpf.o Makefile
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $(@D)/$(<F) $<
	$(Q)$(PACK) $(@D)/$(<F) | od -An -v -tu1 | sed 's/  */,/g; s/^,//; s/$$/,/' >$(@D)/$(<F).inc
	$(Q)$(BPFTOOL) gen skeleton $(@D)/$(<F) name $* >$@.all
	$(Q)awk -v name=$* '$$0 == "static inline const void *" name "__elf_bytes(size_t *sz)" { \
		print "#include \"base/unpack_object.h\""; \
		print "static const unsigned char " name "__packed[] = {\n#include \"" name ".bpf.o.inc\"\n};"; \
		print; print "{\n\tconst void *object = unpack_object(" name "__packed, sizeof " name "__packed, sz);\n"; \
		print "\tif (object)\n\t\treturn object;\n\t*sz = 0;\n\treturn \"\";\n}"; \
		skips = 1 } !skips { print } skips && /^}/ { skips = 0 }' $@.all >$@; rm $@.all; grep -q __packed $@

# A script, a page or a style sheet as lines of a C string.
define EMBED
$(call say,EMBED,$@)
@mkdir -p $(@D)
$(Q)sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $< >$@
endef
$(BUILD)/gen/%.js.h: user/%.js
	$(EMBED)
$(BUILD)/gen/%.html.h: user/%.html
	$(EMBED)
$(BUILD)/gen/%.css.h: user/%.css
	$(EMBED)

# What the daemon serves: packed, without indentation and lines of comment. Its scripts are one; those that others
# need while they begin come first.
PAGE_FIRST := user/serve/page_text.js user/serve/page_scale.js
$(BUILD)/gen/serve/page.js.inc: $(PAGE_FIRST) $(filter-out $(PAGE_FIRST),$(sort $(wildcard user/serve/*.js)))
$(BUILD)/gen/serve/page.css.inc: user/serve/page.css
$(BUILD)/gen/serve/page.html.inc: user/serve/page.html
$(BUILD)/gen/serve/frame.html.inc: user/serve/frame.html
$(PAGE:%=$(BUILD)/gen/serve/%.inc):
	$(call say,PACK,$@)
	@mkdir -p $(@D)
	$(Q)cat $^ | sed -e 's/^[[:space:]]*//' -e '/^\/\//d' -e '/^$$/d' | gzip -9nc | od -An -v -tu1 | \
		sed 's/  */,/g; s/^,//; s/$$/,/' >$@

# Unit tests: tests/unit/test_X.c, one program each, with sanitizers.
UNIT_BUILD := build/unit
UNIT_TESTS := $(patsubst tests/unit/%.c,$(UNIT_BUILD)/%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_SAN   := -fsanitize=address,undefined -fno-sanitize-recover=all
UNIT_LIB   := $(patsubst %.c,$(UNIT_BUILD)/%.o,$(filter-out user/main.c,$(SOURCES)))

$(UNIT_BUILD)/user/%.o: user/%.c | $(GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -std=gnu11 $(WARN) -O1 -g $(UNIT_SAN) -MMD -MP -c -o $@ $<

$(UNIT_BUILD)/unit.a: $(UNIT_LIB)
	$(Q)rm -f $@; ar rcs $@ $^

$(UNIT_BUILD)/test_%: tests/unit/test_%.c $(UNIT_BUILD)/unit.a
	$(call say,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests -I$(UNIT_BUILD) -std=gnu11 $(WARN) -O1 -g $(UNIT_SAN) -MMD -MP -o $@ $< $(filter %.o %.a,$^) -lcmocka $(LDLIBS)

# elfutils says what the tables of real programs must hold.
$(UNIT_BUILD)/test_unwind_oracle: LDLIBS += -ldw

# protobuf-c says what pprof files hold, by the format as published.
# Debian: golang-github-google-pprof-dev
PPROF_PROTO ?= /usr/share/gocode/src/github.com/google/pprof/proto/profile.proto
PPROF_TESTS := $(patsubst tests/unit/%.c,$(UNIT_BUILD)/%,$(shell grep -l made_pprof tests/unit/*.c))
$(PPROF_TESTS): LDLIBS += -lprotobuf-c
$(PPROF_TESTS): $(UNIT_BUILD)/profile.pb-c.o
$(UNIT_BUILD)/profile.pb-c.o: $(PPROF_PROTO)
	$(call say,PROTOC,$@)
	@mkdir -p $(@D)
	$(Q)protoc --proto_path=$(<D) --c_out=$(@D) $(<F)
	$(Q)$(CC) -std=gnu11 -w -I$(@D) -O1 -g $(UNIT_SAN) -c -o $@ $(@:.o=.c)

# Workloads: programs whose truth is known; with frame pointers, for the sake of the tools that
# tests/bench compares with.
WORKLOADS := $(patsubst tests/workload/%.c,build/workload/%,$(filter-out tests/workload/nofp%, \
	$(sort $(wildcard tests/workload/*.c))))
build/workload/%: tests/workload/%.c
	$(call say,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer -pthread -MMD -MP -o $@ $< $(WORKLOAD_PARTS) -lm

SANDBOX_PARTS := user/base/sandbox.c user/base/system.c
build/workload/sandbox: WORKLOAD_PARTS := -Iuser $(SANDBOX_PARTS)
build/workload/sandbox: $(SANDBOX_PARTS) user/base/sandbox.h

# As distributions build: no frame pointers; with symbols, without, and a library to load.
NOFP := build/workload/nofp build/workload/nofp.stripped build/workload/nofp_plugin.so
NOFP_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -O2 -g -fomit-frame-pointer -pthread
build/workload/nofp: tests/workload/nofp.c tests/workload/workload.h
	$(call say,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(NOFP_CFLAGS) -o $@ $< -ldl
build/workload/nofp_plugin.so: tests/workload/nofp_plugin.c tests/workload/workload.h
	$(call say,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(NOFP_CFLAGS) -shared -fPIC -Wl,-z,noseparate-code -o $@ $<
build/workload/nofp.stripped: build/workload/nofp
	$(Q)$(STRIP) -o $@ $<

# With another C library. Debian: musl-tools; without it their tests are skipped.
ifneq ($(shell command -v musl-gcc),)
MUSL := $(patsubst %,build/workload/nofp_musl.%,static stripped dynamic)
endif
build/workload/nofp_musl.static: LINK_MUSL := -static
build/workload/nofp_musl.stripped: LINK_MUSL := -static -s
$(MUSL): tests/workload/nofp_musl.c
	$(call say,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)musl-gcc $(NOFP_CFLAGS) $(LINK_MUSL) -o $@ $<

# The unwinder against elfutils', on stacks of programs that run.
build/unwind/oracle: $(sort $(wildcard tests/unwind/*.[ch])) \
		$(filter $(BUILD)/user/base/% $(BUILD)/user/unwind/%,$(OBJECTS))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests $(CFLAGS_ALL) -o $@ $(filter %.c %.o,$^) -ldw $(LDLIBS)

# Writes the pictures that tests/browser opens.
build/sample_svg: tests/browser/sample_svg.c \
		$(filter $(BUILD)/user/base/% $(BUILD)/user/core/% $(BUILD)/user/compare/% $(BUILD)/user/render/%,$(OBJECTS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests $(CFLAGS_ALL) -MMD -MP -o $@ $^ $(LDLIBS)
build/sample_html: build/sample_svg
	$(Q)ln -f $< $@

# The page of a list of sets.
build/sample_sets: tests/browser/sample_sets.c \
		$(filter $(BUILD)/user/base/% $(BUILD)/user/core/% $(BUILD)/user/render/sets_page.o $(BUILD)/user/store/%,$(OBJECTS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -o $@ $^ $(LDLIBS)

# A store, through the writer, without a recording.
build/sample_store: tests/e2e/sample_store.c \
		$(filter $(BUILD)/user/base/% $(BUILD)/user/core/% $(BUILD)/user/store/%,$(OBJECTS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -o $@ $^ $(LDLIBS)

# BPF programs of tests.
build/e2e/%.bpf.o: tests/e2e/%.bpf.c $(wildcard bpf/*.[ch])
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter \
		-I. -Ivmlinux -c -o $@ $<
	$(Q)$(BPFTOOL) gen skeleton $@ name $* >$(@D)/$*.skel.h
# The machine in BPF beside that on the host.
build/same_machine: tests/e2e/same_machine.c build/e2e/machine.bpf.o \
		$(filter $(BUILD)/user/base/% $(BUILD)/user/runtimes/%,$(OBJECTS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Ibuild/e2e $(CFLAGS_ALL) -MMD -MP -o $@ $< $(filter $(BUILD)/%.o,$(filter-out build/e2e/%,$^)) $(LDLIBS)
build/full_rings: tests/e2e/full_rings.c build/e2e/full_rings.bpf.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Ibuild/e2e $(CFLAGS_ALL) -MMD -MP -o $@ $< $(LDLIBS)

# Fuzzers: tests/fuzz/fuzz_X.c, one program each, with libFuzzer and sanitizers.
FUZZ_SECONDS ?= 60
FUZZERS    := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_LIB   := $(patsubst %.c,build/fuzz/%.o,$(filter-out user/main.c,$(SOURCES)))
FUZZ_FLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all

build/fuzz/user/%.o: user/%.c | $(GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

build/fuzz/fuzz.a: $(FUZZ_LIB)
	$(Q)rm -f $@; ar rcs $@ $^

$(FUZZERS:=.o): build/fuzz/%.o: tests/fuzz/%.c | $(GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) $(WARN) -Werror -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(FUZZERS): %: %.o build/fuzz/fuzz.a
	$(call say,FUZZER,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $< build/fuzz/fuzz.a $(LDLIBS)

fuzz: all $(FUZZERS) build/sample_store
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(FUZZERS)

# Fuzzers are compiled here, not run: so each can still be built when what it calls changes.
check: all $(UNIT_TESTS) $(FUZZERS:=.o)
	$(Q)tests/tools/tree; rules=$$?; tests/tools/lint || rules=1; tests/run unit $(UNIT_TESTS) && exit $$rules

# The same, static: what runs in a virtual machine that has no library.
VM_WORKLOADS := $(patsubst %,build/vm/workload/%,burn probes wait wakers)
build/vm/workload/%: tests/workload/%.c
	$(call say,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fomit-frame-pointer -pthread -static -MMD -MP -o $@ $< -lm

check-root: all $(WORKLOADS) $(NOFP) $(MUSL) build/unwind/oracle build/sample_svg build/sample_html build/sample_sets \
		build/sample_store build/same_machine build/full_rings
	$(Q)tests/run root

# Stacks of languages at length, also of interpreters of Debian's other suites and npm's, which are fetched into SUITES;
# PYTHONS, RUBIES, PHPS, PERLS, LUAJITS, ERLANGS, JAVAS and NODES name others, PATH:PATH….
SUITES ?= $(CURDIR)/build/suites
LANGUAGES := machine python ruby php perl beam luajit dotnet java node
# Those that are there: what sid no longer has is left out.
suites = $$(ls -d $(addprefix $(SUITES)/bin/,$(1)) 2>/dev/null | tr '\n' :)
check-runtimes: all $(WORKLOADS) build/same_machine
	$(Q)tests/tools/suites $(SUITES)
	$(Q)PYTHONS="$(call suites,python3.9 python3.13 python3.14 python3.15)$$PYTHONS" PHPS="$(call suites,php7.4 php8.4)$$PHPS" \
		PERLS="$(call suites,perl5.32 perl5.40 perl5.42)$$PERLS" RUBIES="$(call suites,ruby2.7 ruby3.3)$$RUBIES" \
		LUAJITS="$(call suites,luajit25)$$LUAJITS" \
		ERLANGS="$(call suites,erl27 erl29)$$ERLANGS" JAVAS="$(call suites,java21 java25 java26 java27)$$JAVAS" \
		NODES="$(call suites,node18 node20 node22 node24 node25 node26)$$NODES" TEXTS=100000 \
		$(PYTHON) -m pytest -q --rootdir=tests $(LANGUAGES:%=tests/e2e/test_%.py)

# At length: 19 programs, 1 000 stacks each. ORACLE: arguments to tests/unwind/oracle.py.
oracle: build/unwind/oracle $(NOFP)
	$(Q)$(PYTHON) tests/unwind/oracle.py $(ORACLE)

check-vm: all $(VM_WORKLOADS)
	$(Q)tests/run vm

bench: all $(WORKLOADS)
	$(Q)$(PYTHON) tests/bench/bench.py

install: all
	install -D -m 755 $(BUILD)/bpfflame $(DESTDIR)$(PREFIX)/bin/bpfflame
	install -m 755 tools/cargo-bpfflame $(DESTDIR)$(PREFIX)/bin/cargo-bpfflame
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(wildcard docs/*.1) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 tools/packaging/completions/bpfflame.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpfflame
	install -D -m 644 tools/packaging/completions/_bpfflame \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_bpfflame
	install -D -m 644 tools/packaging/completions/bpfflame.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/bpfflame.fish

format:
	clang-format -i $(SOURCES) $(wildcard user/*/*.h bpf/*.[ch] tests/*/*.[ch])

clean:
	rm -rf build

-include $(OBJECTS:.o=.d) $(UNIT_LIB:.o=.d) $(UNIT_TESTS:=.d) $(WORKLOADS:=.d) $(FUZZ_LIB:.o=.d) $(FUZZERS:=.d) $(VM_WORKLOADS:=.d) $(BUILD)/profiler.bpf.d $(BUILD)/names.bpf.d
