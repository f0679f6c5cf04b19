# The tests of SPMD_TSAN_TESTS and SPMD_ASAN_TESTS once more, as NAME_tsan and NAME_asan.

spmd_test_flavour(tsan -O0)
spmd_sanitize(spmd_test_tsan thread)
set(SPMD_LAUNCHER ${SPMD_TSAN_LAUNCHER})
foreach(name IN LISTS SPMD_TSAN_TESTS)
  spmd_add_test(${name}_tsan ${name}.cpp tsan)
endforeach()

spmd_test_flavour(asan -O0)
spmd_sanitize(spmd_test_asan address,undefined)
set(SPMD_LAUNCHER ${SPMD_ASAN_LAUNCHER})
foreach(name IN LISTS SPMD_ASAN_TESTS)
  spmd_add_test(${name}_asan ${name}.cpp asan)
endforeach()

set(SPMD_LAUNCHER "")
